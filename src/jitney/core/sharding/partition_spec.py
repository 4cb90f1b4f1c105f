"""`PartitionSpec`: which axes of a mesh each axis of an array is divided along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

if TYPE_CHECKING:
    from jitney.core.typing import AxisName


class _Unconstrained:
    """Stands for an array axis that may lie in any way."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_UNCONSTRAINED"


_UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """For each axis of an array, the mesh axis (or several, or None) that it is divided along."""

    __slots__ = ("_partitions", "reduced", "unreduced")

    UNCONSTRAINED = _UNCONSTRAINED

    def __init__(
        self,
        *partitions: AxisName,
        unreduced: Iterable[AxisName] = (),
        reduced: Iterable[AxisName] = (),
    ) -> None:
        self._partitions = tuple([_plain_entry(entry) for entry in partitions])
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)
        if self.unreduced or self.reduced:
            self._check_sums()

    def __init_subclass__(cls) -> None:
        raise TypeError("Subclassing `jax.P` is prohibited: equal specs are of one class")

    def _check_sums(self) -> None:
        """Checks that each axis of the mesh has one role."""
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
    def partitions(self) -> tuple[Any, ...]:
        return self._partitions

    def update(self, **changes: Any) -> PartitionSpec:
        """A copy with `partitions`, `unreduced` or `reduced` replaced."""
        return PartitionSpec(
            *changes.get("partitions", self._partitions),
            unreduced=changes.get("unreduced", self.unreduced),
            reduced=changes.get("reduced", self.reduced),
        )

    def index(self, value: AxisName) -> int:
        """Position of the first axis divided along `value`."""
        return self._partitions.index(value)

    def count(self, value: AxisName) -> int:
        """How many axes are divided along `value`."""
        return self._partitions.count(value)

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        return self._partitions[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __add__(self, other: PartitionSpec | Iterable[AxisName]) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self._partitions, *other._partitions,
                unreduced=self.unreduced | other.unreduced, reduced=self.reduced | other.reduced,
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
                    f"{what} in `{operation}` of PartitionSpec is not possible with what is no "
                    f"PartitionSpec: {self!r}. Wrap the other in jax.P"
                )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self._partitions, self.unreduced, self.reduced

    def __repr__(self) -> str:
        parts = [repr(entry) for entry in self._partitions]
        for name in ("unreduced", "reduced"):
            axes = getattr(self, name)
            if axes:
                parts.append(f"{name}={set(axes)!r}")
        return (
            f"P({parts[0]},)" if len(parts) == 1 and self._partitions else f"P({', '.join(parts)})"
        )

    def __reduce__(self) -> Any:
        return _rebuild_spec, (self._partitions, self.unreduced, self.reduced)


def _rebuild_spec(
    partitions: tuple[AxisName, ...], unreduced: frozenset[AxisName], reduced: frozenset[AxisName]
) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _plain_entry(entry: AxisName) -> Any:
    if isinstance(entry, list | tuple):
        names = tuple(cast("Sequence[AxisName]", entry))
        if any([isinstance(name, tuple) for name in names]):
            raise ValueError(
                f"A tuple inside PartitionSpec cannot contain a nested tuple: got {names}. The axes of "
                "the mesh that divide one axis of an array are given by one tuple"
            )
        return None if not names else names[0] if len(names) == 1 else names
    return entry


def names_of(entry: AxisName) -> tuple[AxisName, ...]:
    """The names in one entry of a spec, which may be one name, several, or None for none."""
    if entry is None:
        return ()
    return cast("tuple[AxisName, ...]", entry) if isinstance(entry, tuple) else (entry,)
