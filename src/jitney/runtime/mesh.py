"""Meshes of named axes over devices, and how arrays lie on them.

There is one device, so every axis of a mesh of real devices has extent one, and every array lies
whole on it. These classes say so in the words that programs for many devices use.
"""

# What users give is checked, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import contextlib
import enum
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, cast

import numpy as np

from jitney.runtime.device import Device
from jitney.runtime.sharding import Sharding

if TYPE_CHECKING:
    from jitney.core.typing import AxisName


class AxisType(enum.Enum):
    """Who decides how arrays lie along an axis: the compiler, their types, or the program."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


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
        return PartitionSpec(*self._partitions, *other, unreduced=self.unreduced)

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
        return None if not names else names[0] if len(names) == 1 else names
    return entry


def _names_of(entry: AxisName) -> tuple[AxisName, ...]:
    return cast("tuple[AxisName, ...]", entry) if isinstance(entry, tuple) else (entry,)


def _id_of(device: Device) -> int:
    return device.id


class _Axes:
    """What meshes of real and of imagined devices have in common.

    Attributes:
      axis_names, axis_sizes, axis_types: one for each axis.
    """

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """Extents by axis name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(self.shape.items())

    @property
    def size(self) -> int:
        """How many devices there are."""
        return int(np.prod(self.axis_sizes, dtype=int)) if self.axis_sizes else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _all(self, kind: AxisType) -> bool:
        return all(t is kind for t in self.axis_types)

    @property
    def are_all_axes_auto(self) -> bool:
        return self._all(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        return self._all(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        return self._all(AxisType.Manual)

    def short_text(self) -> str:
        """ "'x': 1, axis_types=(Auto,)"."""
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items()) or "()"
        return f"{axes}, axis_types={self.axis_types!r}"


def _types_of(axis_types: AxisType | Sequence[AxisType] | None, n: int) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (AxisType.Auto,) * n
    if isinstance(axis_types, AxisType):
        return (axis_types,) * n
    if len(axis_types) != n:
        raise ValueError(f"Mesh: {n} axes, but {len(axis_types)} axis_types: {axis_types}")
    return tuple(axis_types)


class Mesh(_Axes):
    """Devices in an array with named axes."""

    def __init__(
        self,
        devices: np.ndarray | Sequence[Any],
        axis_names: str | Sequence[AxisName],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> None:
        self.devices = np.array(devices, dtype=object)
        self.devices.flags.writeable = False
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if self.devices.ndim != len(self.axis_names):
            raise ValueError(
                f"Mesh: {self.devices.ndim} axes of devices, but {len(self.axis_names)} names: "
                f"{self.axis_names}"
            )
        self.axis_sizes = () if self.devices.ndim == 0 else self.devices.shape
        self.axis_types = _types_of(axis_types, len(self.axis_names))

    @property
    def device_ids(self) -> np.ndarray:
        return np.vectorize(_id_of, otypes=[int])(self.devices)

    @property
    def local_devices(self) -> list[Device]:
        return list(self.devices.flat)

    @property
    def local_mesh(self) -> Mesh:
        return self

    @property
    def is_multi_process(self) -> bool:
        return False

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def update(self, **changes: Any) -> Mesh:
        """A copy with `devices`, `axis_names` or `axis_types` replaced."""
        return Mesh(
            changes.get("devices", self.devices),
            changes.get("axis_names", self.axis_names),
            changes.get("axis_types", self.axis_types),
        )

    def _key(self) -> Any:
        return tuple(self.devices.flat), self.axis_sizes, self.axis_names, self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.axis_sizes, self.axis_names))

    def __enter__(self) -> Mesh:
        _current.stack = (*_current.stack, self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.stack = _current.stack[:-1]

    def __repr__(self) -> str:
        types = f", axis_types={self.axis_types!r}" if self.axis_types else ""
        return f"Mesh(axis_sizes={self.axis_sizes!r}, axis_names={self.axis_names!r}{types})"


class AbstractMesh(_Axes):
    """The axes of a mesh, without devices."""

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Sequence[Any],
        axis_types: AxisType | Sequence[AxisType] | None = None,
        abstract_device: object = None,
    ) -> None:
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = tuple(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                f"AbstractMesh: {len(self.axis_sizes)} axis_sizes, but {len(self.axis_names)} "
                f"axis_names"
            )
        self.axis_types = _types_of(axis_types, len(self.axis_names))

    def update(self, **changes: Any) -> AbstractMesh:
        """A copy with `axis_sizes`, `axis_names` or `axis_types` replaced."""
        return AbstractMesh(
            changes.get("axis_sizes", self.axis_sizes),
            changes.get("axis_names", self.axis_names),
            changes.get("axis_types", self.axis_types),
        )

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def _key(self) -> Any:
        return self.axis_sizes, self.axis_names, self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"AbstractMesh({self.short_text()})"


class NamedSharding(Sharding):
    """An array on a mesh, its axes divided as a `PartitionSpec` says."""

    __slots__ = ("_memory_kind", "mesh", "spec")

    def __init__(
        self,
        mesh: Mesh | AbstractMesh,
        spec: PartitionSpec | Iterable[AxisName] | None,
        *,
        memory_kind: str | None = None,
        **_: Any,
    ) -> None:
        self.mesh = mesh
        self.spec = spec if isinstance(spec, PartitionSpec) else PartitionSpec(*(spec or ()))
        self._memory_kind = memory_kind
        for entry in self.spec:
            for name in _names_of(entry):
                if isinstance(name, str) and name not in mesh.axis_names:
                    raise ValueError(
                        f"Resource axis: {name} of {self.spec} is not found in mesh: "
                        f"{mesh.axis_names}."
                    )

    @property
    def device_set(self) -> set[Device]:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError("a sharding on an AbstractMesh has no devices")
        return set(self.mesh.devices.flat)

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind or "device"

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part of an array of `global_shape`."""
        sizes = self.mesh.shape
        shape = list(global_shape)
        for i, entry in enumerate(self.spec):
            for name in _names_of(entry):
                if isinstance(name, str):
                    shape[i] //= sizes[name]
        return tuple(shape)

    def update(self, **changes: Any) -> NamedSharding:
        """A copy with `mesh`, `spec` or `memory_kind` replaced."""
        return NamedSharding(
            changes.get("mesh", self.mesh),
            changes.get("spec", self.spec),
            memory_kind=changes.get("memory_kind", self._memory_kind),
        )

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def _key(self) -> Any:
        return self.mesh, self.spec, self.memory_kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec)

    def __repr__(self) -> str:
        kind = "AbstractMesh" if isinstance(self.mesh, AbstractMesh) else "Mesh"
        return (
            f"NamedSharding(mesh={kind}({self.mesh.short_text()}), spec={self.spec!r}, "
            f"memory_kind={self.memory_kind})"
        )


# --- the mesh in force ------------------------------------------------------------------------------


ShardingLike: TypeAlias = "Sharding | PartitionSpec"


class _Current(threading.local):
    stack: tuple[Mesh | AbstractMesh, ...] = ()


_current = _Current()
_EMPTY = Mesh(np.empty((), object), ())


def get_mesh() -> Mesh:
    """The mesh set by `set_mesh`; an empty one if none is."""
    meshes = [m for m in _current.stack if isinstance(m, Mesh)]
    return meshes[-1] if meshes else _EMPTY


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh in force."""
    return (_current.stack[-1] if _current.stack else _EMPTY).abstract_mesh


class set_mesh:  # the API's name
    """Puts a mesh in force: from now on, or within the context if used as one."""

    def __init__(self, mesh: Mesh) -> None:
        if not isinstance(mesh, Mesh):
            raise ValueError(f"set_mesh: expected a Mesh, got {type(mesh)}")
        self._outer = _current.stack
        _current.stack = (*_current.stack, mesh)

    def __enter__(self) -> None:
        """The mesh is in force already."""

    def __exit__(self, *_: object) -> None:
        _current.stack = self._outer


@contextlib.contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Generator[None, None, None]:
    """Within the context, `get_abstract_mesh()` gives `mesh`."""
    outer = _current.stack
    _current.stack = (*outer, mesh)
    try:
        yield
    finally:
        _current.stack = outer
