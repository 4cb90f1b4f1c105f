"""`UnreducedKind`: the reduction that the per-device terms of an unreduced array still need."""

from __future__ import annotations

import enum
from collections.abc import Collection


class UnreducedKind(enum.Enum):
    """The kind of reduction of an unreduced array: a sum, maximum or minimum of terms."""

    sum = enum.auto()
    max = enum.auto()
    min = enum.auto()


def check_kind(kind: object, unreduced: Collection[object]) -> None:
    """Checks that `kind` is valid for an array that is unreduced along the axes `unreduced`.

    Raises:
      TypeError: if it is not an UnreducedKind.
      ValueError: if there are no such axes.
    """
    if not isinstance(kind, UnreducedKind):
        raise TypeError(
            f"unreduced_kind must be a jax.sharding.UnreducedKind or None, but is {kind!r} of type "
            f"{type(kind)}"
        )
    if not unreduced:
        raise ValueError(f"unreduced_kind must be None if no axes are unreduced, but is {kind!r}")


def refuse_extremes(kind: UnreducedKind | None, what: object) -> None:
    """Raises NotImplementedError for maxima and minima, which no operation supports."""
    if kind not in (None, UnreducedKind.sum):
        raise NotImplementedError(
            f"{what}: arrays of partial maxima and minima are not supported, only partial sums "
            "(UnreducedKind.sum); within shard_map, use jax.lax.pmax or pmin"
        )
