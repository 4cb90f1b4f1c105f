"""`NamedSharding`: an array on a mesh with named axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from jitney.core.sharding.mesh import AbstractMesh, Mesh
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding.sharding import Device, Sharding

if TYPE_CHECKING:
    from jitney.core.typing import AxisName

ShardingLike: TypeAlias = "Sharding | PartitionSpec"


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
            for name in names_of(entry):
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
        """The kind of memory that was named, or else, on devices, their default one."""
        return self._memory_kind or (None if isinstance(self.mesh, AbstractMesh) else "device")

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one device's part of an array of `global_shape`."""
        sizes = self.mesh.shape
        shape = list(global_shape)
        for i, entry in enumerate(self.spec):
            for name in names_of(entry):
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
        memory = f", memory_kind={self.memory_kind}" if self.memory_kind is not None else ""
        return f"NamedSharding(mesh={kind}({self.mesh.short_text()}), spec={self.spec!r}{memory})"
