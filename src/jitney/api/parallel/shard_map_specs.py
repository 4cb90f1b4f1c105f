"""The PartitionSpecs of `shard_map`, one per array: broadcast over pytrees, inferred, checked."""

# The data of arrays (`_data`) is private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import math
from collections.abc import Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any

from jitney.core.pytree import pytrees
from jitney.core.pytree.errors import prefix_errors
from jitney.core.settings import config
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding.mesh import AxisType, Mesh, get_mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding.unreduced_kind import refuse_extremes
from jitney.core.sharding_in_types import explicit, varying
from jitney.core.tracing.hi_types import HiPspec
from jitney.core.tracing.pvary import in_order, vary_unreduced_cast_p
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval
from jitney.core.types.refs import is_ref
from jitney.core.util.record import replace
from jitney.primitives.parallel.collectives import varying_along
from jitney.primitives.parallel.shard_map import Region, names_in
from jitney.runtime.arrays.array import ArrayImpl, array_from_numpy
from jitney.transforms.discharge import content_type

if TYPE_CHECKING:
    from jitney.core.typing import PyTree
    from jitney.primitives.rule_types import Value


class InferFromArgs:
    """The default of `in_specs`: specifications are taken from the arguments' shardings."""

    def __repr__(self) -> str:
        return "jax.sharding.Infer"

    def __reduce__(self) -> str:
        return "Infer"


Infer = InferFromArgs()


def check_explicit(region: Region) -> None:
    """Checks that types include the shardings of arrays along the region's axes.

    Raises:
      TypeError: if an axis is not Explicit.
    """
    types = dict(zip(region.mesh.axis_names, region.mesh.axis_types, strict=True))
    own = [types[name] for name, _ in region.axes]
    if any([kind is not AxisType.Explicit for kind in own]):
        names = ", ".join([repr(name) for name, _ in region.axes])
        raise TypeError(
            "shard_map: without in_specs, the specifications are taken from the types of the "
            f"arguments, which include shardings along Explicit axes only, but the axes {names} "
            f"are of type {', '.join(str(kind) for kind in own)}; pass in_specs"
        )


def inferred(region: Region, x: object) -> PartitionSpec | None:
    """Returns the specification of `x` along the region's axes.

    An array on another mesh counts as replicated. None, a leaf that is not an operand, stays None.
    """
    if x is None:
        return None
    sharding = getattr(x, "placement", None)
    if isinstance(sharding, NamedSharding) and sharding.mesh == region.mesh:
        return _along(region, sharding.spec)
    if isinstance(x, Tracer) or is_ref(x):
        sharding = explicit.sharding_of(content_type(get_aval(x)))
        return PartitionSpec() if sharding is None else _along(region, sharding.spec)
    return PartitionSpec()


def _along(region: Region, spec: PartitionSpec) -> PartitionSpec:
    """Restricts `spec` to the region's axes."""
    entries = [tuple([n for n in names_of(entry) if n in region.manual]) for entry in spec]
    while entries and not entries[-1]:
        entries.pop()
    return PartitionSpec(
        *[own[0] if len(own) == 1 else own or None for own in entries],
        unreduced=spec.unreduced & region.manual, reduced=spec.reduced & region.manual,
    )  # fmt: skip


def _without(spec: PartitionSpec, gone: AbstractSet[Any]) -> PartitionSpec:
    """Returns `spec` without the mesh axes `gone`, which are not part of types."""
    entries = [tuple([n for n in names_of(entry) if n not in gone]) for entry in spec]
    while entries and not entries[-1]:
        entries.pop()
    return spec.update(
        partitions=tuple([own[0] if len(own) == 1 else own or None for own in entries])
    )


def concrete(region: Region, values: Sequence[object]) -> Region:
    """Replaces the abstract mesh of `region` by the mesh of `values`, or else the context mesh.

    Raises:
      ValueError: if neither has the axes of the abstract mesh.
    """
    shardings = [getattr(x, "placement", None) for x in values]
    for sharding in shardings:
        if isinstance(sharding, NamedSharding) and sharding.mesh.abstract_mesh == region.mesh:
            return replace(region, mesh=sharding.mesh)
    context_mesh = get_mesh()
    if not context_mesh.empty and context_mesh.abstract_mesh == region.mesh:
        return replace(region, mesh=context_mesh)
    raise ValueError(
        f"shard_map over {region.mesh}, which has no devices: pass `jax.Array`s with a "
        "`NamedSharding` on a mesh with these axes, set such a mesh with jax.set_mesh, or pass it "
        "as `mesh=`"
    )


def leaves(what: str, region: Region, specs: PyTree, values: PyTree) -> list[PartitionSpec | None]:
    """Returns the specification of each leaf of `values`, or None.

    Args:
      what: "in_specs" or "out_specs", for messages.
      region: the mesh and its manual axes.
      specs: a tree prefix of `values`.
      values: a pytree of arrays.

    Raises:
      TypeError: if a leaf of `specs` is not a specification.
      ValueError: if a specification contains an axis that does not belong to the region, or if
        `specs` is not a prefix of `values`.
    """
    for spec in pytrees.tree_leaves(specs, is_leaf=_is_spec):
        if not _is_spec(spec):
            raise TypeError(
                f"shard_map: {what} must be a pytree of `jax.sharding.PartitionSpec`, but has a "
                f"leaf {spec!r} "
                f"of type {type(spec).__name__}"
            )
        if spec is None or isinstance(spec, HiPspec):
            continue
        sums = spec.unreduced | spec.reduced
        if sums:
            _check_sums(what, region, spec)
        for name in names_in(spec) | sums:
            if name not in region.manual:
                raise ValueError(
                    f"shard_map: {what} may name manual axes only, "
                    f"{sorted(map(str, region.manual))} of {region.mesh}, but names {name!r}"
                )
    try:
        return pytrees.broadcast_prefix(specs, values, is_leaf=_is_spec)
    except ValueError as error:
        wrong = prefix_errors(specs, values, _is_spec)
        where = wrong[0](f"shard_map {what}") if wrong else error
        raise ValueError(
            f"shard_map: {what} has to be a tree prefix of the values that it applies to, but is "
            f"{specs} for {pytrees.tree_structure(values)}: {where}"
        ) from error


def _check_sums(what: str, region: Region, spec: PartitionSpec) -> None:
    """Checks that arrays may be unreduced or reduced along mesh axes as `spec` states.

    Raises:
      ValueError: if types do not include shardings along all axes of the mesh.
      NotImplementedError: if the region does not include all axes of the mesh.
    """
    refuse_extremes(spec.unreduced_kind, f"shard_map {what} has {spec}")
    kind = "unreduced" if spec.unreduced else "reduced"
    mesh = region.mesh
    if region.manual != frozenset(mesh.axis_names):
        raise NotImplementedError(
            f"shard_map {what} has {spec}, but the function is mapped over "
            f"{sorted(map(str, region.manual))} of {mesh} only: for {kind} arrays it must be "
            "mapped over all axes of its mesh. Omit `axis_names`"
        )
    if AxisType.Auto in mesh.axis_types:
        raise ValueError(
            f"shard_map {what} has {spec}: an array can be {kind} along Explicit axes only, but "
            f"{mesh} has Auto axes. Create the mesh with axis_types=(AxisType.Explicit, ...)"
        )


def _is_spec(x: object) -> bool:
    return x is None or isinstance(x, PartitionSpec | HiPspec)


def check_arguments(
    function: str,
    region: Region,
    specs: Sequence[PartitionSpec],
    avals: Sequence[AbstractValue],
    names: Sequence[str],
) -> None:
    """Checks that arguments can be sharded as `specs` state.

    Args:
      function: the name of the function, for messages.
      region: the mesh and its manual axes.
      specs: one for each argument.
      avals: their types.
      names: their names in messages.

    Raises:
      ValueError: if an argument has too few axes, cannot be divided evenly, or has a different
        sharding along Explicit axes in its type.
    """
    for spec, aval, name in zip(specs, avals, names, strict=True):
        aval = content_type(aval)
        if not isinstance(aval, ShapedArray):
            continue
        _check_rank(function, "in_specs", spec, aval, name)
        _check_sharding(function, region, spec, aval, name)
        for axis, entry in enumerate(spec):
            parts = math.prod([region.mesh.shape[own] for own in names_of(entry)])
            if aval.shape[axis] % parts:
                raise ValueError(
                    f"shard_map of {function}: the number of shards along an axis must divide the "
                    f"size of the axis, but {name} is {aval.str_short()}, and in_specs, {spec}, "
                    f"shards axis {axis}, of size {aval.shape[axis]}, along {entry!r} into "
                    f"{parts} shards. Pad the array, or use another mesh or another specification."
                )


def _check_sharding(
    function: str, region: Region, spec: PartitionSpec, aval: ShapedArray, name: str
) -> None:
    """Checks that the sharding in an argument's type agrees with `spec`.

    A function over only some axes of the mesh may differ: its arguments are moved, as in JAX.
    """
    sharding = explicit.sharding_of(aval)
    if sharding is None or region.manual != frozenset(region.mesh.axis_names):
        return
    own, required = _along(region, sharding.spec), _along(region, spec)
    if config.remove_size_one_mesh_axis_from_type.value:
        required = _without(required, {name for name, size in region.axes if size == 1})
    if own != required:
        raise ValueError(
            f"shard_map of {function}: in_specs must agree with the arguments' shardings along "
            f"Explicit axes, but {name}, {aval.str_short()}, is sharded as {own}, and in_specs "
            f"has {spec}. Omit in_specs, so that the specifications are taken from the arguments, "
            "or reshard the argument first, with jax.reshard"
        )


def check_constants(function: str, region: Region, consts: Sequence[Any]) -> None:
    """Checks that captured arrays are replicated over all devices of the region.

    Raises:
      NotImplementedError: if one is sharded, or unreduced, along the region's axes.
    """
    for x in consts:
        aval = get_aval(x)
        sharding = explicit.sharding_of(aval)
        if sharding is not None and _cuts(_along(region, sharding.spec)):
            raise NotImplementedError(
                f"shard_map of the function '{function}': it captures an array of type "
                f"{aval.str_short(short_dtypes=True)}, which is sharded along Explicit axes, and "
                "therefore needs a specification; pass it as an argument"
            )


def _cuts(spec: PartitionSpec) -> bool:
    return bool(names_in(spec) or spec.unreduced)


def named(region: Region, x: Value, spec: PartitionSpec) -> Value:
    """Returns the eager result `x` with the user's PartitionSpec in its sharding."""
    mesh = region.mesh
    if region.manual != frozenset(mesh.axis_names) or not isinstance(x, ArrayImpl):
        return x
    sharding = x.placement
    if not isinstance(sharding, NamedSharding) or sharding.mesh != mesh or sharding.spec == spec:
        return x
    return x.placed(sharding.update(spec=spec))


def as_result(region: Region, x: Value, spec: PartitionSpec) -> Value:
    """Converts the result `x` of one device to the type that assembling by `spec` requires.

    A result that is the same on all devices but sharded by `spec` becomes varying, so that its
    cotangents are summed. A varying result becomes a partial sum along the axes where `spec` is
    unreduced.

    Raises:
      ValueError: if `x` is a reference.
    """
    if is_ref(x):
        raise ValueError(
            f"shard_map: the function returns a mutable reference, of type {get_aval(x)}, which is not "
            "supported; return the array that it holds, with ref[...] or jax.freeze"
        )
    if get_aval(x).is_high:
        return x
    x = varying_along(x, [name for name, _ in region.axes if name in names_in(spec)])
    known = varying.type_of(get_aval(x))
    terms = in_order((spec.unreduced & region.manual & known.varying) - names_in(spec))
    return vary_unreduced_cast_p.bind(x, axes=terms) if terms and region.check_vma else x


def check_results(
    function: str,
    region: Region,
    specs: Sequence[PartitionSpec],
    avals: Sequence[AbstractValue],
    names: Sequence[str],
) -> None:
    """Checks that results can be assembled as `specs` state; arguments as for `check_arguments`.

    Without `check_vma`, only the numbers of axes are checked.

    Raises:
      ValueError: if a result has too few axes, may vary along an axis that its specification does
        not mention, or is unreduced or reduced along other axes than the specification states.
    """
    for spec, aval, name in zip(specs, avals, names, strict=True):
        if not isinstance(aval, ShapedArray):
            continue
        _check_rank(function, "out_specs", spec, aval, name)
        if not region.check_vma:
            continue
        manual = aval.manual_axis_type
        for kind in ("unreduced", "reduced"):
            has = getattr(manual, kind) & region.manual
            mentioned = getattr(spec, kind) & region.checked
            if has != mentioned:
                raise ValueError(
                    f"shard_map of {function}: out_specs must name the axes along which a result "
                    f"is {kind}, but {name}, {aval.str_short()}, is {kind} along "
                    f"{set(has) or '{}'}, and out_specs, {spec}, names {set(mentioned) or '{}'}. "
                    "Correct out_specs, or convert the result with jax.lax.psum or jax.lax.pcast"
                )
        extra = (aval.vma & region.manual) - names_in(spec)
        if extra:
            raise ValueError(_differs(function, region, spec, aval, name))


def check_known_results(
    function: str,
    region: Region,
    specs: Sequence[PartitionSpec],
    values: Sequence[Any],
    own: Sequence[Sequence[tuple[Any, int]]],
    names: Sequence[str],
) -> None:
    """Checks results of eager evaluation like `check_results`.

    Args:
      function, region, specs, names: as for `check_results`.
      values: results of all devices.
      own: for each result, the (name, size) of the mesh axes along which devices have separate
        values; these axes are the leading axes of the result.
    """
    avals: list[AbstractValue] = []
    for x, axes, spec in zip(values, own, specs, strict=True):
        whole: Any = get_aval(x)
        varies = [name for name, _ in axes if name not in spec.unreduced]
        kind = ManualAxisType(varying=varies, unreduced=spec.unreduced, reduced=spec.reduced)
        avals.append(whole.update(shape=whole.shape[len(axes) :], manual_axis_type=kind))
    check_results(function, region, specs, avals, names)


def bare(x: Value) -> Value:
    """Returns the array `x` without its mesh."""
    if type(x) is not ArrayImpl or x.placement is None or dtypes.is_extended(x.dtype):
        return x
    return array_from_numpy(x._data(), explicit.typed(x.aval, None))


def put(region: Region, x: Value, spec: PartitionSpec) -> Value:
    """Returns the global result `x` of an eager call, placed on the mesh."""
    mesh = region.mesh
    if not isinstance(x, ArrayImpl) or not isinstance(mesh, Mesh) or mesh.size == 1:
        return x
    return x.placed(NamedSharding(mesh, spec))


def _check_rank(
    function: str, what: str, spec: PartitionSpec, aval: ShapedArray, name: str
) -> None:
    if len(spec) <= aval.ndim:
        return
    advice = ""
    if what == "out_specs":
        advice = (
            " A scalar result that differs between devices needs an axis along which the values of "
            "the devices are concatenated: add such an axis."
        )
    raise ValueError(
        f"shard_map of {function}: a specification can have at most as many entries as the value "
        f"has axes, but {what} has {spec}, of length {len(spec)}, for {name}, {aval.str_short()}, "
        f"of rank {aval.ndim}; `P()` is for scalars.{advice}"
    )


def _differs(
    function: str, region: Region, spec: PartitionSpec, aval: ShapedArray, name: str
) -> str:
    """Returns the error message for a result that varies along axes missing in `spec`."""
    order = [own for own, _ in region.axes]

    def listed(names: Sequence[Any]) -> str:
        return ",".join(map(str, names))

    mesh = f"shape {tuple([n for _, n in region.axes])} and axis names {tuple(order)}"
    mentioned = [own for own in order if own in names_in(spec)]
    unmentioned = [own for own in order if own not in mentioned]
    varies = [own for own in order if own in aval.vma]
    implied = f"is the same along all axes, {{{listed(unmentioned)}}}"
    if mentioned:
        implied = (
            f"differs along {{{listed(mentioned)}}} alone, and not along {{{listed(unmentioned)}}}"
        )
    return (
        f"shard_map of {function}: out_specs, {spec}, states that {name}, {aval.str_short()}, "
        f"{implied}, but it may vary along {{{listed(varies)}}}; the mesh is of {mesh}. If all "
        "devices along these axes compute the same value, pass check_vma=False; otherwise, "
        "mention the axes in out_specs."
    )
