"""Complex numbers: bulk kernels, loops, small circuits."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case


def _numbers(side: Side, *shape: int) -> Any:
    rng = np.random.default_rng(0)
    values = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return side.jnp.asarray(values.astype(np.complex64))


@case("complex_product", "complex product, 1e6", 1.0)
def _product(side: Side) -> Call:
    x = _numbers(side, 1_000_000)
    f = side.jax.jit(lambda x, y: x * y)
    return lambda: f(x, x)


@case("complex_sqrt_log", "log(sqrt(z)), 250,000", 1.0)
def _sqrt_log(side: Side) -> Call:
    jnp = side.jnp
    x = _numbers(side, 250_000)
    f = side.jax.jit(lambda x: jnp.log(jnp.sqrt(x)))
    return lambda: f(x)


@case("complex_gradient", "gradient of sum(abs(exp(1j x) + x)**2), 250,000", 1.0)
def _gradient(side: Side) -> Call:
    jnp = side.jnp
    x = _numbers(side, 250_000).real
    f = side.jax.jit(side.jax.grad(lambda x: jnp.sum(jnp.abs(jnp.exp(1j * x) + x) ** 2)))
    return lambda: f(x)


@case("mandelbrot", "Mandelbrot set, 500x500, 50 steps", 1.0, rtol=1, atol=50)
def _mandelbrot(side: Side) -> Call:
    jnp, lax = side.jnp, side.jax.lax
    axis = np.linspace(-1.5, 1.5, 500, dtype=np.float32)
    c = jnp.asarray((axis[None] - 0.5 + 1j * axis[:, None]).astype(np.complex64))

    def step(_: Any, state: Any) -> Any:
        z, count = state
        following = z * z + c
        inside = jnp.abs(following) < 2
        return jnp.where(inside, following, z), count + inside

    f = side.jax.jit(lambda: lax.fori_loop(0, 50, step, (c * 0, jnp.zeros(c.shape, jnp.int32)))[1])
    return lambda: f()


@case("quantum_circuit", "value and gradient of a four-qubit circuit", 1.0)
def _circuit(side: Side) -> Call:
    jnp = side.jnp
    hadamard = jnp.asarray(np.array([[1, 1], [1, -1]], np.complex64) / np.sqrt(2, dtype=np.float32))
    swapped = jnp.asarray(np.eye(4, dtype=np.complex64)[[0, 1, 3, 2]].reshape(2, 2, 2, 2))

    def rotation(angle: Any) -> Any:
        cosine, sine = jnp.cos(angle / 2), -1j * jnp.sin(angle / 2)
        return jnp.array([[cosine, sine], [sine, cosine]])

    def apply(state: Any, gate: Any, *qubits: int) -> Any:
        n = len(qubits)
        state = jnp.tensordot(gate, state, (tuple(range(n, 2 * n)), qubits))
        return jnp.moveaxis(state, tuple(range(n)), qubits)

    def energy(angles: Any) -> Any:
        state = jnp.zeros((2,) * 4, jnp.complex64).at[0, 0, 0, 0].set(1)
        for layer in range(3):
            for q in range(4):
                state = apply(apply(state, rotation(angles[layer, q]), q), hadamard, q)
            for q in range(3):
                state = apply(state, swapped, q, q + 1)
        return jnp.sum(jnp.abs(state) ** 2 * jnp.arange(16.0).reshape(2, 2, 2, 2))

    angles = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
    f = side.jax.jit(side.jax.value_and_grad(energy))
    return lambda: f(angles)
