"""What features do to values that become arrays, and to new arrays, from their first use on.

These are the counterparts of interceptors of operations (`core.trace.intercept_evaluation`) for
functions that make arrays without one: `array`, `device_put`, `zeros`. Without any installed, such a
function costs nothing for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.core.first_use import Features

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.sharding.sharding import Sharding


class ArrayInterceptor:
    """A feature; this one does nothing. Interceptors do not depend on their order."""

    def check_from_host(self, x: object, what: str) -> None:
        """Raises an error if `x`, a scalar or NumPy array, must not become an array by `what`."""

    def check_put(self, x: object, where: Sharding | None) -> None:
        """Raises an error if `device_put` must not put `x` there; None for where it is."""

    def new_array(self, x: Array) -> Array:
        """Returns the new array, or tracer, `x` if the user does not say where it is to lie."""
        return x


features: Features[ArrayInterceptor] = Features()
