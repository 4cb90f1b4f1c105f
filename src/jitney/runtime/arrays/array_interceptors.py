"""Hooks of features into the creation of arrays, installed at the first use of a feature.

They are the counterparts of interceptors of operations (`core.tracing.trace.intercept_evaluation`) for
functions that make arrays without an operation: `array`, `device_put`, `zeros`. If no hook is
installed, they cost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.util.first_use import Features

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.sharding.sharding import Sharding


class ArrayInterceptor:
    """The base class of the hooks, which does nothing. The order of hooks does not matter."""

    def check_from_host(self, x: object, what: str) -> None:
        """Raises an error if `what` must not make an array of `x`, a scalar or NumPy array."""

    def check_put(self, x: object, where: Sharding | None) -> None:
        """Raises an error if `device_put` must not move `x` to `where`; None leaves it in place."""

    def new_array(self, x: Array) -> Array:
        """Returns the array to use for `x`, a new array or tracer without a requested sharding."""
        return x


features: Features[ArrayInterceptor] = Features()
