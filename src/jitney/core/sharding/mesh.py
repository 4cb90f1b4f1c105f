"""Meshes, arrays of devices with named axes, and the context mesh."""

# Arguments from users are checked, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import enum
import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, ParamSpec, TypeVar

import numpy as np

from jitney.core.contexts import Within, enter, entered, leave
from jitney.core.settings import config
from jitney.core.util import forking
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Device
    from jitney.core.typing import AxisName

P = ParamSpec("P")
R = TypeVar("R")


class AxisType(enum.Enum):
    """The way in which shardings along a mesh axis are determined.

    They are chosen by the compiler (Auto), are part of types (Explicit), or are handled by the
    program itself (Manual, within `shard_map`).
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _Entered(threading.local):
    """The mesh contexts that this thread has entered, innermost last."""

    entered: tuple[Within, ...] = ()


_entered = _Entered()


def _id_of(device: Device) -> int:
    return device.id


def _is_own(device: Device) -> bool:
    return device.is_addressable


@record(frozen=True)
class AbstractDevice:
    """Properties of the devices of an AbstractMesh.

    Attributes:
      device_kind: the kind of hardware, such as "cpu".
      num_cores: the number of cores of each device; None if it is not known.
      platform: the platform, such as "cpu".
    """

    device_kind: str
    num_cores: int | None
    platform: str

    def __repr__(self) -> str:
        return f"AbstractDevice({self.short_text()})"

    def short_text(self) -> str:
        """Returns the attributes and their values as text."""
        return (
            f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"
        )


# The device of meshes in this process; it adds nothing to an AbstractMesh without one.
_CPU = AbstractDevice("cpu", None, "cpu")


class _Axes:
    """The common base class of meshes with and without devices.

    Attributes:
      axis_names, axis_sizes, axis_types: the name, size and type of each axis.
    """

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> OrderedDict[Hashable, int]:
        """The sizes of the axes by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Hashable, int], ...]:
        return tuple(self.shape.items())

    @property
    def size(self) -> int:
        """The number of devices."""
        return int(np.prod(self.axis_sizes, dtype=int)) if self.axis_sizes else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _all(self, *kinds: AxisType) -> bool:
        """Returns whether all axes have one of these types; False if there are no axes."""
        return bool(self.axis_types) and all(t in kinds for t in self.axis_types)

    @property
    def are_all_axes_auto(self) -> bool:
        return self._all(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        return self._all(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        return self._all(AxisType.Manual)

    @property
    def are_all_axes_explicit_or_manual(self) -> bool:
        return self._all(AxisType.Explicit, AxisType.Manual)

    # Libraries read these to find out whether the types of arrays have shardings.
    @property
    def _are_all_axes_auto_or_manual(self) -> bool:
        return self._all(AxisType.Auto, AxisType.Manual)

    @property
    def _any_axis_auto(self) -> bool:
        return AxisType.Auto in self.axis_types

    @property
    def _any_axis_explicit(self) -> bool:
        return AxisType.Explicit in self.axis_types

    @property
    def _any_axis_manual(self) -> bool:
        return AxisType.Manual in self.axis_types

    @property
    def _any_axis_auto_or_manual(self) -> bool:
        return self._any_axis_auto or self._any_axis_manual

    @property
    def _name_to_type(self) -> dict[Hashable, AxisType]:
        return dict(zip(self.axis_names, self.axis_types, strict=True))

    def _of_type(self, kind: AxisType) -> tuple[Hashable, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple([name for name, own in pairs if own is kind])

    @property
    def auto_axes(self) -> tuple[Hashable, ...]:
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Hashable, ...]:
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Hashable, ...]:
        return self._of_type(AxisType.Manual)

    def short_text(self) -> str:
        """Returns the axes as text: "'x': 1, axis_types=(Auto,)"."""
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items()) or "()"
        return f"{axes}, axis_types={self.axis_types!r}"


def _types_of(
    axis_types: AxisType | Sequence[AxisType] | None, n: int, default: AxisType = AxisType.Auto
) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (default,) * n
    types = (axis_types,) if isinstance(axis_types, AxisType) else tuple(axis_types)
    if any([not isinstance(kind, AxisType) for kind in types]):
        raise TypeError(
            f"axis_types of a mesh must be of type jax.sharding.AxisType, got {axis_types!r}"
        )
    if len(types) != n:
        raise ValueError(
            f"Mesh: axis_types must have an entry for each axis name, but has {len(types)} for "
            f"{n}: {types}"
        )
    return types


# (names and sizes of axes) -> the mesh with these that was created last.
last_created: dict[tuple[tuple[Any, int], ...], Mesh] = {}


class _ContextMeshes:
    """Counts the context meshes of all threads; without any, lookups are skipped."""

    def __init__(self) -> None:
        self.number = 0
        self._listeners: list[Callable[[int], None]] = []

    def listen(self, listener: Callable[[int], None]) -> None:
        """Calls `listener` with the number now, and again whenever the number changes."""
        self._listeners.append(listener)
        listener(self.number)

    def add(self, change: int) -> None:
        """Adds `change` to the number."""
        with forking.settings:
            self.number += change
            for listener in self._listeners:
                listener(self.number)


context_meshes = _ContextMeshes()


class Mesh(_Axes):
    """An array of devices with named axes."""

    def __init__(
        self,
        devices: np.ndarray | Sequence[Any],
        axis_names: str | Sequence[AxisName],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> None:
        self.devices = np.array(devices, dtype=object)
        self.devices.flags.writeable = False
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if None in self.axis_names:
            raise ValueError(
                f"Mesh: an axis name must not be None, but axis_names is {self.axis_names}"
            )
        if len(set(self.axis_names)) != len(self.axis_names):
            raise ValueError(f"Mesh: axis names must differ from each other, got {self.axis_names}")
        if self.devices.ndim != len(self.axis_names):
            raise ValueError(
                "Mesh: there must be a name for each axis of the array of devices, but the array "
                f"has rank {self.devices.ndim}, and there are {len(self.axis_names)} names, "
                f"{self.axis_names}"
            )
        self.axis_sizes = () if self.devices.ndim == 0 else self.devices.shape
        self.axis_types = _types_of(axis_types, len(self.axis_names))
        if self.axis_names:
            last_created[self.shape_tuple] = self

    @property
    def device_ids(self) -> np.ndarray:
        return np.vectorize(_id_of, otypes=[int])(self.devices)

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process, in order."""
        return [device for device in self.devices.flat if device.is_addressable]

    @property
    def _flat_devices_tuple(self) -> tuple[Device, ...]:
        """The devices in order; libraries use this name."""
        return tuple(self.devices.flat)

    @property
    def local_mesh(self) -> Mesh:
        """The submesh of this process's devices. If it is smaller than the mesh, its axes are Auto.

        Raises:
          ValueError: if these devices do not form a contiguous submesh, or if there are none.
        """
        if not self.is_multi_process:
            return self
        own = np.vectorize(_is_own, otypes=[bool])(self.devices)
        where = np.argwhere(own)
        if not len(where):
            raise ValueError(f"{self} has no devices of this process, so it has no local mesh")
        box = tuple([slice(a, b + 1) for a, b in zip(where.min(0), where.max(0), strict=True)])
        if not own[box].all():
            raise ValueError(
                f"{self}: the devices of this process do not form a box of the mesh, but are at "
                f"{where.tolist()}. Order the devices so that those of each process are adjacent, "
                "as jax.make_mesh does"
            )
        return Mesh(self.devices[box], self.axis_names)

    @property
    def is_scalar(self) -> bool:
        """Whether the mesh has one device and no axes."""
        device: Any = self.devices[()] if self.devices.ndim == 0 else None
        return not self.axis_names and device is not None

    @property
    def is_multi_process(self) -> bool:
        """Whether the devices belong to several processes."""
        return len({device.process_index for device in self.devices.flat}) > 1

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def update(self, **changes: Any) -> Mesh:
        """Returns a copy with `devices`, `axis_names` or `axis_types` replaced."""
        return Mesh(
            changes.get("devices", self.devices),
            changes.get("axis_names", self.axis_names),
            changes.get("axis_types", self.axis_types),
        )

    def _key(self) -> tuple[object, ...]:
        return tuple(self.devices.flat), self.axis_sizes, self.axis_names, self.axis_types

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Mesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((self.axis_sizes, self.axis_names, self.axis_types))

    _contexts: ClassVar = _entered

    def _new_context(self) -> Within:
        """Returns the context that `with mesh:` enters."""
        _counts()
        return _entered_mesh(self)

    __enter__ = enter
    __exit__ = leave

    def __call__(self, fun: Callable[P, R]) -> Callable[P, R]:
        """Returns `fun`, wrapped so that each call runs in the context of the mesh."""

        @functools.wraps(fun)
        def within(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return fun(*args, **kwargs)

        return within

    def __str__(self) -> str:
        return f"Mesh({self.short_text()})" if self.axis_names else "Mesh()"

    def __repr__(self) -> str:
        types = f", axis_types={self.axis_types!r}" if self.axis_types else ""
        return f"Mesh(axis_sizes={self.axis_sizes!r}, axis_names={self.axis_names!r}{types})"


class AbstractMesh(_Axes):
    """The axes of a mesh, without devices.

    Args:
      axis_sizes: the sizes of the axes.
      axis_names: their names.
      axis_types: the type of each axis; Explicit by default.
      abstract_device: properties of the devices; None leaves them unspecified.
    """

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: Sequence[Any],
        axis_types: AxisType | Sequence[AxisType] | None = None,
        abstract_device: AbstractDevice | None = None,
    ) -> None:
        if abstract_device is not None and not isinstance(abstract_device, AbstractDevice):
            raise TypeError(
                "AbstractMesh: abstract_device must be a jax.sharding.AbstractDevice or None, but is "
                f"{abstract_device!r} of type {type(abstract_device)}"
            )
        self.abstract_device = abstract_device
        self.axis_sizes = tuple(axis_sizes)
        self.axis_names = tuple(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                "AbstractMesh: axis_sizes and axis_names must have the same length, but have "
                f"{len(self.axis_sizes)} and {len(self.axis_names)} entries"
            )
        self.axis_types = _types_of(axis_types, len(self.axis_names), AxisType.Explicit)

    def update(self, **changes: Any) -> AbstractMesh:
        """Returns a copy with some attributes replaced; the arguments are those of the class."""
        return AbstractMesh(
            changes.get("axis_sizes", self.axis_sizes),
            changes.get("axis_names", self.axis_names),
            changes.get("axis_types", self.axis_types),
            changes.get("abstract_device", self.abstract_device),
        )

    def update_axis_types(self, name_to_type: Mapping[Any, AxisType]) -> AbstractMesh:
        """Returns a copy with other types for some axes."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple([name_to_type.get(n, t) for n, t in pairs]))

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    @property
    def devices(self) -> NoReturn:
        raise self._without_devices("devices")

    @property
    def device_ids(self) -> NoReturn:
        raise self._without_devices("device_ids")

    @property
    def is_multi_process(self) -> bool:
        raise self._without_devices("is_multi_process")

    @property
    def local_devices(self) -> NoReturn:
        raise self._without_devices("local_devices")

    @property
    def local_mesh(self) -> NoReturn:
        raise self._without_devices("local_mesh")

    def _without_devices(self, name: str) -> ValueError:
        return ValueError(f"{self} has no {name}: an AbstractMesh has axes, but no devices")

    def _key(self) -> tuple[object, ...]:
        device = None if self.abstract_device == _CPU else self.abstract_device
        return self.axis_sizes, self.axis_names, self.axis_types, device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        device = self.abstract_device
        about = "" if device is None else f", {device.short_text()}"
        return f"AbstractMesh({self.short_text()}{about})"


# --- the context mesh -----------------------------------------------------------------------------


_EMPTY = Mesh(np.empty((), object), ())
_NO_MESH = (_EMPTY, _EMPTY.abstract_mesh)


class _Context(config.State):
    """An option that holds a context mesh; when it changes, jitted functions are retraced."""

    def _from_environment(self) -> object:
        return self.default


_context_mesh = _Context("context mesh", _NO_MESH, lambda meshes: meshes, traced=True)
# The mesh of `with mesh:`, which only `pjit` and `with_sharding_constraint` use.
_entered_mesh = _Context("mesh entered", _EMPTY, lambda mesh: mesh, traced=True)


@functools.cache
def _counts() -> None:
    """Adds the context meshes to the settings that traces depend on, once one is first used."""
    config.add_traced_state(_context_mesh)
    config.add_traced_state(_entered_mesh)


class _WithContextMesh(config.Overriding):
    """A context that sets the context mesh and its abstract mesh.

    The two may differ in their axes.
    """

    def __init__(self, mesh: Mesh, axes: AbstractMesh) -> None:
        super().__init__()
        self._mesh, self._axes = mesh, axes
        self.after = _left

    def meshes(self) -> tuple[Mesh, AbstractMesh]:
        return self._mesh, self._axes

    def changes(self) -> list[tuple[config.State, object]]:
        _counts()
        return [(_context_mesh, self.meshes())]

    def find(self) -> tuple[tuple[object, ...], object]:
        context = super().find()
        context_meshes.add(1)
        return context


def _left() -> None:
    context_meshes.add(-1)


def get_mesh() -> Mesh:
    """Returns the mesh set by `set_mesh`, or an empty mesh if none is set."""
    return _context_mesh.value[0]


def get_abstract_mesh() -> AbstractMesh:
    """Returns the abstract mesh of the context, or an empty mesh if there is none."""
    return _context_mesh.value[1]


def mesh_of_specs() -> Mesh | AbstractMesh:
    """Returns the mesh to which a PartitionSpec is bound.

    It is the context mesh, or else the abstract mesh of the context. It is empty if there is
    neither.
    """
    mesh, abstract_mesh = _context_mesh.value
    return abstract_mesh if mesh.empty else mesh


def entered_mesh() -> Mesh:
    """Returns the mesh of the innermost `with mesh:`, or an empty mesh if there is none."""
    return _entered_mesh.value


class set_mesh(_WithContextMesh):  # the name is JAX's
    """Sets the context mesh permanently, or within a `with` block; None removes it.

    Attributes:
      prev_mesh, prev_abstract_mesh: the previous context mesh and abstract mesh.
    """

    prev_mesh: Mesh = _EMPTY
    prev_abstract_mesh: AbstractMesh = _EMPTY.abstract_mesh

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is None:
            mesh = _EMPTY
        if not isinstance(mesh, Mesh):
            raise ValueError(f"set_mesh: expected a Mesh, got {type(mesh)}")
        if AxisType.Manual in mesh.axis_types:
            raise ValueError(
                f"set_mesh: {mesh} contains manual axes, which exist only within shard_map"
            )
        super().__init__(mesh, mesh.abstract_mesh)
        self.prev_mesh, self.prev_abstract_mesh = _context_mesh.value
        try:
            super().__enter__()
        except BaseException:  # possibly an interrupt after the mesh was set
            if self.is_entered:
                self.__exit__(None, None, None)
            raise

    __enter__ = entered  # the mesh is set already


def with_context_mesh(mesh: Mesh) -> Within:
    """Returns a context with the context mesh `mesh`."""
    return _WithContextMesh(mesh, mesh.abstract_mesh)


class use_abstract_mesh(_WithContextMesh):  # the name is JAX's
    """A context in which `get_abstract_mesh()` returns `mesh`.

    The devices of the context mesh, if there is one, are rearranged along these axes.

    Attributes:
      mesh: the abstract mesh.
      prev: the previous abstract mesh.

    Raises:
      ValueError: if the sizes of `mesh` and the context mesh differ.
    """

    mesh: AbstractMesh = _EMPTY.abstract_mesh
    prev: AbstractMesh = _EMPTY.abstract_mesh

    def __init__(self, mesh: AbstractMesh) -> None:
        super().__init__(_EMPTY, mesh)
        self.mesh = mesh
        self.prev = get_abstract_mesh()

    def meshes(self) -> tuple[Mesh, AbstractMesh]:
        concrete, axes = get_mesh(), self._axes
        if not (concrete.empty or axes.empty or axes.manual_axes):
            concrete = with_axes_of(concrete, axes)
        return concrete, axes


def with_axes_of(mesh: Mesh, axes: AbstractMesh) -> Mesh:
    """Returns a mesh of the devices of `mesh`, in the same order, with the axes `axes`.

    Raises:
      ValueError: if the sizes of `axes` and `mesh` differ.
    """
    if mesh.shape_tuple == axes.shape_tuple and mesh.axis_types == axes.axis_types:
        return mesh
    if math.prod(axes.axis_sizes) != mesh.size:
        raise ValueError(
            "use_abstract_mesh: the mesh must have as many devices as the context mesh, which has "
            f"{mesh.size} along {dict(mesh.shape)}, but {axes} has {axes.size}"
        )
    return Mesh(mesh.devices.reshape(axes.axis_sizes), axes.axis_names, axes.axis_types)
