"""How values of devices relate along the manual axes of a mesh: the types of values in `shard_map`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class ManualAxisType:
    """What is known of the values that the devices along manual axes of a mesh have.

    Attributes:
      varying: axes along which they differ.
      unreduced: axes along which they are terms of a sum that is yet to be taken.
      reduced: axes along which they are equal, and cotangents are terms of a sum.

    Raises:
      ValueError: if an axis is in two of these.
    """

    __slots__ = ("reduced", "unreduced", "varying")

    varying: frozenset[Any]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __init__(
        self,
        *,
        varying: Iterable[Any] = (),
        unreduced: Iterable[Any] = (),
        reduced: Iterable[Any] = (),
    ) -> None:
        self.varying = frozenset(varying)
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)
        if sum(map(len, self._key())) != len(self.varying | self.unreduced | self.reduced):
            raise ValueError(
                f"an axis is varying, unreduced or reduced, and only one of them: {self}"
            )

    def _key(self) -> tuple[frozenset[Any], ...]:
        return self.varying, self.unreduced, self.reduced

    def update(self, **changes: Iterable[Any]) -> ManualAxisType:
        """A copy with some attributes replaced."""
        kept = {"varying": self.varying, "unreduced": self.unreduced, "reduced": self.reduced}
        return ManualAxisType(**(kept | changes))

    def to_ct_mat(self) -> ManualAxisType:
        """The type of cotangents: `unreduced` and `reduced` change places."""
        return ManualAxisType(varying=self.varying, unreduced=self.reduced, reduced=self.unreduced)

    def __bool__(self) -> bool:
        return any(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ManualAxisType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"ManualAxisType(varying={self.varying}, unreduced={self.unreduced}, "
            f"reduced={self.reduced})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, self._key()


def _rebuild(
    varying: frozenset[Any], unreduced: frozenset[Any], reduced: frozenset[Any]
) -> ManualAxisType:
    return ManualAxisType(varying=varying, unreduced=unreduced, reduced=reduced)


NOT_MANUAL = ManualAxisType()
