"""Types of values along manual mesh axes, which relate the values on the devices of a mesh."""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable
from typing import Any, NoReturn, Protocol, Self

from jitney.core.sharding.unreduced_kind import UnreducedKind, check_kind, refuse_extremes

_interned: weakref.WeakValueDictionary[tuple[frozenset[Any], ...], ManualAxisType]
_interned = weakref.WeakValueDictionary()


class HasManualAxes(Protocol):
    """The interface of a mesh that is needed here."""

    @property
    def manual_axes(self) -> tuple[Hashable, ...]: ...


class ManualAxisType:
    """The relation between the values on the devices along the manual axes of a mesh.

    Equal instances are identical: each type is interned while it is in use.

    Attributes:
      varying: the axes along which the values differ.
      unreduced: the axes along which they are unreduced: terms of a sum.
      reduced: the axes along which they are equal, and their cotangents are unreduced.
      unreduced_kind: the reduction of the terms: a sum, or None if there are none.

    Raises:
      ValueError: if an axis is in two of these.
      NotImplementedError: if the reduction is a maximum or minimum.
    """

    __slots__ = ("__weakref__", "reduced", "unreduced", "varying")

    varying: frozenset[Any]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __new__(
        cls,
        *,
        varying: Iterable[Any] = (),
        unreduced: Iterable[Any] = (),
        reduced: Iterable[Any] = (),
        unreduced_kind: UnreducedKind | None = None,
    ) -> Self:
        if unreduced_kind is not None:
            check_kind(unreduced_kind, frozenset(unreduced))
            refuse_extremes(unreduced_kind, "ManualAxisType")
        key = frozenset(varying), frozenset(unreduced), frozenset(reduced)
        interned: Any = _interned.get(key)
        if interned is not None:
            return interned
        axis_type = super().__new__(cls)
        for name, axes in zip(("varying", "unreduced", "reduced"), key, strict=True):
            object.__setattr__(axis_type, name, axes)
        named: frozenset[Any] = key[0] | key[1] | key[2]
        if sum(map(len, key)) != len(named):
            raise ValueError(
                "an axis must be varying, unreduced or reduced, and only one of them, but got "
                f"{axis_type}"
            )
        out: Any = _interned.setdefault(key, axis_type)
        return out

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"cannot assign to {name}: a ManualAxisType is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"cannot delete {name}: a ManualAxisType is immutable")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def unreduced_kind(self) -> UnreducedKind | None:
        return UnreducedKind.sum if self.unreduced else None

    @property
    def empty(self) -> bool:
        """Whether no axis is varying, unreduced or reduced."""
        return not self

    @property
    def vur(self) -> frozenset[Hashable]:
        """All axes that are varying, unreduced or reduced."""
        return self.varying | self.unreduced | self.reduced

    def _key(self) -> tuple[frozenset[Hashable], ...]:
        return self.varying, self.unreduced, self.reduced

    def update(self, **changes: Any) -> ManualAxisType:
        """Returns a copy with some attributes replaced."""
        kept: dict[str, Any] = {"varying": self.varying, "unreduced": self.unreduced}
        changed: dict[str, Any] = kept | {"reduced": self.reduced} | changes
        return ManualAxisType(**changed)

    def to_ct_mat(self) -> ManualAxisType:
        """Returns the type of cotangents: `unreduced` and `reduced` are interchanged."""
        return ManualAxisType(varying=self.varying, unreduced=self.reduced, reduced=self.unreduced)

    def without(self, axes: Iterable[Any]) -> ManualAxisType:
        """Returns the type without `axes`, for values that are combined along these."""
        gone = frozenset(axes)
        return ManualAxisType(
            varying=self.varying - gone,
            unreduced=self.unreduced - gone,
            reduced=self.reduced - gone,
        )

    def invarying(self, mesh: HasManualAxes) -> frozenset[Hashable]:
        """Returns the manual axes of `mesh` along which values are equal, and not reduced."""
        return frozenset(mesh.manual_axes) - self.varying - self.unreduced - self.reduced

    def __bool__(self) -> bool:
        return any(self._key())

    def __repr__(self) -> str:
        return (
            f"ManualAxisType(varying={self.varying}, unreduced={self.unreduced}, "
            f"reduced={self.reduced})"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, self._key()


def _rebuild(
    varying: frozenset[Any], unreduced: frozenset[Any], reduced: frozenset[Any]
) -> ManualAxisType:
    return ManualAxisType(varying=varying, unreduced=unreduced, reduced=reduced)


NOT_MANUAL = ManualAxisType()
