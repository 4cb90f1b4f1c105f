"""Validation of the option `out_sharding` of functions that create arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.primitives.array.resharding import as_named

if TYPE_CHECKING:
    from jitney.core.sharding.named import NamedSharding


def out_place(place: object, api_name: str) -> NamedSharding | None:
    """Validates and returns the option `out_sharding` of the function `api_name`; None stays None.

    Raises:
      TypeError, ValueError: if the option is not a sharding along Explicit axes of the context
        mesh; see `as_named`.
    """
    return None if place is None else as_named(place, api_name)
