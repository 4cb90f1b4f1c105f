"""Types of shards, as seen by functions in `shard_map`, which defines the rules."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from jitney.core.sharding.mesh import AbstractMesh, Mesh
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.typing import AxisName

    AnyMesh: TypeAlias = Mesh | AbstractMesh

Aval = TypeVar("Aval")  # `AbstractValue`, which is in a higher layer


class PartTypes(Protocol[Aval]):
    """The rules by which `shard_map` converts types of arrays to types of shards and back."""

    def part(
        self,
        aval: Aval,
        mesh: AnyMesh,
        manual_axes: frozenset[AxisName],
        check_vma: bool,
        spec: PartitionSpec,
        /,
    ) -> Aval:
        """Returns the type of a shard of an array of type `aval` that is sharded by `spec`."""
        ...

    def whole(self, aval: Aval, mesh: AnyMesh, check_vma: bool, spec: PartitionSpec, /) -> Aval:
        """Returns the type of the global array whose shards have type `aval`."""
        ...


_part_types: list[PartTypes[Any]] = []


def use_part_types(rules: PartTypes[Any]) -> None:
    """Sets the rules, which are defined by `shard_map` in a higher layer."""
    _part_types[:] = [rules]


class Divisible(Generic[Aval]):
    """A mixin for array types with the methods that convert to and from types of shards."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def vma(self) -> frozenset[Hashable]: ...

    def shard(
        self,
        mesh: AnyMesh,
        manual_axes: frozenset[Any],
        check_vma: bool,
        spec: PartitionSpec,
    ) -> Aval:
        """Returns the type of a shard of an array that is sharded by `spec`."""
        return _part_types[0].part(self, mesh, manual_axes, check_vma, spec)

    def unshard(self, mesh: AnyMesh, check_vma: bool, spec: PartitionSpec) -> Aval:
        """Returns the type of the global array whose shards, by `spec`, have this type."""
        return _part_types[0].whole(self, mesh, check_vma, spec)

    def nospec(
        self, mesh: AnyMesh, check_vma: bool, all_names: Sequence[Any] | None
    ) -> PartitionSpec:
        """Returns the spec of a residual: axis 0 is sharded along all axes along which it may vary.

        Args:
          mesh: the mesh of the `shard_map`.
          check_vma: whether the type records the axes along which it varies; otherwise it may vary
            along all of `all_names`.
          all_names: the axes that the function is mapped over.
        """
        from jitney.core.sharding.partition_spec import PartitionSpec

        varying = [name for name in mesh.axis_names if name in self.vma]
        names = tuple(varying if check_vma else all_names or ())
        return PartitionSpec(names) if names else PartitionSpec()
