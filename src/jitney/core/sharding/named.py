"""`NamedSharding`: a sharding on a mesh with named axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.core.messages import messages
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding.sharding import Device, Sharding
from jitney.core.sharding.shardy import SdyArray, TensorSharding
from jitney.core.sharding.tiling import Tiling
from jitney.core.sharding.unreduced_kind import refuse_extremes

if TYPE_CHECKING:
    from jitney.core.typing import AxisName

ShardingLike: TypeAlias = "Sharding | PartitionSpec"


class NamedSharding(Sharding):
    """A sharding of arrays over a mesh, as specified by a `PartitionSpec`."""

    __slots__ = ("_memory_kind", "_tilings", "mesh", "spec")

    def __init__(
        self,
        mesh: Mesh | AbstractMesh,
        spec: PartitionSpec | Iterable[AxisName],
        *,
        memory_kind: str | None = None,
        **_: Any,
    ) -> None:
        if spec is None:  # pyright: ignore[reportUnnecessaryComparison]  # a user's
            raise TypeError(
                "NamedSharding: Unexpected None as its spec; use P() for a replicated array"
            )
        self.mesh = mesh
        self.spec = spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec)
        self._memory_kind = memory_kind
        self._tilings: dict[int, Tiling] = {}
        _check_names(self.spec, mesh)
        if memory_kind is not None:
            _check_memory_kind(memory_kind, mesh)

    @property
    def device_order(self) -> tuple[Device, ...]:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(
                f"{self} has an AbstractMesh, which has axes but no devices. Use a NamedSharding with "
                "a jax.sharding.Mesh"
            )
        return tuple(self.mesh.devices.flat)

    @property
    def device_key(self) -> object:
        return self.mesh.size if isinstance(self.mesh, AbstractMesh) else self.device_order

    @property
    def memory_kind(self) -> str | None:
        """The memory kind that was passed, or else the default kind of the devices, if any."""
        return self._memory_kind or (None if isinstance(self.mesh, AbstractMesh) else "device")

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    @property
    def replicated_axes(self) -> frozenset[Hashable]:
        """The mesh axes along which arrays are replicated."""
        named = {name for entry in self.spec for name in names_of(entry)}
        return frozenset(self.mesh.axis_names) - named - self.spec.unreduced

    @property
    def is_fully_replicated(self) -> bool:
        extents = self.mesh.shape
        return not self.spec.unreduced and all([
            extents[name] == 1 for entry in self.spec for name in _axes_of(entry)
        ])  # fmt: skip

    def tiling(self, ndim: int) -> Tiling:
        tiling = self._tilings.get(ndim)
        if tiling is None:
            tiling = self._tilings[ndim] = self._tiling_of_rank(ndim)
        return tiling

    def _tiling_of_rank(self, ndim: int) -> Tiling:
        entries = [_axes_of(entry) for entry in self.spec]
        if any(entries[ndim:]):
            raise too_few_axes(self, ndim)
        del entries[ndim:]
        entries += [()] * (ndim - len(entries))
        mesh = self.mesh
        extents, positions = mesh.shape, {name: k for k, name in enumerate(mesh.axis_names)}
        counts = tuple([math.prod([extents[name] for name in names]) for names in entries])
        tiles: list[tuple[int, ...]] = []
        for device in itertools.product(*map(range, mesh.axis_sizes)):
            tile: list[int] = []
            for names in entries:
                number = 0
                for name in names:
                    number = number * extents[name] + device[positions[name]]
                tile.append(number)
            tiles.append(tuple(tile))
        return Tiling(counts, tuple(tiles))

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        if len(self.spec) > len(aval_shape):
            raise too_few_axes(self, len(aval_shape))

    def axes(self, ndim: int) -> tuple[tuple[AxisName, ...] | None, ...]:
        """Returns the mesh axes that shard each of `ndim` axes; None for unconstrained ones."""
        free = PartitionSpec.UNCONSTRAINED
        entries = [None if entry is free else names_of(entry) for entry in self.spec]
        return (*entries[:ndim], *[()] * (ndim - len(entries)))

    def _to_sdy_sharding(self, num_dimensions: int) -> SdyArray:
        return in_shardy(self, num_dimensions)

    def update(self, **changes: Any) -> NamedSharding:
        """Returns a copy with `mesh`, `spec` or `memory_kind` replaced."""
        return NamedSharding(
            changes.get("mesh", self.mesh),
            changes.get("spec", self.spec),
            memory_kind=changes.get("memory_kind", self._memory_kind),
        )

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def _key(self) -> tuple[object, ...]:
        return self.mesh, self.spec, self.memory_kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.mesh, self.spec, self._memory_kind)

    def __repr__(self) -> str:
        kind = "AbstractMesh" if isinstance(self.mesh, AbstractMesh) else "Mesh"
        memory = f", memory_kind={self.memory_kind}" if self.memory_kind is not None else ""
        return f"NamedSharding(mesh={kind}({self.mesh.short_text()}), spec={self.spec!r}{memory})"


def has_devices(sharding: Sharding | None) -> bool:
    """Returns whether `sharding` has devices, rather than an abstract mesh."""
    return not isinstance(sharding, NamedSharding) or isinstance(sharding.mesh, Mesh)


def on_devices(sharding: Sharding, devices: Sequence[Device]) -> Sharding:
    """Returns `sharding` with its abstract mesh, if it has one, replaced by a mesh of `devices`.

    The number of devices must match.
    """
    if (
        not isinstance(sharding, NamedSharding)
        or isinstance(sharding.mesh, Mesh)
        or sharding.mesh.empty
    ):
        return sharding
    axes = sharding.mesh
    grid = np.array(devices, dtype=object).reshape(axes.axis_sizes)
    return sharding.update(mesh=Mesh(grid, axes.axis_names, axes.axis_types))


def asks_nothing(sharding: object) -> bool:
    """Returns whether `sharding` is replicated on an abstract mesh without Explicit axes.

    The type of an array that is not on a mesh has such a sharding.
    """
    return (
        isinstance(sharding, NamedSharding)
        and isinstance(sharding.mesh, AbstractMesh)
        and AxisType.Explicit not in sharding.mesh.axis_types
        and not sharding.spec.unreduced
        and not any(map(names_of, sharding.spec))
    )


def with_free_axes(
    sharding: NamedSharding, own: Sharding | None, ndim: int, free: Collection[int]
) -> NamedSharding:
    """Returns `sharding` with its unconstrained axes sharded as the array already is.

    Args:
      sharding: the requested sharding.
      own: the present sharding of the array.
      ndim: the rank of the array.
      free: the axes that `sharding` leaves to the compiler. They are not sharded along mesh axes
        that `sharding` uses elsewhere.
    """
    entries = [() if k in free else names or () for k, names in enumerate(sharding.axes(ndim))]
    if isinstance(own, NamedSharding) and own.mesh == sharding.mesh:
        used = {name for names in entries for name in names}
        divided = own.axes(ndim)
        for k in free:
            entries[k] = tuple(itertools.takewhile(lambda n: n not in used, divided[k] or ()))
    while entries and not entries[-1]:
        entries.pop()
    return sharding.update(spec=sharding.spec.update(partitions=entries))


def too_few_axes(sharding: NamedSharding | PartitionSpec, ndim: int) -> ValueError:
    """Returns the error for arrays of rank `ndim`, which is too low for `sharding`."""
    spec = sharding.spec if isinstance(sharding, NamedSharding) else sharding
    advice = "" if ndim else "; P() is for scalars"
    return ValueError(
        f"{sharding} has entries for {messages.counted(len(spec), 'axis')}, so it needs an array of "
        f"at least that rank, but got rank {ndim}{advice}"
    )


def constraint(
    sharding: NamedSharding, ndim: int, free: Collection[int] = (), *, is_open: bool = False
) -> TensorSharding:
    """Converts `sharding` to the sharding of a tensor of rank `ndim` in a program.

    Args:
      sharding: the sharding.
      ndim: the rank; `sharding` may have no entries for trailing dimensions.
      free: the dimensions that `sharding` leaves unconstrained.
      is_open: whether Auto axes that `sharding` does not name may shard any dimension.
    """
    axes = [None if k in free else names for k, names in enumerate(sharding.axes(ndim)[:ndim])]
    named = {name for names in axes for name in names or ()} | sharding.spec.unreduced
    unnamed = (
        () if not is_open else [name for name in sharding.mesh.axis_names if name not in named]
    )
    return TensorSharding(
        tuple([tuple(map(str, names or ())) for names in axes]),
        tuple([is_open or names is None for names in axes]),
        tuple([str(name) for name in unnamed if name not in sharding.mesh.auto_axes]),
        tuple([str(name) for name in sharding.mesh.axis_names if name in sharding.spec.unreduced]),
    )


def in_shardy(sharding: NamedSharding, ndim: int) -> SdyArray:
    """Returns `sharding`, for arrays of rank `ndim`, in Shardy's notation."""
    mesh = sharding.mesh
    ids = () if isinstance(mesh, AbstractMesh) else tuple([d.id for d in mesh.devices.flat])
    axes = [names if names is None else tuple(map(str, names)) for names in sharding.axes(ndim)]
    return SdyArray(
        tuple([(str(name), n) for name, n in mesh.shape_tuple]),
        tuple(axes),
        () if ids == tuple(range(len(ids))) else ids,
    )


def _rebuild(mesh: Mesh, spec: PartitionSpec, memory_kind: str | None) -> NamedSharding:
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


def _axes_of(entry: AxisName) -> tuple[AxisName, ...]:
    """Returns the mesh axes in one entry of a spec; none if it is unconstrained."""
    return () if entry is PartitionSpec.UNCONSTRAINED else names_of(entry)


def _check_names(spec: PartitionSpec, mesh: Mesh | AbstractMesh) -> None:
    used: set[AxisName] = set()
    if PartitionSpec.UNCONSTRAINED in spec.partitions and mesh.axis_types and not mesh.auto_axes:
        raise ValueError(
            f"{spec} leaves the sharding of an axis to the compiler, which requires Auto axes, but "
            f"the mesh has none: {mesh}"
        )
    for entry in spec:
        for name in _axes_of(entry):
            if name not in mesh.axis_names:
                raise ValueError(
                    f"{spec} must name axes of the mesh, but {name!r} is not among "
                    f"{mesh.axis_names}"
                )
            if name in used:
                raise ValueError(
                    "a spec can shard only one axis of an array along each axis of the mesh, but "
                    f"{spec} has duplicate entries for `{name}`"
                )
            used.add(name)
    refuse_extremes(spec.unreduced_kind, spec)
    for name in spec.unreduced:
        if name not in mesh.axis_names:
            raise ValueError(
                f"unreduced axes of {spec} must be axes of the mesh, but {name!r} is not among "
                f"{mesh.axis_names}"
            )
        if name in mesh.auto_axes:
            raise ValueError(
                f"unreduced axes of {spec} must be of type Explicit or Manual, but {name!r} is of "
                "type Auto"
            )


def _check_memory_kind(kind: str, mesh: Mesh | AbstractMesh) -> None:
    kinds = ("device", "pinned_host", "unpinned_host")
    if kind not in kinds:
        raise ValueError(
            f"Got invalid memory kind {kind!r}: the devices of {mesh} have the kinds "
            f"{', '.join(kinds)}"
        )
