"""Compiled kernels on large and middling arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case


def _uniform(side: Side, low: float, high: float, shape: tuple[int, ...], seed: int = 0) -> Any:
    values = np.random.default_rng(seed).uniform(low, high, shape)
    return side.jnp.asarray(values.astype(np.float32))


@case("selu", "SELU, 1e6", 1.5, known="C 2.0")
def _selu(side: Side) -> Call:
    jnp = side.jnp
    x = _uniform(side, -3, 3, (1_000_000,))
    f = side.jax.jit(lambda x: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67))
    return lambda: f(x)


@case("quadratic", "quadratic formula, 1e6", 1.5, known="C 1.8", rtol=1e-3)
def _quadratic(side: Side) -> Call:
    jnp = side.jnp
    a, b, c = (_uniform(side, *r, (1_000_000,)) for r in ((1, 2), (4, 5), (0.5, 1)))
    f = side.jax.jit(lambda a, b, c: (-b + jnp.sqrt(b * b - 4 * a * c)) / (2 * a))
    return lambda: f(a, b, c)


@case("vmap_grad_sin", "vmap(grad(2 + sin)), 1e6", 5.0, known="8.5")
def _vmap_grad_sin(side: Side) -> Call:
    jnp = side.jnp
    x = _uniform(side, -10, 10, (1_000_000,))
    f = side.jax.jit(side.jax.vmap(side.jax.grad(lambda x: 2 + jnp.sin(x))))
    return lambda: f(x)


@case("sum_squared_error", "sum of squared errors, 500x500", 5.0, known="Numba 11")
def _sum_squared_error(side: Side) -> Call:
    jnp = side.jnp
    x, y = (_uniform(side, 0, 1, (500, 500), seed) for seed in (0, 1))
    f = side.jax.jit(lambda x, y: jnp.sum((x - y) ** 2))
    return lambda: f(x, y)


def _centred(n: int) -> Any:
    """Sets up `x.T @ (x - x.mean(0))` for x: f32[n,n]."""

    def setup(side: Side) -> Call:
        x = _uniform(side, 0, 1, (n, n))
        f = side.jax.jit(lambda x: x.T @ (x - x.mean(0)))
        return lambda: f(x)

    setup.__module__ = __name__
    return setup


# Terms that cancel leave the last places of their sums different.
case("centred_10", "x.T @ (x - x.mean(0)), 10x10", 8.0, known="NumPy 10")(_centred(10))
case("centred_100", "x.T @ (x - x.mean(0)), 100x100", 2.5, known="3.0", atol=1e-4)(_centred(100))
case("centred_1000", "x.T @ (x - x.mean(0)), 1000x1000", 1.0, known="1.2", atol=2e-3)(
    _centred(1000)
)


@case("column_sums", "sum over axis 0, 50,000x64", rtol=1e-3, atol=1e-2)
def _column_sums(side: Side) -> Call:
    x = side.jnp.asarray(np.random.default_rng(0).normal(size=(50_000, 64)).astype(np.float32))
    f = side.jax.jit(lambda x: x.sum(0))
    return lambda: f(x)


@case("softmax", "softmax of 10,000 rows of 10")
def _softmax(side: Side) -> Call:
    x = side.jnp.asarray(np.random.default_rng(0).normal(size=(10_000, 10)).astype(np.float32))
    f = side.jax.jit(side.nn.softmax)
    return lambda: f(x)


@case("cumsum", "running sum of 10,000", rtol=1e-3, atol=1e-2)
def _cumsum(side: Side) -> Call:
    x = side.jnp.asarray(np.random.default_rng(0).normal(size=10_000).astype(np.float32))
    f = side.jax.jit(side.jnp.cumsum)
    return lambda: f(x)


@case("argmax", "argmax of 1,000 rows of 100")
def _argmax(side: Side) -> Call:
    x = side.jnp.asarray(np.random.default_rng(0).normal(size=(1000, 100)).astype(np.float32))
    f = side.jax.jit(lambda x: side.jnp.argmax(x, 1))
    return lambda: f(x)


@case("diffusion", "diffusion by roll, 256x256, 200 steps", 3.0)
def _diffusion(side: Side) -> Call:
    jnp, lax = side.jnp, side.lax
    u = _uniform(side, 0, 1, (256, 256))

    def step(_: Any, u: Any) -> Any:
        near = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.1 * (near - 4 * u)

    f = side.jax.jit(lambda u: lax.fori_loop(0, 200, step, u))
    return lambda: f(u)
