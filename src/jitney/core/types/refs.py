"""Types and effects of mutable array references.

A reference is a mutable cell that holds an array. Its type, `AbstractRef`, includes the type of the
array. An operation that reads or changes the array has a `ReadEffect`, a `WriteEffect` or an
`AccumEffect`, which includes the index of the reference among the operands of the equation. An
effect of a program includes the index of the reference among the constants and operands of the
program. Accesses to references that a program creates itself are not effects of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.core.types.effects import (
    InputEffect,
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    lowerable_effects,
    remat_allowed_effects,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jitney.core.sharding.manual_axes import ManualAxisType
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.sharding.part_types import AnyMesh
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.types.dtypes import DType


class RefEffect(InputEffect):
    """The base class of effects on a reference."""

    _name = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.input_index})"

    def __str__(self) -> str:
        return f"{self._name}<{self.input_index}>"


class ReadEffect(RefEffect):
    """A read of the array."""

    _name = "Read"


class WriteEffect(RefEffect):
    """A write to elements of the array."""

    _name = "Write"


class AccumEffect(RefEffect):
    """An addition to elements of the array."""

    _name = "Accum"


for _allowed in (
    control_flow_allowed_effects,
    custom_derivatives_allowed_effects,
    lowerable_effects,
    remat_allowed_effects,
):
    _allowed.add_type(RefEffect)


class AbstractRef(AbstractValue):
    """The type of references to arrays.

    Attributes:
      inner_aval: the type of the array.
      memory_space: the requested memory space of the array; None for device memory.
      kind: a user-defined tag.
    """

    __slots__ = ("_hash", "inner_aval", "kind", "memory_space")

    is_ref = True

    def __init__(
        self, inner_aval: AbstractValue, memory_space: object = None, kind: object = None
    ) -> None:
        self.inner_aval = inner_aval
        self.memory_space = memory_space
        self.kind = kind
        self._hash = hash((AbstractRef, inner_aval, memory_space, kind))

    if not TYPE_CHECKING:

        @property
        def shape(self) -> tuple[int, ...]:
            return self.inner_aval.shape

        @property
        def dtype(self) -> DType:
            return self.inner_aval.dtype

        @property
        def weak_type(self) -> bool:
            return self.inner_aval.weak_type

        def update(self, inner_aval: AbstractValue | None = None, **changes: Any) -> AbstractRef:
            """Returns a copy with a new array type, or with attributes of the array type replaced."""
            inner = (inner_aval or self.inner_aval).update(**changes)
            return AbstractRef(inner, self.memory_space, self.kind)

    def shard(
        self, mesh: AnyMesh, manual_axes: frozenset[Any], check_vma: bool, spec: PartitionSpec
    ) -> AbstractRef:
        """Returns the type of references to shards of the array; see `ShapedArray.shard`."""
        return self._of(self._array().shard(mesh, manual_axes, check_vma, spec))

    def unshard(self, mesh: AnyMesh, check_vma: bool, spec: PartitionSpec) -> AbstractValue:
        """Raises TypeError, as references to shards cannot be joined into one reference."""
        raise TypeError(f"shard_map cannot return references, but a result is of type {self}")

    def inc_rank(self, size: int, spec: int | None) -> AbstractRef:
        """Returns the type of references to arrays with a new axis; see `ShapedArray.inc_rank`."""
        return AbstractRef(self._array().inc_rank(size, spec), self.memory_space, self.kind)

    def dec_rank(self, size: int | None, spec: int | None) -> AbstractRef:
        """Returns the type of references to arrays without an axis; see `ShapedArray.dec_rank`."""
        return AbstractRef(self._array().dec_rank(size, spec), self.memory_space, self.kind)

    def leading_axis_spec(self) -> int:
        """Returns the position of the axis that `scan` iterates over."""
        return 0

    def _array(self) -> Any:
        return self.inner_aval

    @property
    def ndim(self) -> int:
        return len(self.inner_aval.shape)

    @property
    def size(self) -> int:
        return self.inner_aval.size

    @property
    def sharding(self) -> NamedSharding | None:
        """The sharding of the array; None if its type has none."""
        return getattr(self.inner_aval, "sharding", None)

    def __len__(self) -> int:
        return len(self.inner_aval)

    def to_tangent_aval(self) -> AbstractRef:
        """Returns the type of references to tangents of the array."""
        return AbstractRef(self.inner_aval.to_tangent_aval(), self.memory_space, self.kind)

    def to_cotangent_aval(self) -> AbstractRef:
        return AbstractRef(self.inner_aval.to_cotangent_aval(), self.memory_space, self.kind)

    to_ct_aval = to_cotangent_aval

    @property
    def manual_axis_type(self) -> ManualAxisType:
        return self._array().manual_axis_type

    @property
    def mat(self) -> ManualAxisType:
        return self._array().manual_axis_type

    def update_weak_type(self, weak_type: bool) -> AbstractRef:
        """Returns the type of references to arrays with the given `weak_type`."""
        return self._of(self._array().update_weak_type(weak_type))

    def update_manual_axis_type(self, mat: ManualAxisType) -> AbstractRef:
        """Returns the type of references to arrays with manual axis type `mat`."""
        return self._of(self._array().update_manual_axis_type(mat))

    def _of(self, inner_aval: AbstractValue) -> AbstractRef:
        return AbstractRef(inner_aval, self.memory_space, self.kind)

    def strip_weak_type(self) -> AbstractRef:
        return AbstractRef(self.inner_aval.strip_weak_type(), self.memory_space, self.kind)

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        inner = self.inner_aval.str_short(short_dtypes, mesh_axis_types)
        place = "" if self.memory_space is None else f"<{self.memory_space}>"
        return f"Ref{place}{{{inner}}}"

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is AbstractRef
            and self.inner_aval == other.inner_aval
            and self.memory_space == other.memory_space
            and self.kind == other.kind
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.str_short()

    __str__ = __repr__

    def __reduce__(self) -> tuple[Callable[..., AbstractRef], tuple[object, ...]]:
        return AbstractRef, (self.inner_aval, self.memory_space, self.kind)


def is_ref(x: object) -> bool:
    """Returns whether `x` is a reference or a tracer of one."""
    return isinstance(getattr(x, "aval", None), AbstractRef)


def any_refs(avals: Iterable[AbstractValue]) -> bool:
    """Returns whether some of `avals` are types of references."""
    return any(map(IS_REF, avals))


IS_REF = attrgetter("is_ref")


def array_type(aval: AbstractValue) -> ShapedArray:
    """Returns the type of the array that a reference of type `aval` holds."""
    assert isinstance(aval, AbstractRef), aval
    assert isinstance(aval.inner_aval, ShapedArray), aval
    return aval.inner_aval
