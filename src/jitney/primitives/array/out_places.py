"""The option `out_sharding` of functions that make arrays: what it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.primitives.array.resharding import as_named

if TYPE_CHECKING:
    from jitney.core.sharding.named import NamedSharding


def out_place(place: object, asked_by: str) -> NamedSharding | None:
    """`place`, the option `out_sharding` of the function `asked_by`; None if it is not given.

    Raises:
      TypeError, ValueError: as `as_named`, unless it lies along Explicit axes of the mesh in force.
    """
    return None if place is None else as_named(place, asked_by)
