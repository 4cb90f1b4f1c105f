"""Tracing and compiling long programs, each time a new one, so that no cache helps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from benchmarks.cases_training import network, squared_loss, weights
from benchmarks.harness import Call, Side, case


def _new_function(side: Side) -> Callable[[], Callable[[Any], Any]]:
    """Makes functions of 1,500 equations; each has a constant that none before had."""
    jnp, numbers = side.jnp, count()

    def make() -> Callable[[Any], Any]:
        constant = 0.5 + 1e-6 * next(numbers)

        def f(x: Any) -> Any:
            for _ in range(500):
                x = jnp.sin(x) * constant + 1.0
            return x

        return f

    return make


@case(
    "trace_1500",
    "make_jaxpr of 1,500 equations",
    3.0,
    check=lambda jaxpr: [np.asarray(len(jaxpr.jaxpr.eqns))],
)
def _trace(side: Side) -> Call:
    x = side.jnp.asarray(np.ones(8, np.float32))
    make = _new_function(side)
    return lambda: side.jax.make_jaxpr(make())(x)


# The run is part of it, so that compiling cannot be put off; it takes next to no time.
@case("compile_1500", "trace, compile and run 1,500 equations", 2.0)
def _compile(side: Side) -> Call:
    x = side.jnp.asarray(np.ones(8, np.float32))
    make = _new_function(side)
    return lambda: side.jax.jit(make())(x)


# First calls of new functions in a process in which others have been compiled before; how long the very
# first one of a process takes is in the group `first_call`.


@case("new_selu", "trace, compile and run a new SELU, 1e6", 3.0)
def _selu(side: Side) -> Call:
    x, jnp, numbers = (
        side.jnp.asarray(np.linspace(-3, 3, 1_000_000, dtype=np.float32)),
        side.jnp,
        count(),
    )

    def call() -> Any:
        scale = 1.05 + 1e-6 * next(numbers)
        return side.jax.jit(lambda x: scale * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67))(x)

    return call


@case("new_add", "trace, compile and run a new x + c, 10", 3.0)
def _add(side: Side) -> Call:
    x, numbers = side.jnp.asarray(np.arange(10, dtype=np.float32)), count()

    def call() -> Any:
        c = 1.0 + next(numbers)
        return side.jax.jit(lambda x: x + c)(x)

    return call


@case("new_mlp", "trace, compile and run a new MLP, 64-128-128-10", 3.0)
def _mlp(side: Side) -> Call:
    layers, x = weights(side, [64, 128, 128, 10], 32)
    forward, numbers = network(side), count()

    def call() -> Any:
        scale = 1.0 + 1e-3 * next(numbers)
        return side.jax.jit(lambda layers, x: forward(layers, x) * scale)(layers, x)

    return call


def _new_gradient(side: Side, sizes: list[int]) -> Call:
    layers, x = weights(side, sizes, 32)
    y = side.jnp.asarray(np.random.default_rng(1).normal(size=(32, sizes[-1])).astype(np.float32))
    loss, numbers = squared_loss(side), count()

    def call() -> Any:
        scale = 1.0 + 1e-3 * next(numbers)
        f = side.jax.value_and_grad(lambda layers, x, y: loss(layers, x * scale, y))
        return side.jax.jit(f)(layers, x, y)

    return call


@case("new_gradient", "trace, compile and run a new value_and_grad, 4 layers", 3.0)
def _gradient(side: Side) -> Call:
    return _new_gradient(side, [64, 64, 64, 64, 10])


@case("new_gradient_50", "trace, compile and run a new value_and_grad, 50 layers", 2.5, rtol=1e-3)
def _long_gradient(side: Side) -> Call:
    return _new_gradient(side, [64] * 50 + [10])


@case("new_unrolled", "trace, compile and run a new grad of 40 unrolled 4x4 steps")
def _unrolled(side: Side) -> Call:
    x, jnp, numbers = side.jnp.asarray(0.1 * np.eye(4, dtype=np.float32)), side.jnp, count()

    def call() -> Any:
        scale = 0.1 + 1e-6 * next(numbers)

        def f(x: Any) -> Any:
            for _ in range(40):
                x = jnp.tanh(x @ x) + scale * x
            return jnp.sum(x)

        return side.jax.jit(side.jax.grad(f))(x)

    return call


def _new_loop(side: Side, dtype: Any, shape: tuple[int, ...]) -> Call:
    """A batched loop of small arrays, of which an iteration applies some functions to all rows."""
    x = side.jnp.asarray(np.arange(np.prod(shape)).reshape(shape) % 3).astype(dtype)
    lax, numbers = side.jax.lax, count()

    def call() -> Any:
        shift = 1 + next(numbers) % 100

        def body(_: Any, c: Any) -> Any:
            for _ in range(5):
                c = c * c + c[::-1]
            return c + side.jnp.asarray(shift, dtype)

        return side.jax.jit(side.jax.vmap(lambda x: lax.fori_loop(0, 5, body, x)))(x)

    return call


@case("new_bfloat16_loop", "trace, compile and run a new long loop of bfloat16 [3, 2, 5, 8]")
def _bfloat16_loop(side: Side) -> Call:
    return _new_loop(side, side.jnp.bfloat16, (3, 2, 5, 8))


@case("new_int8_loop", "trace, compile and run a new long loop of int8 [8, 2, 8, 4]")
def _int8_loop(side: Side) -> Call:
    return _new_loop(side, side.jnp.int8, (8, 2, 8, 4))
