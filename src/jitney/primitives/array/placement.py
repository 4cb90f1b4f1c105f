"""Placement of values: operations that return their operands, in another place."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core import explicit, text, varying
from jitney.core.avals import ShapedArray
from jitney.core.key_reuse import KeyUse, uses_keys
from jitney.core.primitive import declare
from jitney.core.pvary import as_type
from jitney.core.shape_dtype import ShapeDtypeStruct, abstractify
from jitney.core.sharding.mesh import (
    AbstractMesh,
    AxisType,
    Mesh,
    entered_mesh,
    get_abstract_mesh,
    get_mesh,
    made,
    mesh_of_specs,
    with_axes_of,
)
from jitney.core.sharding.named import NamedSharding, asks_nothing, constraint, with_free_axes
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding.sharding import Sharding, device_ids
from jitney.core.trace import Tracer
from jitney.primitives import rules
from jitney.runtime.array import ArrayImpl, array_of
from jitney.runtime.placements import settled
from jitney.runtime.sharding import as_sharding
from jitney.transforms import jet
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.array import Array
    from jitney.core.avals import AbstractValue
    from jitney.core.jaxpr import JaxprEqn
    from jitney.primitives.rule_types import (
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangents,
        Value,
    )
    from jitney.transforms.batch import AxisData


class ArrayCopySemantics(enum.Enum):
    """What may become of the operand's memory."""

    REUSE_INPUT = 0
    ALWAYS_COPY = 1
    DONATE_INPUT = 2

    def __repr__(self) -> str:
        return str(self)


device_put_p = declare("device_put", multiple_results=True, linear=True)
device_put_p.varying(varying.as_declared)


@device_put_p.abstract
def _(
    *avals: ShapedArray, devices: object, srcs: object, copy_semantics: object
) -> list[ShapedArray]:
    return list(avals)


@device_put_p.def_impl
def _(*xs: Value, devices: Sequence[Any], srcs: object, copy_semantics: object) -> list[Any]:
    arrays = [x if isinstance(x, ArrayImpl) else array_of(np.asarray(x)) for x in xs]
    return [
        x if place is None else x.placed(_place_of(place))
        for x, place in zip(arrays, devices, strict=True)
    ]


def _place_of(place: object) -> Sharding:
    if isinstance(place, PartitionSpec):
        place = on_mesh_in_force(place, "device_put: device")
    return as_sharding(place)


device_put_p.absent("eager", why="arrays are put elsewhere, not computed")


@device_put_p.lower
def _(b: Builder, *xs: Node, devices: object, srcs: object, copy_semantics: object) -> list[Any]:
    return list(xs)


@device_put_p.jvp
def _(primals: Primals, tangents: Tangents, **params: object) -> tuple[Any, Any]:
    moved = device_put_p.bind(*primals, **params)
    # Cotangents go back to where operands are.
    here = [x.placement if isinstance(x, ArrayImpl) else None for x in primals]
    srcs: Any = params["srcs"]
    params["srcs"] = tuple([own or x for own, x in zip(srcs, here, strict=True)])
    return moved, device_put_p.bind(*[instantiate(t) for t in tangents], **params)


device_put_p.jet(jet.linear(device_put_p))


@device_put_p.transpose
def _(
    cts: Sequence[Cotangent],
    *xs: Operand,
    devices: Sequence[object],
    srcs: Sequence[object],
    copy_semantics: Sequence[object],
) -> list[Any]:
    known = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
    given: list[Any] = [cts[i] for i in known]
    back = device_put_p.bind(
        *given,
        devices=tuple([srcs[i] for i in known]),
        srcs=tuple([devices[i] for i in known]),
        copy_semantics=tuple([copy_semantics[i] for i in known]),
    )
    out = list(cts)
    for i, ct in zip(known, back, strict=True):
        out[i] = ct
    return out


@device_put_p.batch
def _(args: Primals, dims: Dims, **params: object) -> tuple[Any, Any]:
    return device_put_p.bind(*args, **params), list(dims)


def device_put(
    xs: Sequence[Any],
    devices: Sequence[Any],
    srcs: Sequence[Any] = (),
    *,
    donate: bool = False,
) -> list[Any]:
    """The operation on flat operands.

    `devices` gives each one's place, None where it is left, `srcs` where each comes from, if that is
    known.
    """
    how = ArrayCopySemantics.DONATE_INPUT if donate else ArrayCopySemantics.REUSE_INPUT
    n = len(xs)
    return device_put_p.bind(
        *xs, devices=tuple(devices), srcs=tuple(srcs) or (None,) * n, copy_semantics=(how,) * n
    )


def placed(x: Array, device: object, out_sharding: object = None) -> Array:
    """`x`, just made, where the options `device` or `out_sharding` of a public function say.

    Within a trace it is a constraint on the value, or a move of it.

    Raises:
      ValueError: if both options are given.
      TypeError: if they name no place.
    """
    if device is not None and out_sharding is not None:
        raise ValueError(f"device={device} and out_sharding={out_sharding}: give one of them")
    place = device if out_sharding is None else out_sharding
    if place is None or asks_nothing(place):
        return settled(x) if made.in_force else x
    if out_sharding is not None:
        place = as_named(out_sharding, "a new array")
    elif isinstance(place, PartitionSpec):
        place = on_mesh_in_force(place, "device")
    sharding = as_sharding(place)
    if isinstance(x, ArrayImpl):
        if isinstance(place, NamedSharding) and AxisType.Explicit in place.mesh.axis_types:
            found = explicit.place_of(explicit.typed(x.aval, place), as_mesh(place))
            if found is not None:  # `out_sharding` is no word on memories
                kind = None if out_sharding is not None else place.memory_kind
                sharding = found if kind is None else found.with_memory_kind(kind)
        return x.placed(sharding)
    if isinstance(place, NamedSharding) and AxisType.Explicit in place.mesh.axis_types:
        aval = rules.aval_of(x)
        if explicit.sharding_of(aval) == explicit.sharding_of(explicit.typed(aval, place)):
            return x
        return reshard(x, place)
    if isinstance(place, Sharding):
        return sharding_constraint(x, place)
    return device_put([x], [place])[0]


def placed_like(
    x: Array, prototype: object, shape: object, device: object, out_sharding: object
) -> Array:
    """`x`, just made, where the options say, or else where `prototype` lies.

    A prototype that is divided says nothing of arrays of another shape.
    """
    if device is None and out_sharding is None:
        place = _place_of_prototype(prototype)
        if place is not None and (shape is None or place.is_fully_replicated):
            device = place
    if isinstance(prototype, Tracer | ShapeDtypeStruct):
        # Of a device's program: values may differ from device to device.
        kind = prototype.aval if isinstance(prototype, Tracer) else abstractify(prototype)
        x = as_type(x, varying.type_of(kind))
    return placed(x, device, out_sharding)


def _place_of_prototype(prototype: object) -> Sharding | None:
    """Where it was put, or its type says that it lies; None if nobody has said anything."""
    if isinstance(prototype, ArrayImpl):
        return prototype.placement
    if isinstance(prototype, ShapeDtypeStruct):
        place = prototype.sharding
        if isinstance(place, NamedSharding) and isinstance(place.mesh, AbstractMesh):
            return explicit.sharding_of(abstractify(prototype))
        return place if isinstance(place, Sharding) else None
    return explicit.sharding_of(prototype.aval) if isinstance(prototype, Tracer) else None


def as_mesh(place: Sharding) -> Mesh:
    """The devices that `place` is over: its own, or those in force."""
    mesh = place.mesh if isinstance(place, NamedSharding) else None
    return mesh if isinstance(mesh, Mesh) else get_mesh()


def as_named(place: object, asked_by: str) -> NamedSharding:
    """`place`, the option `out_sharding` of a function, as a sharding along Explicit axes.

    Raises:
      ValueError: if there is no mesh in force for a PartitionSpec, or another one than for a
        NamedSharding; if axes are not Explicit, or a type would have a memory kind.
      TypeError: if it is neither.
    """
    if isinstance(place, PartitionSpec):
        place = on_mesh_in_force(place, "out_sharding")
    if not isinstance(place, NamedSharding):
        raise TypeError(
            f"{asked_by}: out_sharding is a NamedSharding or PartitionSpec, not {place!r}"
        )
    if isinstance(place.mesh, AbstractMesh) and place.memory_kind is not None:
        raise ValueError(
            f"{asked_by}: out_sharding says how a result lies along axes of a mesh, and not in which "
            f"memory, but is {place}. jax.device_put moves arrays between memories"
        )
    axes = get_abstract_mesh()
    if not (axes.empty or axes.manual_axes or axes == place.mesh.abstract_mesh):
        raise ValueError(
            f"{asked_by}: out_sharding is on {place.mesh.abstract_mesh}, and {axes} is in force. A "
            "PartitionSpec is always on the one in force"
        )
    kinds = dict(zip(place.mesh.axis_names, place.mesh.axis_types, strict=True))
    for entry in place.spec:
        for name in () if entry is PartitionSpec.UNCONSTRAINED else names_of(entry):
            if kinds[name] is not AxisType.Explicit:
                raise ValueError(
                    f"{asked_by}: the axes of {place.spec} must be of type Explicit, but {name} is of "
                    f"type {kinds[name]}"
                )
    return place


def on_mesh_in_force(spec: PartitionSpec, asked_by: str) -> NamedSharding:
    """`spec` on the mesh that `jax.set_mesh` has put in force.

    Raises:
      ValueError: if there is none.
    """
    mesh = mesh_of_specs()
    if mesh.empty:
        raise ValueError(
            f"{asked_by}={spec}: a PartitionSpec is on the mesh in force, and there is none: set one "
            "by `jax.set_mesh`"
        )
    return NamedSharding(mesh, spec)


# --- moves along Explicit axes ------------------------------------------------------------------

reshard_p = declare("reshard", linear=True)
reshard_p.declares_sharding = True


@reshard_p.abstract
def _(x: ShapedArray, *, dst_sharding: NamedSharding, concrete_mesh: object) -> ShapedArray:
    return explicit.typed(x, dst_sharding)


@reshard_p.def_impl
def _(x: Value, *, dst_sharding: NamedSharding, concrete_mesh: object) -> Any:
    array = x if isinstance(x, ArrayImpl) else array_of(np.asarray(x))
    if asks_nothing(dst_sharding):
        return settled(array)
    mesh = dst_sharding.mesh if isinstance(dst_sharding.mesh, Mesh) else None
    place = explicit.place_of(explicit.typed(array.aval, dst_sharding), mesh)
    return array.placed(place or dst_sharding)


reshard_p.absent("eager", why="arrays are put elsewhere, not computed")


@reshard_p.lower
def _(b: Builder, x: Node, *, dst_sharding: NamedSharding, concrete_mesh: object) -> Any:
    is_open = bool(dst_sharding.mesh.auto_axes)  # along which nobody says how values lie
    return b.sharding_constraint(x, constraint(dst_sharding, len(x.shape), is_open=is_open))


@reshard_p.jvp
def _(primals: Primals, tangents: Tangents, **params: object) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    out = reshard_p.bind(x, **params)
    if isinstance(t, Zero):
        return out, rules.zero_tangent(out)
    return out, reshard_p.bind(t, **params)


reshard_p.jet(jet.linear(reshard_p))


@reshard_p.transpose
def _(ct: Cotangent, x: Operand, **_: object) -> list[Any]:
    own = explicit.sharding_of(rules.aval_of(x).to_cotangent_aval())
    if own is None or isinstance(ct, Zero):
        return [ct]
    return [reshard(ct, own)]


@reshard_p.batch_with_axis
def _(
    axis: AxisData, args: Primals, dims: Dims, *, dst_sharding: NamedSharding, **params: object
) -> Any:
    (x,), (dim,) = args, dims
    place = dst_sharding
    if dim is not None:
        along = axis.along
        names = explicit.names_along(rules.aval_of(x), dim)
        if not names and along is not None and along.mesh.shape_tuple == place.mesh.shape_tuple:
            names = names_of(along.spec[0])  # within `auto_axes` types do not say it
        place = explicit.batched(dst_sharding, dim, names)
    return reshard_p.bind(x, dst_sharding=place, **params), dim


def _print_reshard(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    return text.eqn_with_params(eqn, [], context, settings)  # the type says where


text.printing_rules["reshard"] = _print_reshard


def reshard(x: Value, place: NamedSharding) -> Any:
    """`x`, an array, lying as `place` says."""
    return reshard_p.bind(x, dst_sharding=place, concrete_mesh=None)


# --- constraints --------------------------------------------------------------------------------


class _NoMesh:
    def __repr__(self) -> str:
        return "Mesh()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NoMesh)

    def __hash__(self) -> int:
        return 0


sharding_constraint_p = declare("sharding_constraint", linear=True)
sharding_constraint_p.declares_sharding = True  # it is about other axes than types are


@sharding_constraint_p.abstract
def _(x: ShapedArray, **_: object) -> ShapedArray:
    return x


@sharding_constraint_p.def_impl
def _(
    x: Value, *, sharding: Sharding, unconstrained_dims: frozenset[int] = frozenset(), **_: object
) -> Any:
    array = x if isinstance(x, ArrayImpl) else array_of(np.asarray(x))
    place = _on_devices_of(array, sharding)
    if unconstrained_dims and isinstance(place, NamedSharding):
        place = with_free_axes(place, array.placement, np.ndim(array), unconstrained_dims)
    return array.placed(place)


sharding_constraint_p.absent("eager", why="arrays are put elsewhere, not computed")


@sharding_constraint_p.lower
def _(
    b: Builder, x: Node, *, sharding: Sharding, unconstrained_dims: frozenset[int], **_: object
) -> Any:
    return divided(b, x, sharding, unconstrained_dims)


def divided(b: Builder, x: Node, place: object, free: frozenset[int] = frozenset()) -> Any:
    """The node `x`, lying as `place` says if that is a sharding on a mesh, but for the axes `free`."""
    if not isinstance(place, NamedSharding):
        return x
    return b.sharding_constraint(x, constraint(place, len(x.shape), free))


rules.deflinear(
    sharding_constraint_p, lambda ct, x, **params: sharding_constraint_p.bind(ct, **params)
)


@sharding_constraint_p.batch_with_axis
def _(
    axis: AxisData, args: Primals, dims: Dims, *, sharding: Sharding,
    unconstrained_dims: frozenset[int], **params: object,
) -> tuple[Any, Any]:  # fmt: skip
    (x,), (dim,) = args, dims
    free = unconstrained_dims
    if dim is not None:
        names = axis.spmd_name
        sharding = _with_batch(sharding, dim, names)
        free = frozenset([k + (k >= dim) for k in free] + [dim] * (names is None))
    return sharding_constraint_p.bind(x, sharding=sharding, unconstrained_dims=free, **params), dim


def _with_batch(place: Sharding, dim: int, names: object) -> Sharding:
    """`place` of arrays with one more axis, at `dim`, that `names` divide; None: the compiler says.

    Raises:
      ValueError: if there are names, but the place is on no mesh, or uses them already.
    """
    if not isinstance(place, NamedSharding):
        if names is None:
            return place
        raise ValueError(
            "with_sharding_constraint: within jax.vmap(spmd_axis_name=) a constraint must be on a "
            "mesh, a NamedSharding or, within jax.set_mesh, a PartitionSpec, but it is "
            f"{place!r}, a {type(place).__name__}"
        )
    used = {name for entry in place.axes(len(place.spec)) for name in entry or ()}
    if names is not None and used.intersection(names_of(names)):
        raise ValueError(
            f"vmap has spmd_axis_name={names!r}, which divides the mapped axis, but a constraint "
            f"within the function divides another axis along it: {place.spec}"
        )
    entries = (*place.spec, *[None] * (dim - len(place.spec)))
    new: Any = PartitionSpec.UNCONSTRAINED if names is None else names
    return place.update(spec=place.spec.update(partitions=(*entries[:dim], new, *entries[dim:])))


def sharding_constraint(x: Value, place: object) -> Any:
    """`x`, an array, lying as `place` says: a Sharding, or a PartitionSpec of the mesh in force.

    While a mesh is in force whose axes are all Explicit, types say how values lie, and `x` must lie so.

    Raises:
      RuntimeError: if a PartitionSpec is given and no mesh is in force.
      TypeError: if `place` is none of these, or on an AbstractMesh, and `x` is an array on no mesh.
      ValueError: if it is None, or divides an axis along one of a mesh that is not Auto.
      AssertionError: if types say how values lie, and `x` does not lie so.
    """
    place = _given_place(place)
    if isinstance(place, NamedSharding):
        manual = get_abstract_mesh().manual_axes
        wrong = [name for entry in place.spec for name in names_of(entry) if name in manual]
        if wrong:
            raise ValueError(
                f"with_sharding_constraint within a shard_map over {manual}: {place.spec} mentions the "
                f"manual axes {wrong}, along which arrays are cut by the shard_map. A constraint can "
                "mention other axes"
            )
    try:
        place.check_compatible_aval(np.shape(x))
    except ValueError as error:
        raise ValueError(
            "One of with_sharding_constraint arguments is incompatible with its sharding annotation: "
            f"{error}"
        ) from None
    if isinstance(place, NamedSharding):
        axes = get_abstract_mesh()
        if axes.are_all_axes_explicit and not axes.empty:
            _check_lies_so(x, place)
            return x
        _check_is_auto(place)
    if isinstance(x, ArrayImpl):
        place = _on_devices_of(x, place)
    return sharding_constraint_p.bind(
        x,
        sharding=place,
        layout=None,
        context_mesh=_NoMesh(),
        unconstrained_dims=_unconstrained(place),
    )


def _given_place(place: object) -> Sharding:
    if isinstance(place, PartitionSpec):
        axes, entered = get_abstract_mesh(), entered_mesh()
        mesh = entered if axes.empty else axes
        if mesh.empty:
            raise RuntimeError(
                f"with_sharding_constraint: {place} names axes, and no mesh is in force that has any: "
                "set one by jax.set_mesh, or give a NamedSharding"
            )
        return NamedSharding(mesh, place)
    if place is None:
        raise ValueError(
            "with_sharding_constraint got sharding None, which says nothing: leave out the call for "
            "this value, or give a Sharding or a PartitionSpec"
        )
    if not isinstance(place, Sharding):
        raise TypeError(
            f"with_sharding_constraint takes a Sharding or PartitionSpec, not {place!r}"
        )
    return place


def _check_lies_so(x: Value, place: NamedSharding) -> None:
    """Raises unless the type of `x` says that it lies as `place` says."""
    ndim, aval = np.ndim(x), rules.aval_of(x)
    own = explicit.sharding_of(aval)
    asked = explicit.sharding_of(explicit.typed(aval, place))
    if explicit.entries_of(own, ndim) != explicit.entries_of(asked, ndim):
        found = PartitionSpec(*[None] * ndim) if own is None else own.spec
        raise AssertionError(
            "all axes of the mesh in force are Explicit, so `with_sharding_constraint` acts as an "
            f"assert: the type of the value says {found}, and {place.spec} was asked for. "
            "jax.sharding.reshard moves values"
        )


def _check_is_auto(place: NamedSharding) -> None:
    kinds = dict(zip(place.mesh.axis_names, place.mesh.axis_types, strict=True))
    for names in place.axes(len(place.spec)):
        for name in names or ():
            if kinds[name] is AxisType.Explicit:
                raise ValueError(
                    f"with_sharding_constraint says how values lie along Auto axes, but {place.spec} "
                    f"has {name!r} of {place.mesh}, whose type is {kinds[name]}. jax.sharding.reshard "
                    "moves values along such axes"
                )


def _on_devices_of(x: ArrayImpl, place: Sharding) -> Sharding:
    """Return `place`, on devices of `x` if it is on axes of a mesh alone; checks that they agree."""
    if isinstance(place, NamedSharding) and isinstance(place.mesh, AbstractMesh):
        place = place.update(mesh=_mesh_under(x, place))
    if x.placement is not None:
        _check_same_devices(x, x.placement, place)
    return place


def _mesh_under(x: ArrayImpl, place: NamedSharding) -> Mesh:
    """The mesh of devices that `place`, on the axes of one, is on for an array: that array's own."""
    own = x.placement
    if not isinstance(own, NamedSharding):
        mesh = get_mesh()
        if not mesh.empty and mesh.size == place.mesh.size:
            return with_axes_of(mesh, place.mesh.abstract_mesh)
        raise TypeError(
            f"with_sharding_constraint to {place}, which has no devices: they are those of the input, "
            f"whose sharding must be a NamedSharding, but {x.aval.str_short()} is on {x.sharding}"
        )
    mesh = own.mesh
    assert isinstance(mesh, Mesh)
    if mesh.shape_tuple != place.mesh.shape_tuple:
        raise ValueError(
            f"with_sharding_constraint: {x.aval.str_short()} lies on a mesh of the axes "
            f"{mesh.shape_tuple}, and the constraint is on one of {place.mesh.shape_tuple}: both must "
            "be the same"
        )
    return mesh


def _check_same_devices(x: ArrayImpl, own: Sharding, place: Sharding) -> None:
    if own.device_order != place.device_order:
        raise ValueError(
            f"Received incompatible devices for jitted computation: {x.aval.str_short()} is on device "
            f"ids {device_ids(own)}, and with_sharding_constraint wants it on {device_ids(place)}. "
            "jax.device_put moves arrays between devices"
        )


def _unconstrained(place: Sharding) -> frozenset[int]:
    entries = place.spec if isinstance(place, NamedSharding) else ()
    free = PartitionSpec.UNCONSTRAINED
    return frozenset([k for k, entry in enumerate(entries) if entry is free])


uses_keys(sharding_constraint_p, forwards=True)


@device_put_p.key_use
def _(avals: Sequence[AbstractValue], **_: object) -> KeyUse:
    return KeyUse(forwarded=tuple([(i, i) for i in range(len(avals))]))
