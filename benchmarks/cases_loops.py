"""Loops: many small steps, alone, differentiated, and batched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case


# An addition a step: its latency is the limit, and rounding forbids to sum in closed form.
@case("while_scalar", "scalar while_loop to 1e5", 2.0)
def _while_scalar(side: Side) -> Call:
    f = side.jax.jit(
        lambda n: side.lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + 0.5), (0, 0.0)
        )
    )
    n = side.jnp.asarray(np.int32(100_000))
    return lambda: f(n)


def _rk4(side: Side, field: Callable[[Any], Any], dt: float) -> Callable[[Any], Any]:
    """One step of the classical Runge-Kutta method for y' = field(y)."""

    def step(y: Any) -> Any:
        k1 = field(y)
        k2 = field(y + dt / 2 * k1)
        k3 = field(y + dt / 2 * k2)
        k4 = field(y + dt * k3)
        return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return step


# The orbit is chaotic: differences in the last place grow by e in about 1.1 units of time, so the
# steps are small ones.
@case("lorenz", "Lorenz, RK4 by scan, 1e4 steps", 1.4, rtol=1e-2, atol=1e-2)
def _lorenz(side: Side) -> Call:
    jnp = side.jnp

    def field(y: Any) -> Any:
        a, b, c = y[0], y[1], y[2]
        return jnp.stack([10.0 * (b - a), a * (28.0 - c) - b, a * b - 8.0 / 3.0 * c])

    step = _rk4(side, field, 2e-4)

    def body(y: Any, _: Any) -> Any:
        y = step(y)
        return y, y

    f = side.jax.jit(lambda y: side.lax.scan(body, y, None, length=10_000))
    y = jnp.asarray(np.ones(3, np.float32))
    return lambda: f(y)


# JAX takes some 3,800 ns a step; the goal is 90 ns.
@case(
    "lorenz_grad", "gradient of Lorenz, RK4 by scan, 20,000 steps, float64", 42.0, known="Numba 127"
)
def _lorenz_gradient(side: Side) -> Call:
    jax, jnp = side.jax, side.jnp
    jax.config.update("jax_enable_x64", True)

    def solve(parameters: Any, y: Any) -> Any:
        sigma, rho, beta = parameters

        def field(y: Any) -> Any:
            a, b, c = y
            return jnp.array([sigma * (b - a), a * (rho - c) - b, a * b - beta * c])

        step = _rk4(side, field, 1e-4)
        return side.lax.scan(lambda y, _: (step(y), None), y, None, length=20_000)[0].sum()

    f = jax.jit(jax.grad(solve, argnums=(0, 1)))
    parameters, y = (10.0, 28.0, 8.0 / 3.0), jnp.asarray(np.ones(3))
    return lambda: f(parameters, y)


@case("dict_scan_grad", "gradient of a 614-step scan over a dict of 60 scalars", 15.0)
def _dict_scan_gradient(side: Side) -> Call:
    jax, jnp = side.jax, side.jnp
    names = [f"x{k}" for k in range(60)]
    rng = np.random.default_rng(0)
    rates = {
        name: jnp.asarray(np.float32(r))
        for name, r in zip(names, rng.uniform(0.1, 1, 60), strict=True)
    }

    def run(rates: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            new = {}
            for k, name in enumerate(names):
                near = state[names[k - 1]]
                new[name] = state[name] + 0.01 * (jnp.sin(near) - rates[name] * state[name])
            return new, None

        start = {name: jnp.float32(1.0) for name in names}
        end = side.lax.scan(step, start, None, length=614)[0]
        return sum(end[name] ** 2 for name in names)

    f = jax.jit(jax.grad(run))
    return lambda: f(rates)


@case("hmc", "HMC, logistic regression 100x5, 20 leapfrogs, 200 samples", 3.5, rtol=1e-2, atol=1e-2)
def _hmc(side: Side) -> Call:
    jax, jnp, random = side.jax, side.jnp, side.random
    rng = np.random.default_rng(0)
    design = rng.normal(size=(100, 5)).astype(np.float32)
    labels = (design @ rng.normal(size=5) + rng.logistic(size=100) > 0).astype(np.float32)
    x, y, size = jnp.asarray(design), jnp.asarray(labels), 0.05

    def potential(w: Any) -> Any:
        z = x @ w
        return jnp.sum(jnp.logaddexp(0.0, z) - y * z) + 0.5 * jnp.sum(w**2)

    force = jax.grad(potential)

    def leapfrog(state: Any, _: Any) -> Any:
        w, p = state
        p = p - 0.5 * size * force(w)
        w = w + size * p
        return (w, p - 0.5 * size * force(w)), None

    def sample(w: Any, key: Any) -> Any:
        drawn, tossed = random.split(key)
        p = random.normal(drawn, (5,))
        (new, q), _ = side.lax.scan(leapfrog, (w, p), None, length=20)
        gain = potential(w) - potential(new) + 0.5 * (jnp.sum(p**2) - jnp.sum(q**2))
        w = jnp.where(jnp.log(random.uniform(tossed)) < gain, new, w)
        return w, w

    f = jax.jit(lambda key: side.lax.scan(sample, jnp.zeros(5), random.split(key, 200))[1])
    key = random.PRNGKey(0)
    return lambda: f(key)


@case("matmul_loop", "fori_loop with 4x4 matmul, 1e4 times", 1.2, rtol=1e-3)
def _matmul_loop(side: Side) -> Call:
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0].astype(np.float32)
    a, x = side.jnp.asarray(rotation), side.jnp.asarray(np.eye(4, dtype=np.float32))
    f = side.jax.jit(lambda a, x: side.lax.fori_loop(0, 10_000, lambda _, x: a @ x, x))
    return lambda: f(a, x)


def _lstm(side: Side) -> tuple[Callable[[Any, Any], Any], Any, Any]:
    """The sum of an LSTM's last state, hidden 64, batch 1, over 500 steps; weights, and inputs."""
    jax, jnp, hidden = side.jax, side.jnp, 64
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return jnp.asarray(rng.normal(size=shape, scale=0.1).astype(np.float32))

    weights = (normal(hidden, 4 * hidden), normal(hidden, 4 * hidden), normal(4 * hidden))

    def run(weights: Any, xs: Any) -> Any:
        wx, wh, b = weights

        def cell(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = (jnp.zeros((1, hidden)), jnp.zeros((1, hidden)))
        return jnp.sum(side.lax.scan(cell, start, xs)[1] ** 2)

    return run, weights, normal(500, 1, hidden)


@case("lstm", "LSTM by scan, hidden 64, batch 1, 500 steps", 1.2)
def _lstm_forward(side: Side) -> Call:
    run, weights, xs = _lstm(side)
    f = side.jax.jit(run)
    return lambda: f(weights, xs)


@case("lstm_grad", "gradient of the LSTM", 1.5)
def _lstm_gradient(side: Side) -> Call:
    run, weights, xs = _lstm(side)
    f = side.jax.jit(side.jax.grad(run))
    return lambda: f(weights, xs)


@case("n_body", "N-body leapfrog, 32 bodies, 1000 steps", 10.0, rtol=1e-2, atol=1e-3)
def _n_body(side: Side) -> Call:
    jnp = side.jnp
    rng = np.random.default_rng(0)
    q = jnp.asarray(rng.normal(size=(32, 3)).astype(np.float32))
    v = jnp.asarray(rng.normal(size=(32, 3), scale=0.1).astype(np.float32))

    def acceleration(q: Any) -> Any:
        apart = q[None, :, :] - q[:, None, :]
        squares = jnp.sum(apart**2, axis=-1) + 0.1
        return jnp.sum(apart * (squares**-1.5)[:, :, None], axis=1) / 32

    def step(state: Any, _: Any) -> Any:
        q, v = state
        v = v + 0.0005 * acceleration(q)
        q = q + 0.001 * v
        return (q, v + 0.0005 * acceleration(q)), None

    f = side.jax.jit(lambda q, v: side.lax.scan(step, (q, v), None, length=1000)[0])
    return lambda: f(q, v)


def _euler(side: Side, x: Any, key: Any) -> Any:
    """One step of dX = -X dt + 0.3 dW, dt 1e-3."""
    return x - x * 1e-3 + 0.3 * 1e-3**0.5 * side.random.normal(key)


@case("euler_sde", "Euler SDE, split and normal in scan, 1e4 steps", 20.0, atol=1e-4)
def _euler_sde(side: Side) -> Call:
    def step(state: Any, _: Any) -> Any:
        x, key = state
        key, drawn = side.random.split(key)
        x = _euler(side, x, drawn)
        return (x, key), x

    f = side.jax.jit(lambda x, key: side.lax.scan(step, (x, key), None, length=10_000)[1])
    x, key = side.jnp.asarray(np.float32(1.0)), side.random.PRNGKey(0)
    return lambda: f(x, key)


@case("euler_sde_keys", "Euler SDE, keys split before, 1e4 steps", atol=1e-4)
def _euler_sde_keys(side: Side) -> Call:
    def step(x: Any, key: Any) -> Any:
        x = _euler(side, x, key)
        return x, x

    f = side.jax.jit(lambda x, key: side.lax.scan(step, x, side.random.split(key, 10_000))[1])
    x, key = side.jnp.asarray(np.float32(1.0)), side.random.PRNGKey(0)
    return lambda: f(x, key)


@case("kalman", "Kalman filter, 4 states, 2 measurements, 1,000 steps", rtol=1e-3, atol=1e-4)
def _kalman(side: Side) -> Call:
    jnp = side.jnp
    move, seen = jnp.eye(4) + 0.1 * jnp.eye(4, k=1), jnp.eye(2, 4)

    def step(state: Any, y: Any) -> Any:
        x, p = state
        x, p = move @ x, move @ p @ move.T + 0.1 * jnp.eye(4)
        gain = jnp.linalg.solve(seen @ p @ seen.T + 0.5 * jnp.eye(2), seen @ p).T
        x = x + gain @ (y - seen @ x)
        return (x, p - gain @ seen @ p), x

    f = side.jax.jit(lambda ys: side.lax.scan(step, (jnp.zeros(4), jnp.eye(4)), ys)[1])
    ys = jnp.asarray(np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32))
    return lambda: f(ys)


@case("vmap_rk4", "vmap of an RK4 solve, 1000 pendulums, 200 steps", 12.0)
def _vmap_rk4(side: Side) -> Call:
    jnp = side.jnp
    step = _rk4(side, lambda y: jnp.stack([y[1], -jnp.sin(y[0])]), 0.01)

    def solve(y: Any) -> Any:
        return side.lax.scan(lambda y, _: (step(y), None), y, None, length=200)[0]

    f = side.jax.jit(side.jax.vmap(solve))
    starts = np.random.default_rng(0).uniform(-1, 1, (1000, 2)).astype(np.float32)
    y = jnp.asarray(starts)
    return lambda: f(y)


@case("vmap_bisection", "vmap of a bisection, 1e4 roots, 30 steps", 15.0)
def _vmap_bisection(side: Side) -> Call:
    jnp = side.jnp

    def root(a: Any) -> Any:
        def halve(_: Any, ends: Any) -> Any:
            low, high = ends
            middle = 0.5 * (low + high)
            below = middle + jnp.sin(middle) < a
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        low, high = side.lax.fori_loop(0, 30, halve, (jnp.float32(0.0), jnp.float32(4.0)))
        return 0.5 * (low + high)

    f = side.jax.jit(side.jax.vmap(root))
    a = jnp.asarray(np.random.default_rng(0).uniform(0.1, 3, 10_000).astype(np.float32))
    return lambda: f(a)


@case("vmap_newton", "vmap of Newton by while_loop, 1e4 roots", 3.0)
def _vmap_newton(side: Side) -> Call:
    jnp = side.jnp

    def root(a: Any) -> Any:
        def go_on(state: Any) -> Any:
            x, number = state
            return (jnp.abs(x * x * x - a) > 1e-3) & (number < 50)

        def improve(state: Any) -> Any:
            x, number = state
            return x - (x * x * x - a) / (3 * x * x), number + 1

        return side.lax.while_loop(go_on, improve, (jnp.float32(1.5), 0))[0]

    f = side.jax.jit(side.jax.vmap(root))
    a = jnp.asarray(np.random.default_rng(0).uniform(0.5, 8, 10_000).astype(np.float32))
    return lambda: f(a)


@case("vmap_bfloat16", "vmap of a polynomial step in bfloat16, 1000x10, 20 steps")
def _vmap_bfloat16(side: Side) -> Call:
    x = np.random.default_rng(0).uniform(-1, 1, (1000, 10)).astype(np.float32)
    carry = side.jnp.asarray(x).astype(side.jnp.bfloat16)

    def step(_: Any, c: Any) -> Any:
        for _ in range(4):
            c = (c * c + c[::-1]) / 2
        return c

    f = side.jax.jit(side.jax.vmap(lambda c: side.lax.fori_loop(0, 20, step, c)))
    return lambda: f(carry)


@case("fft_loop", "1,000 steps of fft, product and ifft, 256 points", 10.0, rtol=1e-3, atol=1e-3)
def _fft_loop(side: Side) -> Call:
    decay = side.jnp.exp(-1e-6j * side.jnp.arange(256)).astype("complex64")

    def step(x: Any, _: None) -> tuple[Any, None]:
        return side.jnp.fft.ifft(side.jnp.fft.fft(x) * decay), None

    f = side.jax.jit(lambda x: side.lax.scan(step, x, None, length=1000)[0])
    x = side.jnp.ones(256, "complex64")
    return lambda: f(x)


@case("sieve", "counting divisors by arange(40,000) % i, 100 times", 1.0)
def _sieve(side: Side) -> Call:
    jnp, lax = side.jnp, side.lax

    def count(n: Any) -> Any:
        def step(i: Any, found: Any) -> Any:
            return found + (jnp.arange(40_000) % i == 0)

        return lax.fori_loop(1, n, step, jnp.zeros(40_000, jnp.int32))

    f = side.jax.jit(count)
    return lambda: f(101)
