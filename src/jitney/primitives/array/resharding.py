"""`reshard` along Explicit mesh axes, and sharding constraints along Auto axes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.program import text
from jitney.core.program.key_reuse import uses_keys
from jitney.core.sharding.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    entered_mesh,
    get_abstract_mesh,
    get_mesh,
    mesh_of_specs,
    with_axes_of,
)
from jitney.core.sharding.named import NamedSharding, asks_nothing, constraint, with_free_axes
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding.sharding import Sharding, device_ids
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing import communication
from jitney.core.tracing.communication import Communication
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval
from jitney.primitives import rules
from jitney.runtime.arrays.array import ArrayImpl, array_of
from jitney.runtime.execution.placements import settled
from jitney.transforms import jet
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import JaxprEqn
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )
    from jitney.transforms.batch import AxisData


def as_mesh(sharding: Sharding) -> Mesh:
    """Returns the device mesh of `sharding`, or the context mesh if `sharding` has no devices."""
    mesh = sharding.mesh if isinstance(sharding, NamedSharding) else None
    return mesh if isinstance(mesh, Mesh) else get_mesh()


def as_named(sharding: object, api_name: str) -> NamedSharding:
    """Converts the option `out_sharding` of a function to a NamedSharding along Explicit axes.

    Raises:
      ValueError: if the option is a PartitionSpec and there is no context mesh; if it is a
        NamedSharding on a mesh other than the context mesh; if it names axes that are not Explicit;
        or if it has a memory kind on an AbstractMesh.
      TypeError: if the option is neither a NamedSharding nor a PartitionSpec.
    """
    if isinstance(sharding, PartitionSpec):
        sharding = sharding_on_context_mesh(sharding, "out_sharding")
    if not isinstance(sharding, NamedSharding):
        raise TypeError(
            f"{api_name}: out_sharding must be a NamedSharding or PartitionSpec, not {sharding!r}"
        )
    if isinstance(sharding.mesh, AbstractMesh) and sharding.memory_kind is not None:
        raise ValueError(
            f"{api_name}: out_sharding must not have a memory kind, but is {sharding}; use "
            "jax.device_put to move arrays between memories"
        )
    axes = get_abstract_mesh()
    if not (axes.empty or axes.manual_axes or axes == sharding.mesh.abstract_mesh):
        raise ValueError(
            f"{api_name}: out_sharding is on {sharding.mesh.abstract_mesh}, but the context mesh is "
            f"{axes}; use a PartitionSpec, which always refers to the context mesh"
        )
    check_explicit(sharding, api_name)
    return sharding


def check_explicit(sharding: NamedSharding, api_name: str) -> None:
    """Raises ValueError unless all mesh axes that `sharding` names are Explicit."""
    kinds = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    for entry in sharding.spec:
        for name in () if entry is PartitionSpec.UNCONSTRAINED else names_of(entry):
            if kinds[name] is not AxisType.Explicit:
                raise ValueError(
                    f"{api_name}: the axes of {sharding.spec} must be of type Explicit, but {name} is "
                    f"of type {kinds[name]}"
                )


def sharding_on_context_mesh(spec: PartitionSpec, api_name: str) -> NamedSharding:
    """Returns the NamedSharding of `spec` on the context mesh (`jax.set_mesh`).

    Raises:
      ValueError: if there is no context mesh.
    """
    mesh = mesh_of_specs()
    if mesh.empty:
        raise ValueError(
            f"{api_name}={spec}: a PartitionSpec refers to the context mesh, but none is set; set "
            "one with `jax.set_mesh`"
        )
    return NamedSharding(mesh, spec)


# --- moves along Explicit axes ------------------------------------------------------------------

reshard_p = declare("reshard", linear=True)
reshard_p.declares_sharding = True


@reshard_p.communication
def _reshard_communication(
    avals: Sequence[AbstractValue], outs: Sequence[AbstractValue], params: Mapping[str, Any]
) -> list[Communication]:
    old, new = _axes_by_name(avals[0]), _axes_by_name(outs[0])
    moved = frozenset([name for name in old if new.get(name, old[name]) != old[name]])
    at_another_axis = Communication(moved, "moves them to another axis of the array")
    return [*communication.of_types(avals, outs, params), at_another_axis]


def _axes_by_name(aval: AbstractValue) -> dict[Hashable, int]:
    """Returns a dict from the mesh axes along which an array is sharded to the array axes."""
    sharding = explicit.sharding_of(aval)
    entries = () if sharding is None else sharding.spec
    return {name: k for k, entry in enumerate(entries) for name in names_of(entry)}


@reshard_p.abstract
def _reshard_abstract(
    x: ShapedArray, *, dst_sharding: NamedSharding, concrete_mesh: object
) -> ShapedArray:
    return explicit.typed(x, dst_sharding)


@reshard_p.def_impl
def _reshard_def_impl(x: Value, *, dst_sharding: NamedSharding, concrete_mesh: object) -> Array:
    array = x if isinstance(x, ArrayImpl) else array_of(np.asarray(x))
    if asks_nothing(dst_sharding):
        return settled(array)
    mesh = dst_sharding.mesh if isinstance(dst_sharding.mesh, Mesh) else None
    sharding = explicit.place_of(explicit.typed(array.aval, dst_sharding), mesh)
    return array.placed(sharding or dst_sharding)


reshard_p.absent("eager", why="arrays are moved, not computed")


@reshard_p.lower
def _reshard_lower(
    b: Builder, x: Node, *, dst_sharding: NamedSharding, concrete_mesh: object
) -> Node:
    is_open = bool(
        dst_sharding.mesh.auto_axes
    )  # shardings along Auto axes are chosen by the compiler
    return b.sharding_constraint(x, constraint(dst_sharding, len(x.shape), is_open=is_open))


@reshard_p.jvp
def _reshard_jvp(primals: Primals, tangents: Tangents, **params: object) -> tuple[Value, Tangent]:
    (x,), (t,) = primals, tangents
    out = reshard_p.bind(x, **params)
    if isinstance(t, Zero):
        return out, rules.zero_tangent(out)
    return out, reshard_p.bind(t, **params)


reshard_p.jet(jet.linear(reshard_p))


@reshard_p.transpose
def _reshard_transpose(ct: Cotangent, x: Operand, **_: object) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [ct]
    aval = rules.aval_of(x).to_cotangent_aval()
    if not explicit.is_explicit((aval, rules.aval_of(ct))):
        return [ct]
    assert isinstance(aval, ShapedArray), aval
    return [reshard(ct, aval.sharding)]  # has no mesh if the operand has none


@reshard_p.batch_with_axis
def _reshard_batch_with_axis(
    axis: AxisData, args: Primals, dims: Dims, *, dst_sharding: NamedSharding, **params: object
) -> tuple[Value, BatchDim]:
    (x,), (dim,) = args, dims
    sharding = dst_sharding
    if dim is not None:
        along = axis.along
        names = explicit.names_along(rules.aval_of(x), dim)
        if not names and along is not None and along.mesh.shape_tuple == sharding.mesh.shape_tuple:
            names = names_of(along.spec[0])  # within `auto_axes`, types do not have these names
        sharding = explicit.batched(dst_sharding, dim, names)
    return reshard_p.bind(x, dst_sharding=sharding, **params), dim


def _print_reshard(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    return text.eqn_with_params(eqn, [], context, settings)  # the result's type shows the sharding


text.printing_rules["reshard"] = _print_reshard


def reshard(x: Value, sharding: NamedSharding) -> Array:
    """Returns the array `x` with `sharding`."""
    return reshard_p.bind(x, dst_sharding=sharding, concrete_mesh=None)


def replicated_along(x: Array, axis: int) -> Array:
    """Returns `x` replicated along `axis`, with the shardings of other axes unchanged."""
    aval = get_aval(x)
    sharding = explicit.sharding_of(aval)
    if sharding is None or not explicit.names_along(aval, axis):
        return x
    entries = [None if k == axis else entry for k, entry in enumerate(sharding.spec)]
    spec = sharding.spec.update(partitions=entries)
    return reshard(x, sharding.update(spec=spec))


# --- constraints --------------------------------------------------------------------------------


class _NoMesh:
    def __repr__(self) -> str:
        return "Mesh()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NoMesh)

    def __hash__(self) -> int:
        return 0


sharding_constraint_p = declare("sharding_constraint", linear=True)
sharding_constraint_p.declares_sharding = True  # of Auto axes, which types do not include


@sharding_constraint_p.abstract
def _sharding_constraint_abstract(x: ShapedArray, **_: object) -> ShapedArray:
    return x


@sharding_constraint_p.def_impl
def _sharding_constraint_def_impl(
    x: Value, *, sharding: Sharding, unconstrained_dims: frozenset[int] = frozenset(), **_: object
) -> ArrayImpl:
    array = x if isinstance(x, ArrayImpl) else array_of(np.asarray(x))
    place = _on_devices_of(array, sharding)
    if unconstrained_dims and isinstance(place, NamedSharding):
        place = with_free_axes(place, array.placement, np.ndim(array), unconstrained_dims)
    return array.placed(place)


sharding_constraint_p.absent("eager", why="arrays are moved, not computed")


@sharding_constraint_p.lower
def _sharding_constraint_lower(
    b: Builder, x: Node, *, sharding: Sharding, unconstrained_dims: frozenset[int], **_: object
) -> Node:
    return divided(b, x, sharding, unconstrained_dims)


def divided(b: Builder, x: Node, sharding: object, free: frozenset[int] = frozenset()) -> Node:
    """Constrains node `x` to a NamedSharding, except along the axes in `free`.

    Shardings of other classes have no effect.
    """
    if not isinstance(sharding, NamedSharding):
        return x
    return b.sharding_constraint(x, constraint(sharding, len(x.shape), free))


rules.deflinear(
    sharding_constraint_p, lambda ct, x, **params: sharding_constraint_p.bind(ct, **params)
)


@sharding_constraint_p.batch_with_axis
def _sharding_constraint_batch_with_axis(
    axis: AxisData, args: Primals, dims: Dims, *, sharding: Sharding,
    unconstrained_dims: frozenset[int], **params: object,
) -> tuple[Value, BatchDim]:  # fmt: skip
    (x,), (dim,) = args, dims
    free = unconstrained_dims
    if dim is not None:
        names = axis.spmd_name
        sharding = _with_batch(sharding, dim, names)
        free = frozenset([k + (k >= dim) for k in free] + [dim] * (names is None))
    return sharding_constraint_p.bind(x, sharding=sharding, unconstrained_dims=free, **params), dim


def _with_batch(sharding: Sharding, dim: int, names: object) -> Sharding:
    """Inserts an axis at `dim`, sharded along `names`; None leaves it unconstrained.

    Raises:
      ValueError: if `names` is given and `sharding` is not a NamedSharding, or uses these names
        already.
    """
    if not isinstance(sharding, NamedSharding):
        if names is None:
            return sharding
        raise ValueError(
            "with_sharding_constraint: within jax.vmap(spmd_axis_name=), a constraint must be a "
            f"NamedSharding or, within jax.set_mesh, a PartitionSpec, but is {sharding!r} of type "
            f"{type(sharding).__name__}"
        )
    used = {name for entry in sharding.axes(len(sharding.spec)) for name in entry or ()}
    if names is not None and used.intersection(names_of(names)):
        raise ValueError(
            f"vmap has spmd_axis_name={names!r}, along which the mapped axis is sharded, but a "
            f"constraint within the function shards another axis along it: {sharding.spec}"
        )
    entries = (*sharding.spec, *[None] * (dim - len(sharding.spec)))
    new: Any = PartitionSpec.UNCONSTRAINED if names is None else names
    return sharding.update(
        spec=sharding.spec.update(partitions=(*entries[:dim], new, *entries[dim:]))
    )


def sharding_constraint(x: Array, sharding: object) -> Array:
    """Constrains the array `x` to a Sharding, or to a PartitionSpec on the context mesh.

    If all axes of the context mesh are Explicit, the function only checks that the type of `x` has
    this sharding.

    Raises:
      RuntimeError: if `sharding` is a PartitionSpec and there is no context mesh.
      TypeError: if `sharding` is not a sharding, or if it is on an AbstractMesh and `x` is a
        concrete array that is not on a mesh.
      ValueError: if `sharding` is None, or shards an axis along a mesh axis that is not Auto.
      AssertionError: if all mesh axes are Explicit, and the type of `x` has another sharding.
    """
    sharding = _requested(sharding)
    if isinstance(sharding, NamedSharding):
        manual = get_abstract_mesh().manual_axes
        wrong = [name for entry in sharding.spec for name in names_of(entry) if name in manual]
        if wrong:
            raise ValueError(
                f"with_sharding_constraint within a shard_map over {manual}: {sharding.spec} "
                f"mentions the manual axes {wrong}, along which the shard_map shards arrays already; "
                "a constraint can mention only other axes"
            )
    try:
        sharding.check_compatible_aval(np.shape(x))
    except ValueError as error:
        raise ValueError(
            "One of with_sharding_constraint arguments is incompatible with its sharding annotation: "
            f"{error}"
        ) from None
    if isinstance(sharding, NamedSharding):
        axes = get_abstract_mesh()
        if axes.are_all_axes_explicit:
            _check_sharding(x, sharding)
            return x
        _check_is_auto(sharding)
    if isinstance(x, ArrayImpl):
        sharding = _on_devices_of(x, sharding)
    return sharding_constraint_p.bind(
        x,
        sharding=sharding,
        layout=None,
        context_mesh=_NoMesh(),
        unconstrained_dims=_unconstrained(sharding),
    )


def _requested(sharding: object) -> Sharding:
    if isinstance(sharding, PartitionSpec):
        axes, entered = get_abstract_mesh(), entered_mesh()
        mesh = entered if axes.empty else axes
        if mesh.empty:
            raise RuntimeError(
                f"with_sharding_constraint: {sharding} refers to the context mesh, but none is set; "
                "set one with jax.set_mesh, or pass a NamedSharding, which includes a mesh"
            )
        return NamedSharding(mesh, sharding)
    if sharding is None:
        raise ValueError(
            "with_sharding_constraint got sharding None, which has no effect: omit the call for "
            "this value, or pass a Sharding or a PartitionSpec"
        )
    if not isinstance(sharding, Sharding):
        raise TypeError(
            f"with_sharding_constraint takes a Sharding or PartitionSpec, but got {sharding!r}"
        )
    return sharding


def _check_sharding(x: Value, sharding: NamedSharding) -> None:
    """Raises AssertionError unless the type of `x` has `sharding`."""
    ndim, aval = np.ndim(x), rules.aval_of(x)
    current = explicit.sharding_of(aval)
    required = explicit.sharding_of(explicit.typed(aval, sharding))
    if explicit.entries_of(current, ndim) != explicit.entries_of(required, ndim):
        spec = PartitionSpec(*[None] * ndim) if current is None else current.spec
        raise AssertionError(
            "all axes of the context mesh are Explicit, so `with_sharding_constraint` acts as an "
            f"assertion: the sharding in the type of the value is {spec}, but the constraint is "
            f"{sharding.spec}; use jax.sharding.reshard to change the sharding"
        )


def _check_is_auto(sharding: NamedSharding) -> None:
    kinds = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types, strict=True))
    for names in sharding.axes(len(sharding.spec)):
        for name in names or ():
            if kinds[name] is AxisType.Explicit:
                raise ValueError(
                    f"with_sharding_constraint constrains values along Auto axes, but {sharding.spec} "
                    f"has {name!r} of {sharding.mesh}, whose type is {kinds[name]}; use "
                    "jax.sharding.reshard to change shardings along such axes"
                )


def _on_devices_of(x: ArrayImpl, sharding: Sharding) -> Sharding:
    """Returns `sharding`, with the mesh that `_mesh_under` returns in place of an abstract mesh.

    Raises:
      ValueError: if `x` is committed to other devices, or has a mesh with other axes.
      TypeError: if no mesh with devices is known.
    """
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh):
        sharding = sharding.update(mesh=_mesh_under(x, sharding))
    if x.placement is not None:
        _check_same_devices(x, x.placement, sharding)
    return sharding


def _mesh_under(x: ArrayImpl, sharding: NamedSharding) -> Mesh:
    """Returns the device mesh for a `sharding` on an AbstractMesh.

    It is the mesh of `x`, or, if `x` is not on a mesh, the context mesh.
    """
    current = x.placement
    if not isinstance(current, NamedSharding):
        mesh = get_mesh()
        if not mesh.empty and mesh.size == sharding.mesh.size:
            return with_axes_of(mesh, sharding.mesh.abstract_mesh)
        raise TypeError(
            f"with_sharding_constraint: {sharding} has no devices, so they are taken from the "
            f"input, whose sharding must be a NamedSharding, but {x.aval.str_short()} is on "
            f"{x.sharding}"
        )
    mesh = current.mesh
    assert isinstance(mesh, Mesh)
    if mesh.shape_tuple != sharding.mesh.shape_tuple:
        raise ValueError(
            f"with_sharding_constraint: {x.aval.str_short()} is on a mesh with axes "
            f"{mesh.shape_tuple}, but the mesh of the constraint has {sharding.mesh.shape_tuple}; both "
            "must have the same axes"
        )
    return mesh


def _check_same_devices(x: ArrayImpl, current: Sharding, sharding: Sharding) -> None:
    if current.device_order != sharding.device_order:
        raise ValueError(
            f"Received incompatible devices for jitted computation: {x.aval.str_short()} is on "
            f"device ids {device_ids(current)}, but the constraint is on {device_ids(sharding)}; use "
            "jax.device_put to move arrays between devices"
        )


def _unconstrained(sharding: Sharding) -> frozenset[int]:
    entries = sharding.spec if isinstance(sharding, NamedSharding) else ()
    free = PartitionSpec.UNCONSTRAINED
    return frozenset([k for k, entry in enumerate(entries) if entry is free])


uses_keys(sharding_constraint_p, forwards=True)
