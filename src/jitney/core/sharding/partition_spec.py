"""`PartitionSpec`: the mesh axes along which each axis of an array is sharded."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, cast, overload

from jitney.core.sharding.unreduced_kind import UnreducedKind, check_kind

if TYPE_CHECKING:
    from jitney.core.typing import AxisName


class _Unconstrained:
    """A marker for an array axis that may be sharded in any way."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_UNCONSTRAINED"


_UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """The mesh axes along which each axis of an array is sharded.

    Args:
      *partitions: for each axis of the array a mesh axis, a tuple of mesh axes, or None if the axis
        is not sharded.
      unreduced: the mesh axes along which the array is unreduced.
      reduced: the mesh axes along which the array is replicated, and its cotangent unreduced.
      unreduced_kind: the reduction of the terms, a sum by default; None without unreduced axes.
    """

    __slots__ = ("_partitions", "reduced", "unreduced", "unreduced_kind")

    UNCONSTRAINED = _UNCONSTRAINED

    def __init__(
        self,
        *partitions: AxisName,
        unreduced: Iterable[AxisName] = (),
        reduced: Iterable[AxisName] = (),
        unreduced_kind: UnreducedKind | None = None,
    ) -> None:
        self._partitions = tuple([_plain_entry(entry) for entry in partitions])
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)
        self.unreduced_kind = unreduced_kind
        if self.unreduced or self.reduced:
            self._check_sums()
        if unreduced_kind is not None:
            check_kind(unreduced_kind, self.unreduced)
        elif self.unreduced:
            self.unreduced_kind = UnreducedKind.sum

    def __init_subclass__(cls) -> None:
        raise TypeError("Subclassing `jax.P` is prohibited: specs are compared by class, too")

    def _check_sums(self) -> None:
        """Checks that each mesh axis has only one role."""
        used = {name for entry in self._partitions for name in names_of(entry)}
        for what in ("unreduced", "reduced"):
            axes = getattr(self, what)
            if None in axes:
                raise ValueError(f"{what} cannot contain None, got {set(axes)}")
            if axes & used:
                raise ValueError(
                    f"partitions cannot overlap with {what} axes: {self!r} has both for "
                    f"{set(axes & used)}"
                )
        if self.unreduced & self.reduced:
            raise ValueError(
                f"unreduced and reduced axes cannot overlap: {self!r} has "
                f"{set(self.unreduced & self.reduced)} in both"
            )

    @property
    def partitions(self) -> tuple[Hashable, ...]:
        return self._partitions

    def update(self, **changes: Any) -> PartitionSpec:
        """Returns a copy with `partitions`, `unreduced`, `reduced` or `unreduced_kind` replaced."""
        unreduced = changes.get("unreduced", self.unreduced)
        return PartitionSpec(
            *changes.get("partitions", self._partitions),
            unreduced=unreduced,
            reduced=changes.get("reduced", self.reduced),
            unreduced_kind=changes.get(
                "unreduced_kind", self.unreduced_kind if unreduced else None
            ),
        )

    def to_lo(self) -> list[PartitionSpec]:
        """Returns the specs of the lowered values of an array with this spec: itself."""
        return [self]

    def to_tangent_spec(self) -> PartitionSpec:
        """Returns the spec of tangents."""
        return self

    def to_ct_spec(self) -> PartitionSpec:
        """Returns the spec of cotangents: `unreduced` and `reduced` are interchanged."""
        if not (self.unreduced or self.reduced):
            return self
        return PartitionSpec(*self._partitions, unreduced=self.reduced, reduced=self.unreduced)

    def index(self, value: AxisName) -> int:
        """Returns the position of the first axis with the entry `value`."""
        return self._partitions.index(value)

    def count(self, value: AxisName) -> int:
        """Returns the number of axes with the entry `value`."""
        return self._partitions.count(value)

    def __len__(self) -> int:
        return len(self._partitions)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Hashable: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hashable, ...]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Hashable:
        return self._partitions[index]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._partitions)

    def __add__(self, other: PartitionSpec | Iterable[AxisName]) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            kinds = {self.unreduced_kind, other.unreduced_kind} - {None}
            if len(kinds) > 1:
                raise TypeError(f"{self!r} + {other!r}: both must have the same unreduced_kind")
            return PartitionSpec(
                *self._partitions, *other._partitions,
                unreduced=self.unreduced | other.unreduced, reduced=self.reduced | other.reduced,
                unreduced_kind=kinds.pop() if kinds else None,
            )  # fmt: skip
        self._check_plain("__add__")
        return PartitionSpec(*self._partitions, *other)

    def __radd__(self, other: Iterable[AxisName]) -> PartitionSpec:
        self._check_plain("__radd__")
        return PartitionSpec(*other, *self._partitions)

    def _check_plain(self, operation: str) -> None:
        for what in ("unreduced", "reduced"):
            if getattr(self, what):
                raise TypeError(
                    f"{what} in `{operation}` of PartitionSpec requires that both operands are "
                    f"PartitionSpecs: {self!r}. Wrap the other operand in jax.P"
                )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self._partitions, self.unreduced, self.reduced, self.unreduced_kind

    def __repr__(self) -> str:
        parts = [repr(entry) for entry in self._partitions]
        for name in ("unreduced", "reduced"):
            axes = getattr(self, name)
            if axes:
                parts.append(f"{name}={set(axes)!r}")
        if self.unreduced_kind is not None:
            parts.append(f"unreduced_kind={self.unreduced_kind.name}")
        return (
            f"P({parts[0]},)" if len(parts) == 1 and self._partitions else f"P({', '.join(parts)})"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_spec, self._key()


def _rebuild_spec(
    partitions: tuple[AxisName, ...],
    unreduced: frozenset[AxisName],
    reduced: frozenset[AxisName],
    kind: UnreducedKind | None = None,
) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=kind)


def _plain_entry(entry: AxisName) -> Hashable:
    if isinstance(entry, list | tuple):
        names = tuple(cast("Sequence[AxisName]", entry))
        if any([isinstance(name, tuple) for name in names]):
            raise ValueError(
                f"A tuple inside PartitionSpec cannot contain a nested tuple: got {names}. List "
                "the mesh axes that shard one axis of an array in one flat tuple"
            )
        return None if not names else names[0] if len(names) == 1 else names
    return entry


def names_of(entry: AxisName) -> tuple[AxisName, ...]:
    """Returns the mesh axes in one entry of a spec: a name, a tuple of names, or None."""
    if entry is None:
        return ()
    return cast("tuple[AxisName, ...]", entry) if isinstance(entry, tuple) else (entry,)
