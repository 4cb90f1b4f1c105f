"""Types of the parts of arrays that the devices of a `shard_map` have, by its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from jitney.core.sharding.mesh import AbstractMesh, Mesh
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.typing import AxisName

    AnyMesh: TypeAlias = Mesh | AbstractMesh

Aval = TypeVar("Aval")  # `AbstractValue`, whose module is above this one


class PartTypes(Protocol[Aval]):
    """What `shard_map` says of types of arrays and of their parts."""

    def part(
        self,
        aval: Aval,
        mesh: AnyMesh,
        manual_axes: frozenset[AxisName],
        check_vma: bool,
        spec: PartitionSpec,
        /,
    ) -> Aval:
        """Returns the type of a part of an array of type `aval` that is divided as `spec` says."""
        ...

    def whole(self, aval: Aval, mesh: AnyMesh, check_vma: bool, spec: PartitionSpec, /) -> Aval:
        """Returns the type of an array whose parts are of type `aval`."""
        ...


_part_types: list[PartTypes[Any]] = []


def use_part_types(rules: PartTypes[Any]) -> None:
    """Takes the rules of `shard_map`, which is above this module."""
    _part_types[:] = [rules]


class Divisible(Generic[Aval]):
    """The methods of types of arrays that tell of their parts."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def vma(self) -> frozenset[Any]: ...

    def shard(
        self,
        mesh: AnyMesh,
        manual_axes: frozenset[Any],
        check_vma: bool,
        spec: PartitionSpec,
    ) -> Aval:
        """Returns the type of a part of an array that is divided as `spec` says."""
        return _part_types[0].part(self, mesh, manual_axes, check_vma, spec)

    def unshard(self, mesh: AnyMesh, check_vma: bool, spec: PartitionSpec) -> Aval:
        """Returns the type of an array whose parts, divided as `spec` says, are of this type."""
        return _part_types[0].whole(self, mesh, check_vma, spec)

    def nospec(
        self, mesh: AnyMesh, check_vma: bool, all_names: Sequence[Any] | None
    ) -> PartitionSpec:
        """Returns a specification of residuals: all axes that a part may vary along, along axis 0.

        Args:
          mesh: the mesh of the `shard_map`.
          check_vma: whether the type says what it varies along; otherwise it may along `all_names`.
          all_names: the axes that the function is mapped over.
        """
        from jitney.core.sharding.partition_spec import PartitionSpec

        varying = [name for name in mesh.axis_names if name in self.vma]
        names = tuple(varying if check_vma else all_names or ())
        return PartitionSpec(names) if names else PartitionSpec()
