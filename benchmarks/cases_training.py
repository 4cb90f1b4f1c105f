"""Gradients and training steps of small networks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case


def weights(side: Side, sizes: list[int], batch: int) -> tuple[list[tuple[Any, Any]], Any]:
    """Layers [(matrix, bias), ...] for the widths `sizes`, and a batch of inputs, all float32."""
    rng = np.random.default_rng(0)
    layers = [
        (
            side.jnp.asarray(rng.normal(size=(m, n), scale=m**-0.5).astype(np.float32)),
            side.jnp.asarray(np.zeros(n, np.float32)),
        )
        for m, n in pairwise(sizes)
    ]
    return layers, side.jnp.asarray(rng.normal(size=(batch, sizes[0])).astype(np.float32))


def network(side: Side) -> Callable[..., Any]:
    """The forward pass f(layers, x): tanh between the layers."""
    jnp = side.jnp

    def forward(layers: Any, x: Any) -> Any:
        for w, b in layers[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = layers[-1]
        return x @ w + b

    return forward


def squared_loss(side: Side) -> Callable[..., Any]:
    """The mean squared error f(layers, x, y) of the network."""
    forward = network(side)
    return lambda layers, x, y: side.jnp.mean((forward(layers, x) - y) ** 2)


@case("grad_mlp", "gradient, 64-64-64-64 network, batch 128", 2.0)
def _gradient(side: Side) -> Call:
    layers, x = weights(side, [64, 64, 64, 64], 128)
    y = side.jnp.asarray(np.random.default_rng(1).normal(size=(128, 64)).astype(np.float32))
    gradient = side.jax.jit(side.jax.grad(squared_loss(side)))
    return lambda: gradient(layers, x, y)


@case("sgd_mlp", "SGD step, 784-512-256-10, batch 128", 1.05)
def _sgd(side: Side) -> Call:
    jax, jnp = side.jax, side.jnp
    layers, x = weights(side, [784, 512, 256, 10], 128)
    labels = np.random.default_rng(1).integers(0, 10, 128)
    y = jnp.asarray(np.eye(10, dtype=np.float32)[labels])
    forward = network(side)

    def loss(layers: Any, x: Any, y: Any) -> Any:
        logits = forward(layers, x)
        shifted = logits - jax.lax.stop_gradient(logits.max(axis=1, keepdims=True))
        return jnp.mean(jnp.log(jnp.exp(shifted).sum(1)) - jnp.sum(y * shifted, 1))

    def step(layers: Any, x: Any, y: Any) -> Any:
        gradients = jax.grad(loss)(layers, x, y)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, layers, gradients)

    compiled = jax.jit(step)
    return lambda: compiled(layers, x, y)


@case("grad_wide_mlp", "gradient, 784-1024-1024-10 network, batch 128", 1.0, rtol=1e-3, atol=1e-4)
def _grad_wide_mlp(side: Side) -> Call:
    layers, x = weights(side, [784, 1024, 1024, 10], 128)
    f = side.jax.jit(side.jax.grad(squared_loss(side)))
    y = side.jnp.zeros((128, 10))
    return lambda: f(layers, x, y)


def _gate(jnp: Any, state: Any, matrix: Any, qubit: int) -> Any:
    """`matrix` applied to one axis of a state of many qubits."""
    return jnp.moveaxis(jnp.tensordot(matrix, state, axes=[[1], [qubit]]), 0, qubit)


@case("gate", "a gate on each of 14 qubits", 1.0, rtol=1e-3)
def _gates(side: Side) -> Call:
    jnp = side.jnp
    rng = np.random.default_rng(0)
    state = jnp.asarray((rng.normal(size=(2,) * 14) + 1j).astype(np.complex64))
    matrix = jnp.asarray(np.array([[0.6, 0.8j], [0.8j, 0.6]], np.complex64))

    def gates(state: Any, matrix: Any) -> Any:
        return [_gate(jnp, state, matrix, qubit) for qubit in range(14)]

    f = side.jax.jit(gates)
    return lambda: f(state, matrix)


@case("circuit_gradient", "gradient of a circuit of 12 qubits, 2 layers", 1.0, rtol=1e-3)
def _circuit_gradient(side: Side) -> Call:
    jnp = side.jnp
    n, layers = 12, 2

    def rotation(angle: Any) -> Any:
        c, s = jnp.cos(angle / 2), jnp.sin(angle / 2)
        return jnp.stack([jnp.stack([c, -s]), jnp.stack([s, c])]).astype(jnp.complex64)

    def energy(angles: Any) -> Any:
        state = jnp.zeros((2,) * n, jnp.complex64).at[(0,) * n].set(1)
        for layer in range(layers):
            for qubit in range(n):
                state = _gate(jnp, state, rotation(angles[layer, qubit]), qubit)
            for qubit in range(n - 1):
                phase = jnp.array([[1, 1], [1, -1]], jnp.complex64)
                state = state * phase.reshape((1,) * qubit + (2, 2) + (1,) * (n - qubit - 2))
        chance = state.real**2 + state.imag**2
        return chance[0].sum() - chance[1].sum()

    angles = jnp.asarray(np.random.default_rng(0).uniform(size=(layers, n)).astype(np.float32))
    f = side.jax.jit(side.jax.grad(energy))
    return lambda: f(angles)
