"""Sharding in types: propagation of shardings along Explicit mesh axes.

The type of an array that is sharded along mesh axes of type Explicit includes the sharding, as in
`f32[8@x,4]`. Each operation has a rule in the slot `sharding`, which computes the shardings of its
results. It raises an error if the shardings of operands are incompatible, or if the sharding of a
result would be ambiguous. Users then specify the sharding of the result (`out_sharding=`), or
reshard an operand (`jax.sharding.reshard`).

A rule receives a description of the operation (`Operation`) and returns, for each axis of each
result, the mesh axes along which it is sharded. Most rules follow from an index map
(`by_index_map`). An operation without a rule is treated as elementwise if the shapes permit that,
and is rejected otherwise.

None of this applies to arrays that are not on a mesh, or on a mesh whose axes are Auto.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard, TypeVar, overload

from jitney.core.contexts import Within
from jitney.core.messages import messages
from jitney.core.settings import config
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    last_created as last_created,
    mesh_of_specs,
    with_axes_of,
)
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding_in_types import sums
from jitney.core.sharding_in_types.sums import ShardingTypeError as ShardingTypeError
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval
from jitney.core.util.index_space import IndexMap
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.sharding_in_types.varying import Operation as Primitive
    from jitney.core.types.avals import ResultTypes

T = TypeVar("T")

# For each axis of an array, the mesh axes along which it is sharded.
Entries: TypeAlias = tuple[tuple[Any, ...], ...]


@record
class Operation:
    """The description of an operation, for sharding rules.

    Attributes:
      name: the name of the primitive.
      mesh: the mesh of the operands.
      avals: the types of the operands.
      specs: for each axis of each operand, the mesh axes along which it is sharded.
      params: the parameters.
      shapes: the shapes of the results.
    """

    name: str
    mesh: AbstractMesh
    avals: Sequence[AbstractValue]
    specs: list[Entries]
    params: dict[str, Any]
    shapes: list[tuple[int, ...]]

    def parts(self, names: tuple[Any, ...]) -> int:
        """Returns the number of shards of an axis that is sharded along the mesh axes `names`."""
        n, extents = 1, self.mesh.shape
        for name in names:
            n *= extents[name]
        return n

    def refuse(self, why: str) -> NoReturn:
        """Raises ShardingTypeError with a message that shows the types of the operands."""
        types = ", ".join([aval.str_short(short_dtypes=True) for aval in self.avals])
        raise ShardingTypeError(
            f"{why} ({self.name} of {types}). Pass the sharding of the result as out_sharding=, "
            "or reshard an operand with jax.sharding.reshard"
        )


# --- types ----------------------------------------------------------------------------------------


def sharding_of(aval: AbstractValue) -> NamedSharding | None:
    """Returns the sharding in a type; None if its values are not on a mesh."""
    if not isinstance(aval, ShapedArray) or aval.has_default_place:
        return None
    sharding = aval.sharding
    return None if sharding.mesh.empty else sharding


def is_explicit(avals: Sequence[AbstractValue]) -> bool:
    """Returns whether some of these types have a sharding."""
    return any([sharding_of(aval) is not None for aval in avals])


def has_explicit_axes(sharding: object) -> TypeGuard[NamedSharding]:
    """Returns whether `sharding` is a sharding on a mesh with Explicit axes."""
    return isinstance(sharding, NamedSharding) and AxisType.Explicit in sharding.mesh.axis_types


@overload
def typed(aval: ShapedArray, sharding: object) -> ShapedArray: ...
@overload
def typed(aval: AbstractValue, sharding: object) -> AbstractValue: ...
def typed(aval: AbstractValue, sharding: object) -> AbstractValue:
    """Returns `aval` with `sharding`, or without a sharding if `sharding` has no Explicit axes."""
    if not isinstance(aval, ShapedArray):
        return aval
    if has_explicit_axes(sharding):
        return aval.update(
            sharding=sharding.update(mesh=sharding.mesh.abstract_mesh, memory_kind=None)
        )
    return aval if aval.has_default_place else aval.update(sharding=None)


def place_of(aval: AbstractValue, mesh: Mesh | None = None) -> NamedSharding | None:
    """Returns the sharding, with devices, of values of this type; None if the type has none.

    A type has only an abstract mesh. The devices are those of `mesh`, or else of the context mesh,
    or else of the mesh with these axes that was created last.
    """
    sharding = sharding_of(aval)
    if sharding is None:
        return None
    axes = sharding.mesh.abstract_mesh
    known = [m for m in (mesh, get_mesh(), last_created.get(axes.shape_tuple)) if m is not None]
    # Axes may be of other types within `auto_axes`, and other axes within `use_abstract_mesh`.
    for fits in (_same_axes, _same_size):
        for one in known:
            if fits(one, axes):
                return sharding.update(mesh=with_axes_of(one, axes))
    raise ValueError(
        f"{aval.str_short()} is on {axes}, and no known mesh has "
        f"{messages.counted(axes.size, 'device')}"
    )


def _same_axes(mesh: Mesh, axes: AbstractMesh) -> bool:
    return mesh.shape_tuple == axes.shape_tuple


def _same_size(mesh: Mesh, axes: AbstractMesh) -> bool:
    return mesh.size == axes.size


class _Rewriting(threading.local):
    """Whether this thread is rewriting a program.

    In that case, the program determines the shardings of its values, and the context mesh is
    ignored.
    """

    is_on = False


rewriting = _Rewriting()


def as_written() -> Within:
    """Returns a context in which results are on a mesh only if operands are."""
    return Within(rewriting, ("is_on",), (True,))


def on_context_mesh(aval: AbstractValue) -> AbstractValue:
    """Returns the type of a result of operands that are not on a mesh.

    The result is on the context mesh, if that has Explicit axes and no Manual ones.
    """
    if not isinstance(aval, ShapedArray) or not aval.sharding.mesh.empty or rewriting.is_on:
        return aval
    mesh = get_abstract_mesh()
    if AxisType.Explicit not in mesh.axis_types or AxisType.Manual in mesh.axis_types:
        return aval
    return aval.update(sharding=NamedSharding(mesh, PartitionSpec()))


@cache
def whole_on(mesh: Mesh, ndim: int) -> NamedSharding:
    """Returns the replicated sharding of uncommitted results while `mesh` is the context mesh."""
    is_typed = AxisType.Explicit in mesh.axis_types
    return NamedSharding(mesh, PartitionSpec(*[None] * ndim if is_typed else ()))


def without(primitive: Primitive, avals: Sequence[AbstractValue]) -> Sequence[AbstractValue]:
    """Returns `avals` without shardings, for type rules that do not support them."""
    rule = primitive.rules.get("sharding")
    if primitive.declares_sharding or (rule is None and primitive.called is not None):
        return avals
    return [aval if sharding_of(aval) is None else typed(aval, None) for aval in avals]


def requested_sharding(params: dict[str, Any]) -> NamedSharding | None:
    """Returns the sharding of the result that the parameters of an operation specify, or None."""
    sharding = params.get("sharding")
    if sharding is None:
        sharding = params.get("out_sharding")
    return if_explicit(on_mesh(sharding))


def on_mesh(sharding: T) -> T | NamedSharding:
    """Returns `sharding`; binds a PartitionSpec to the context mesh."""
    return (
        NamedSharding(mesh_of_specs(), sharding)
        if isinstance(sharding, PartitionSpec)
        else sharding
    )


def if_explicit(sharding: object) -> NamedSharding | None:
    """Returns `sharding` if it is a sharding on a mesh with Explicit axes, else None."""
    if not isinstance(sharding, NamedSharding) or AxisType.Explicit not in sharding.mesh.axis_types:
        return None
    return sharding


def like_factor_of(ct: AbstractValue, aval: AbstractValue) -> NamedSharding | None:
    """Returns the sharding for a scalar without a mesh that multiplies a cotangent of type `ct`.

    If the cotangent is unreduced, the scalar is reduced: it is the same on all devices.
    """
    if getattr(aval, "shape", ()) or sharding_of(aval) is not None:
        return None
    own = sharding_of(ct)
    if own is None or not own.spec.unreduced:
        return None
    return NamedSharding(own.mesh, PartitionSpec(reduced=own.spec.unreduced))


def equally_sharded(a: AbstractValue, b: AbstractValue) -> bool:
    """Returns whether two types have equal shardings; no mesh counts as replicated."""
    if a is b:
        return True
    x, y = sharding_of(a), sharding_of(b)
    if x is None and y is None:
        return True
    ndim = len(getattr(a, "shape", ()))
    return entries_of(x, ndim) == entries_of(y, ndim) and _sums_of(x) == _sums_of(y)


def _sums_of(sharding: NamedSharding | None) -> tuple[frozenset[Hashable], frozenset[Hashable]]:
    return (
        (frozenset(), frozenset())
        if sharding is None
        else (sharding.spec.unreduced, sharding.spec.reduced)
    )


def permuted(sharding: NamedSharding | None, axes: Sequence[int]) -> NamedSharding | None:
    """Returns the sharding of an array after its axes are permuted to the order `axes`."""
    if sharding is None:
        return None
    entries = entries_of(sharding, len(axes))
    return sharding.update(spec=PartitionSpec(*[entries[k] for k in axes]))


def place_of_cotangent(aval: AbstractValue, *others: AbstractValue) -> NamedSharding | None:
    """Returns the sharding of cotangents of values of this type.

    Values that are not on a mesh have replicated cotangents, on the mesh of `others`.
    """
    own = sharding_of(aval.to_cotangent_aval())
    if own is not None:
        return own
    meshes = [sharding.mesh for sharding in map(sharding_of, others) if sharding is not None]
    return NamedSharding(meshes[0], PartitionSpec(*[None] * aval.ndim)) if meshes else None


def batched(sharding: object, dim: int, names: tuple[Any, ...] = ()) -> object:
    """Returns the parameter `sharding` of an operation for its batched form.

    Args:
      sharding: the parameter.
      dim: the batch dimension of the result.
      names: the mesh axes along which the batch is sharded (`names_along`).
    """
    if isinstance(sharding, NamedSharding):
        return sharding.update(spec=batched(sharding.spec, dim, names))
    if not isinstance(sharding, PartitionSpec):
        return sharding
    entries = (*sharding, *[None] * (dim - len(sharding)))
    return sharding.update(partitions=(*entries[:dim], names or None, *entries[dim:]))


def names_along(aval: AbstractValue, dim: int | None) -> tuple[Hashable, ...]:
    """Returns the mesh axes along which axis `dim` of arrays of this type is sharded."""
    sharding = sharding_of(aval)
    return () if sharding is None or dim is None else names_of(sharding.spec[dim])


def common_sharding(
    api_name: str, xs: Sequence[Any], dims: Sequence[int | None], spmd_name: object
) -> NamedSharding | None:
    """Returns the sharding of an axis that arrays have in common, as that of an array of rank 1.

    Args:
      api_name: the transformation that maps the axis.
      xs: the arrays.
      dims: the position of the axis in each array; None for arrays without it.
      spmd_name: the mesh axes along which it is sharded (the user's `spmd_axis_name`); None if the
        user did not pass any.

    Raises:
      ValueError: if the arrays are sharded differently along the axis, or not as `spmd_name`
        specifies.
    """
    avals = [get_aval(x) if d is not None else None for x, d in zip(xs, dims, strict=True)]
    shardings = {
        names_along(aval, d): sharding_of(aval)
        for aval, d in zip(avals, dims, strict=True)
        if isinstance(aval, ShapedArray)
    }
    if len(shardings) > 1:
        listed = ", ".join([
            f"{aval.str_short()} along axis {d}"
            for aval, d in zip(avals, dims, strict=True) if aval is not None
        ])  # fmt: skip
        raise ValueError(
            f"{api_name}: mapped axes must have the same sharding, but the operands are {listed}; "
            "reshard some of them with jax.reshard"
        )
    ((names, sharding),) = shardings.items() or (((), None),)
    if not names or sharding is None:
        return None
    spmd_axes = () if spmd_name is None else names_of(spmd_name)
    if config.remove_size_one_mesh_axis_from_type.value:
        spmd_axes = tuple([name for name in spmd_axes if sharding.mesh.shape[name] != 1])
    if spmd_name is not None and spmd_axes != names:
        raise ValueError(
            f"{api_name}: spmd_axis_name must agree with the sharding of the mapped axis, but "
            f"spmd_axis_name is {spmd_name!r} and the arrays are sharded along {names}; omit "
            "spmd_axis_name"
        )
    return sharding.update(spec=PartitionSpec(names))


def of_results(
    primitive: Primitive,
    name: str,
    avals: Sequence[AbstractValue],
    params: dict[str, Any],
    results: Any,
) -> ResultTypes:
    """Returns the types of the results of an operation, with shardings.

    Args:
      primitive: the operation.
      name: its name.
      avals: the types of its operands, some of them with shardings.
      params: its parameters.
      results: the result type, or list of types, that its type rule returned.

    Raises:
      ShardingTypeError: if the operation has no rule for operands with these shardings.
    """
    rule = primitive.rules.get("sharding")
    if primitive.declares_sharding or (rule is None and primitive.called is not None):
        return results
    outs: list[AbstractValue] = list(results) if primitive.multiple_results else [results]
    out_sharding = requested_sharding(params)
    shardings = [sharding_of(aval) for aval in avals]
    if out_sharding is not None:
        check = primitive.rules.get("checks_place")
        if check is not None and not rewriting.is_on:
            check(
                _operation(name, out_sharding.mesh.abstract_mesh, avals, shardings, params, outs),
                out_sharding,
            )
        outs = [typed(out, out_sharding) for out in outs]
        return outs if primitive.multiple_results else outs[0]
    meshes = {s.mesh.abstract_mesh for s in shardings if s is not None}
    if len(meshes) > 1:
        listed = " and ".join(sorted([mesh.short_text() for mesh in meshes]))
        raise ShardingTypeError(f"{name} got operands on different meshes: {listed}")
    (mesh,) = meshes
    operation = _operation(name, mesh, avals, shardings, params, outs)
    specs = (rule or by_shapes)(operation)
    _check_divided_once(operation, specs)
    sums = _sums(primitive, operation)
    outs = [
        _along(out, mesh, entries, sums) if isinstance(out, ShapedArray) else out
        for out, entries in zip(outs, specs, strict=True)
    ]
    return outs if primitive.multiple_results else outs[0]


def _check_divided_once(operation: Operation, specs: Sequence[Entries]) -> None:
    """Raises ShardingTypeError if a result would be sharded along a mesh axis twice."""
    for entries in specs:
        names = [name for entry in entries for name in entry]
        if len(set(names)) < len(names):
            lie = ", ".join([str(PartitionSpec(*spec)) for spec in operation.specs])
            operation.refuse(
                f"{operation.name}: two axes of the result would be sharded along the same mesh "
                f"axis, because the operands have the shardings {lie}"
            )


def _operation(
    name: str,
    mesh: AbstractMesh,
    avals: Sequence[AbstractValue],
    shardings: Sequence[NamedSharding | None],
    params: dict[str, Any],
    outs: Sequence[AbstractValue],
) -> Operation:
    specs = [
        entries_of(s, len(getattr(aval, "shape", ())))
        for s, aval in zip(shardings, avals, strict=True)
    ]
    shapes = [getattr(out, "shape", ()) for out in outs]
    return Operation(name, mesh, avals, specs, params, shapes)


def _sums(
    primitive: Primitive, operation: Operation
) -> tuple[frozenset[Hashable], frozenset[Hashable]]:
    """Returns the mesh axes along which results are unreduced, and reduced: see `sums`."""
    shardings = [sharding_of(aval) for aval in operation.avals]
    specs = [None if s is None else s.spec for s in shardings]
    if not any([spec is not None and (spec.unreduced or spec.reduced) for spec in specs]):
        return frozenset(), frozenset()
    linearity = primitive.linearity
    has_terms = any([spec is not None and spec.unreduced for spec in specs])
    counts_numbers = linearity.mistakes_numbers and has_terms
    operands: list[ManualAxisType | None] = []
    for aval, spec in zip(operation.avals, specs, strict=True):
        if spec is not None:
            names = [name for entry in spec for name in names_of(entry)]
            operands.append(
                ManualAxisType(varying=names, unreduced=spec.unreduced, reduced=spec.reduced)
            )
        elif isinstance(aval, ShapedArray) and (aval.shape or counts_numbers):
            operands.append(ManualAxisType())
        else:
            operands.append(None)  # scalars on no mesh are constants
    return sums.of_result(
        linearity, operation.name, operands, operation.refuse, contractions_gather=True
    )


def entries_of(sharding: NamedSharding | None, ndim: int) -> Entries:
    """Returns, for each axis of an array, the mesh axes along which it is sharded."""
    if sharding is None:
        return ((),) * ndim
    named = [names_of(entry) for entry in sharding.spec]
    return (*named[:ndim], *[()] * (ndim - len(named)))


def _along(
    aval: ShapedArray,
    mesh: AbstractMesh,
    entries: Entries,
    sums: tuple[frozenset[Any], frozenset[Any]],
) -> ShapedArray:
    own = {name for names in entries for name in names}
    spec = PartitionSpec(*entries, unreduced=sums[0] - own, reduced=sums[1] - own)
    return aval.update(sharding=NamedSharding(mesh, spec))


# --- rules that many operations share ---------------------------------------------------------------


def by_index_map(
    index_map: Callable[[Operation], IndexMap], *, needs: str = "complete axes"
) -> Callable[[Operation], list[Entries]]:
    """Returns the sharding rule of an operation whose axes relate as an index map states.

    An axis of a result is sharded like the operands' axes with the same factor; operands that are
    replicated along it are moved. The rule rejects operands that are sharded differently along a
    factor, or along a replicated factor, or along an axis that has no factor, and mesh axes that
    shard two factors, unless results are partial sums along one of them.

    Args:
      index_map: operation -> its index map, in which axes have at most one factor.
      needs: what the operation needs to be unsharded, for error messages.
    """

    def rule(operation: Operation) -> list[Entries]:
        related = index_map(operation)
        shards: dict[int, tuple[Any, ...]] = {}  # factor -> the mesh axes that shard it
        where: dict[int, str] = {}  # factor -> the first axis that is sharded along it
        owners: dict[Hashable, int] = {}  # mesh axis -> the factor that it shards
        for here, factors, names in _sharded_axes(operation, related):
            if not factors or factors[0] in related.replicated:
                operation.refuse(
                    f"{operation.name} needs {needs}: {here} cannot be sharded, but is sharded along "
                    f"{names}"
                )
            (factor,) = factors
            if shards.setdefault(factor, names) != names:
                operation.refuse(
                    f"{operation.name}: {where[factor]} is sharded along {shards[factor]}, but "
                    f"{here}, which corresponds to it, along {names}"
                )
            where.setdefault(factor, here)
            for name in () if factor in related.reduced else names:
                if owners.setdefault(name, factor) != factor:
                    operation.refuse(
                        f"{operation.name}: {where[owners[name]]} and {here} are sharded along the "
                        f"same mesh axis, {name!r}"
                    )
        return [
            tuple([shards.get(factors[0], ()) if factors else () for factors in dims])
            for dims in related.results
        ]

    return rule


def _sharded_axes(
    operation: Operation, related: IndexMap
) -> Iterator[tuple[str, tuple[int, ...], tuple[Any, ...]]]:
    """Yields, for each sharded axis of an operand, its name in messages, factors and mesh axes."""
    for k, (dims, spec) in enumerate(zip(related.operands, operation.specs, strict=True)):
        of_operand = f" of operand {k}" if len(operation.avals) > 1 else ""
        for axis, (factors, names) in enumerate(zip(dims, spec, strict=True)):
            if names:
                yield f"axis {axis}{of_operand}", factors, names


def by_shapes(operation: Operation) -> list[Entries]:
    """Returns the shardings of results for operations without a rule.

    Such an operation is treated as elementwise if its shapes permit that; otherwise its operands
    must not be sharded.
    """
    specs: list[Entries] = []
    for shape in operation.shapes:
        if _is_elementwise(operation, shape):
            specs.append(elementwise(operation, shape))
        elif any([any(spec) for spec in operation.specs]):
            operation.refuse(f"{operation.name} has no rule for sharded operands")
        else:
            specs.append(((),) * len(shape))
    return specs


def _is_elementwise(operation: Operation, shape: tuple[int, ...]) -> bool:
    shapes = [getattr(aval, "shape", ()) for aval in operation.avals]
    return all([
        not s or (len(s) == len(shape) and all([a in (1, b) for a, b in zip(s, shape, strict=True)]))
        for s in shapes
    ])  # fmt: skip


def elementwise(operation: Operation, shape: tuple[int, ...]) -> Entries:
    """Returns the sharding of the result of an elementwise operation.

    Operands that are sharded along an axis must agree on it; others may be replicated.
    """
    out: list[tuple[Any, ...]] = []
    used: dict[Any, int] = {}
    for axis in range(len(shape)):
        entries = {spec[axis] for spec in operation.specs if len(spec) == len(shape) and spec[axis]}
        names = entries.pop() if entries else ()
        if entries or any([used.setdefault(name, axis) != axis for name in names]):
            listed = ", ".join([repr(PartitionSpec(*spec)) for spec in operation.specs])
            operation.refuse(
                f"{operation.name}: operands must be sharded along the same mesh axes at axis "
                f"{axis}, and no other axis may be sharded along these, but the shardings are "
                f"{listed}"
            )
        out.append(names)
    return tuple(out)
