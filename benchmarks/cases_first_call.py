"""First calls in a fresh process: trace, compile and run; imports and operands are ready before.

Each stands here twice: no process has compiled the program before; or another process has, and both
sides keep programs on disk, which jax does on request alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.cases_training import network, squared_loss, weights
from benchmarks.harness import Call, Side, case


@case("first_selu", "first call of SELU, 1e6", 3.0, kind="first_call")
@case("again_selu", "first call of a kept SELU, 1e6", kind="again")
def _selu(side: Side) -> Call:
    x = side.jnp.asarray(np.linspace(-3, 3, 1_000_000, dtype=np.float32))
    jnp = side.jnp

    def selu(x: Any) -> Any:
        return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)

    return lambda: side.jax.jit(selu)(x)


@case("first_add", "first call of x + 1, 10", 3.0, kind="first_call")
@case("again_add", "first call of a kept x + 1, 10", kind="again")
def _add(side: Side) -> Call:
    x = side.jnp.asarray(np.arange(10, dtype=np.float32))
    return lambda: side.jax.jit(lambda x: x + 1)(x)


@case("first_mlp", "first call of an MLP forward, 64-128-128-10", 3.0, kind="first_call")
@case("again_mlp", "first call of a kept MLP forward, 64-128-128-10", kind="again")
def _mlp(side: Side) -> Call:
    layers, x = weights(side, [64, 128, 128, 10], 32)
    return lambda: side.jax.jit(network(side))(layers, x)


@case("first_gradient", "first call of value_and_grad, 4 layers", 3.0, kind="first_call")
@case("again_gradient", "first call of a kept value_and_grad, 4 layers", kind="again")
def _gradient(side: Side) -> Call:
    return _value_and_grad(side, [64, 64, 64, 64, 10])


@case(
    "first_gradient_50",
    "first call of value_and_grad, 50 layers",
    2.5,
    kind="first_call",
    rtol=1e-3,
)
@case(
    "again_gradient_50",
    "first call of a kept value_and_grad, 50 layers",
    kind="again",
    rtol=1e-3,
)
def _long_gradient(side: Side) -> Call:
    return _value_and_grad(side, [64] * 50 + [10])


def _value_and_grad(side: Side, sizes: list[int]) -> Call:
    layers, x = weights(side, sizes, 32)
    y = side.jnp.asarray(np.random.default_rng(1).normal(size=(32, 10)).astype(np.float32))
    return lambda: side.jax.jit(side.jax.value_and_grad(squared_loss(side)))(layers, x, y)


@case("first_fft", "first call of a filter by fft, 1,024", kind="first_call")
@case("again_fft", "first call of a kept filter by fft, 1,024", kind="again")
def _fft(side: Side) -> Call:
    jnp = side.jnp
    x = jnp.asarray(np.random.default_rng(0).normal(size=1024).astype(np.complex64))
    return lambda: side.jax.jit(lambda x: jnp.fft.ifft(jnp.fft.fft(x) * 2))(x)
