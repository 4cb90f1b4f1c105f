"""Tracing and compiling long programs, each time a new one, so that no cache helps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

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
