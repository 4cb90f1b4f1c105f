"""What one call costs: eager operations, and compiled functions that do next to nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case


@case("eager_selu", "eager SELU, 1e6", 0.9)
def _eager_selu(side: Side) -> Call:
    jnp = side.jnp
    x = jnp.asarray(np.random.default_rng(0).uniform(-3, 3, 1_000_000).astype(np.float32))
    return lambda: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)


@case("eager_add_scalar", "eager add of two scalars", 1.5)
def _eager_add_scalar(side: Side) -> Call:
    x, y = side.jnp.asarray(np.float32(1.5)), side.jnp.asarray(np.float32(2.5))
    return lambda: x + y


@case("eager_add_1000", "eager add of two 1,000-vectors", 10.0, known="NumPy 70")
def _eager_add_1000(side: Side) -> Call:
    x, y = (side.jnp.asarray(np.arange(i, 1000 + i, dtype=np.float32)) for i in range(2))
    return lambda: x + y


@case("eager_index", "x[0], eager, 1,000-vector")
def _eager_index(side: Side) -> Call:
    x = side.jnp.asarray(np.arange(1000, dtype=np.float32))
    return lambda: x[0]


@case("jit_scalar", "call of a compiled scalar x + 1")
def _jit_scalar(side: Side) -> Call:
    x = side.jnp.asarray(np.float32(1.5))
    f = side.jax.jit(lambda x: x + 1)
    return lambda: f(x)


@case("jit_dict_100", "call with a dict of 100 arrays, updated")
def _jit_dict(side: Side) -> Call:
    params = {f"p{i}": side.jnp.asarray(np.full(10, i, np.float32)) for i in range(100)}

    def update(params: Any) -> Any:
        return {name: value * 0.9 for name, value in params.items()}

    f = side.jax.jit(update)
    return lambda: f(params)
