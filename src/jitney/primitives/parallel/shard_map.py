"""The `shard_map` primitive: a program that each device of a mesh runs on its shards.

Operands and results are global arrays; specs define how they are sharded along mesh axes. The
program computes with shards. Within it the mesh axes are named axes, for use by collectives.

With `check_vma`, types within the program track the axes along which values vary
(`core.sharding_in_types.varying`), so a result that is not sharded along an axis is known to be
equal along this axis. Without `check_vma`, this is not known: such a result is taken from the first
device, and its cotangent is divided among all devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.compiler import lower as lowering
from jitney.core.program.closed_programs import closed_of, constants_as_operands
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.settings import config
from jitney.core.sharding.manual_axes import NOT_MANUAL, ManualAxisType
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding_in_types import explicit, varying
from jitney.core.tracing import communication
from jitney.core.tracing.hi_types import HiPspec, HiType
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import Trace, extend_axis_env, set_current_trace, state
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval
from jitney.core.types.refs import AbstractRef
from jitney.core.util.record import record, replace
from jitney.primitives import calculus, rules
from jitney.primitives.array import shape as shapes
from jitney.primitives.call.call import transposed_program
from jitney.primitives.parallel import pvary as pvary, reduced as reduced, spmd
from jitney.primitives.parallel.collectives import psum_p
from jitney.runtime.execution import placements
from jitney.transforms import lojax
from jitney.transforms.batch import AxisData, batch_jaxpr_at
from jitney.transforms.discharge import discharge, with_contents
from jitney.transforms.jvp import jvp_jaxpr
from jitney.transforms.partial import PartialTrace, dce_closed, trace_partially
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero, with_zeros

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import Atom
    from jitney.core.types.effects import Effects
    from jitney.core.typing import AxisName
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
    from jitney.transforms.logs import Log

T = TypeVar("T")

shard_map_p = declare("shard_map", multiple_results=True)
shard_map_p.communication(communication.of_contents)
shard_map_p.effectful = True
shard_map_p.varying(varying.as_declared)
shard_map_p.declares_sharding = True

Specs = tuple[PartitionSpec, ...]
WHOLE = PartitionSpec()


@record(frozen=True)
class Region:
    """The context of a program of shards: the parameters of its equation except the specs.

    Attributes:
      mesh: the mesh of devices.
      manual: the mesh axes that this program makes manual, but no enclosing program does.
      check_vma: whether types track variation along the manual axes.
    """

    mesh: Mesh | AbstractMesh
    manual: frozenset[Any]
    check_vma: bool

    @property
    def axes(self) -> tuple[tuple[AxisName, int], ...]:
        """(name, size) of the manual axes, in the mesh's order."""
        return tuple([(n, size) for n, size in self.mesh.shape.items() if n in self.manual])

    def scope(self) -> AbstractContextManager[None]:
        """Returns a context in which the manual axes are in scope."""
        return extend_axis_env(*self.axes, checked=self.checked)

    @property
    def checked(self) -> frozenset[AxisName]:
        """The axes along which types track variation."""
        if not self.check_vma:
            return frozenset()
        if not config.remove_size_one_mesh_axis_from_type.value:
            return self.manual
        return frozenset([name for name, size in self.axes if size > 1])

    def part(self, aval: AbstractValue, spec: PartitionSpec) -> AbstractValue:
        """Returns the type of a shard of an array of type `aval`, or of a reference to a shard."""
        if isinstance(aval, AbstractRef):
            return AbstractRef(self.part(aval.inner_aval, spec), aval.memory_space, aval.kind)
        if aval.is_high:
            user: Any = aval
            return user.shard(self.mesh, self.manual, self.check_vma, spec)
        if not isinstance(aval, ShapedArray):
            return aval
        shape = list(aval.shape)
        for axis, entry in enumerate(spec):
            shape[axis] //= math.prod([self.mesh.shape[name] for name in names_of(entry)])
        part = explicit.typed(aval, None).update(shape=tuple(shape))
        outside = explicit.sharding_of(aval)
        if outside is not None:  # along axes that are not manual here
            kinds = dict.fromkeys(self.manual, AxisType.Manual)
            mesh = outside.mesh.abstract_mesh.update_axis_types(kinds)
            part = explicit.typed(part, outside.update(mesh=mesh))
        if not self.check_vma:
            return varying.typed(part, varying.type_of(part).without(self.manual))
        manual = ManualAxisType(
            varying=aval.vma | (names_in(spec) & self.checked),
            unreduced=spec.unreduced & self.checked,
            reduced=spec.reduced & self.checked,
        )
        return varying.typed(part, manual)

    def whole(self, aval: AbstractValue, spec: PartitionSpec) -> AbstractValue:
        """Returns the type of the global array whose shards have type `aval`."""
        if aval.is_high:
            user: Any = aval
            return user.unshard(self.mesh, self.check_vma, spec)
        if not isinstance(aval, ShapedArray):
            return aval
        shape = list(aval.shape)
        for axis, entry in enumerate(spec):
            shape[axis] *= math.prod([self.mesh.shape[name] for name in names_of(entry)])
        inside = explicit.entries_of(explicit.sharding_of(aval), len(shape))
        cut = [*map(names_of, spec), *[()] * (len(shape) - len(spec))]
        entries = [(*a, *b) for a, b in zip(cut, inside, strict=True)]
        place = NamedSharding(
            self.mesh.abstract_mesh,
            PartitionSpec(*entries, unreduced=spec.unreduced, reduced=spec.reduced),
        )
        whole = explicit.typed(explicit.typed(aval, None).update(shape=tuple(shape)), place)
        return varying.typed(whole, aval.manual_axis_type.without(self.manual))

    def unmentioned(self, spec: PartitionSpec) -> tuple[tuple[AxisName, int], ...]:
        """Returns the manual axes along which an array with `spec` is not sharded.

        As in JAX, these include axes along which the array is unreduced or reduced, although its
        cotangent need not be divided or summed along them.
        """
        mentioned = names_in(spec)
        return tuple([(name, size) for name, size in self.axes if name not in mentioned])


def part_type(
    aval: AbstractValue,
    mesh: Mesh | AbstractMesh,
    manual_axes: frozenset[Any],
    check_vma: bool,
    spec: PartitionSpec,
) -> AbstractValue:
    """Returns `aval.shard(...)`: the type of a shard.

    Raises:
      ValueError: if `spec` has more entries than the array has axes, has other unreduced or reduced
        axes than the array's type, or, with `check_vma`, names an axis that is not manual.
    """
    region = Region(mesh, manual_axes, check_vma)
    others = sorted(map(str, names_in(spec) - manual_axes))
    if others and check_vma:
        raise ValueError(
            f"shard of {aval}: the specification, {spec}, names axes that are not manual: {others}"
        )
    if isinstance(aval, ShapedArray):
        if len(spec) > aval.ndim:
            raise ValueError(f"shard of {aval}: the specification, {spec}, has too many entries")
        known = aval.sharding.spec
        if (spec.unreduced, spec.reduced) != (known.unreduced, known.reduced):
            raise ValueError(
                f"shard of {aval}: the specification must have the type's unreduced and reduced axes, "
                f"but is {spec}"
            )
    return region.part(aval, spec)


def whole_type(
    aval: AbstractValue, mesh: Mesh | AbstractMesh, check_vma: bool, spec: PartitionSpec
) -> AbstractValue:
    """Returns `aval.unshard(...)`: the type of the global array, along the mesh's Explicit axes."""
    return Region(mesh, frozenset(mesh.axis_names), check_vma).whole(aval, spec)


def names_in(spec: PartitionSpec) -> frozenset[AxisName]:
    """Returns the mesh axes that `spec` mentions."""
    if isinstance(spec, HiPspec):
        return frozenset([name for lo in spec.to_lo() for name in names_in(lo)])
    return frozenset([name for entry in spec for name in names_of(entry)])


def of_tangent(spec: PartitionSpec) -> Any:
    """Returns the spec of tangents of values with `spec`."""
    return spec.to_tangent_spec() if isinstance(spec, HiPspec) else spec


def of_cotangent(spec: PartitionSpec) -> Any:
    """Returns the spec of cotangents of values with `spec`: unreduced and reduced are exchanged."""
    if isinstance(spec, HiPspec):
        return spec.to_ct_spec()
    if not spec.unreduced and not spec.reduced:
        return spec
    return spec.update(unreduced=spec.reduced, reduced=spec.unreduced)


def region_of(params: Mapping[str, Any]) -> Region:
    """Returns the region of an equation with `params`."""
    return Region(params["mesh"], params["newly_manual_axes"], params["check_vma"])


def bind(
    region: Region, program: ClosedJaxpr, operands: Sequence[Any], in_specs: Specs, out_specs: Specs
) -> list[Value]:
    """Binds `shard_map` to a program; its constants are replicated."""
    return shard_map_p.bind(
        *program.consts, *operands, **_params(region, program, in_specs, out_specs)
    )


def _params(
    region: Region, program: ClosedJaxpr, in_specs: Specs, out_specs: Specs
) -> dict[str, object]:
    return {
        "mesh": region.mesh,
        "in_specs": (WHOLE,) * len(program.consts) + tuple(in_specs),
        "out_specs": tuple(out_specs),
        "jaxpr": constants_as_operands(program.jaxpr),
        "check_vma": region.check_vma,
        "newly_manual_axes": region.manual,
    }


def traced(
    region: Region,
    fun: Callable[..., list[Any]],
    avals: Sequence[AbstractValue],
    like: Jaxpr,
    traced_for: str,
) -> ClosedJaxpr:
    """Traces `fun`, a function of shards of types `avals`, with the region's axes in scope."""
    info = DebugInfo(traced_for, like.debug_info.func_src_info)
    with region.scope():
        jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts)


def _chosen(items: Sequence[T], flags: Sequence[bool]) -> list[T]:
    return [x for x, flag in zip(items, flags, strict=True) if flag]


# --- types and code -------------------------------------------------------------------------------


@shard_map_p.abstract
def _shard_map_abstract(
    *_avals: AbstractValue, jaxpr: Jaxpr, out_specs: Specs, **params: object
) -> tuple[list[AbstractValue], Effects]:
    region = region_of(params)
    outs = [region.whole(a, spec) for a, spec in zip(jaxpr.out_avals, out_specs, strict=True)]
    return outs, frozenset(jaxpr.effects)


shard_map_p.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")


@shard_map_p.lower
def _shard_map_lower(
    b: Builder, *nodes: Node, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs, **params: object
) -> list[Node]:
    region = region_of(params)
    places = placements.marked(b, nodes, region.mesh, out_specs, jaxpr, region.whole)
    if places is not None:
        return places
    with region.scope():
        used, _ = dce_closed(closed_of(jaxpr), (True,) * len(out_specs), True)
        program = spmd.over_devices(used.jaxpr, region.axes, in_specs, out_specs)
    return lowering.inline(b, program, nodes)


@shard_map_p.discharge
def _shard_map_discharge(
    which: tuple[bool, ...], *values: Value, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs,
    **params: object,
) -> tuple[Sequence[Value], Sequence[Value | None]]:  # fmt: skip
    """Discharges references: final contents have the specs of the initial contents."""
    region = region_of(params)
    with region.scope():
        program, changed = discharge(closed_of(jaxpr), which)
    outs = bind(region, program, values, in_specs, (*out_specs, *_chosen(in_specs, changed)))
    return with_contents(changed, outs, len(out_specs))


@shard_map_p.lojax
def _shard_map_lojax(
    *values: Value, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs, **params: object
) -> list[Any]:
    """Runs the program on the arrays to which values of high-level types are lowered."""
    region = region_of(params)
    with region.scope():
        low = lojax.lower_program(closed_of(jaxpr))
    wholes = [region.whole(a, s) for a, s in zip(low.out_avals, out_specs, strict=True)]
    operands = lojax.lowered_values([get_aval(x) for x in values], values)
    specs_in = _lowered_specs(low.in_avals, in_specs)
    outs = bind(region, low.closed, operands, specs_in, _lowered_specs(low.out_avals, out_specs))
    return lojax.raised_values(wholes, outs)


def _lowered_specs(avals: Sequence[AbstractValue], specs: Specs) -> Specs:
    """Returns the specs of the arrays to which values of types `avals` are lowered.

    The PartitionSpec of a value of a high-level type applies to each of its arrays.
    """
    lowered: list[PartitionSpec] = []
    for aval, spec in zip(avals, specs, strict=True):
        n = len(aval.lo_ty())
        lowered += spec.to_lo() if isinstance(spec, HiPspec) else (spec,) * n
    return tuple(lowered)


@shard_map_p.mesh
def _shard_map_mesh(*, mesh: Mesh | AbstractMesh, **_: object) -> Mesh | AbstractMesh:
    return mesh


# --- derivatives ----------------------------------------------------------------------------------


@shard_map_p.jvp
def _shard_map_jvp(
    primals: Primals, tangents: Tangents, *, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs,
    **params: object,
) -> tuple[Sequence[Value], Sequence[Tangent]]:  # fmt: skip
    region = region_of(params)
    nonzero = tuple([type(t) is not Zero for t in tangents])
    with region.scope():
        program, nonzero_out = jvp_jaxpr(closed_of(jaxpr), nonzero, False)
    nonzero_tangents = _chosen(tangents, nonzero)
    outs = bind(
        region, program, [*primals, *nonzero_tangents],
        (*in_specs, *map(of_tangent, _chosen(in_specs, nonzero))),
        (*out_specs, *map(of_tangent, _chosen(out_specs, nonzero_out))),
    )  # fmt: skip
    n = len(out_specs)
    avals = [region.whole(a, s) for a, s in zip(jaxpr.out_avals, out_specs, strict=True)]
    return outs[:n], with_zeros(outs[n:], nonzero_out, [a.to_tangent_aval() for a in avals])


@shard_map_p.partial
def _shard_map_partial(
    trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
) -> list[Value]:
    region, jaxpr = region_of(params), params["jaxpr"]
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    with region.scope():
        known, late, out_unknown, n_residuals = trace_partially(closed_of(jaxpr), unknown, False)
    is_known = [not u for u in unknown]
    known_args, known_specs = _chosen(args, is_known), _chosen(in_specs, is_known)
    own_specs = _chosen(out_specs, [not u for u in out_unknown])
    n_known = len(known.out_avals) - n_residuals
    # Residuals that are operands need not be results of the known part.
    position: dict[Atom, int] = {v: k for k, v in enumerate(known.jaxpr.invars)}
    residual_vars = known.jaxpr.outvars[n_known:]
    forwarded = [position.get(v) if not hasattr(v, "val") else None for v in residual_vars]
    computed = [v for v, k in zip(residual_vars, forwarded, strict=True) if k is None]
    specs, lifted = _residual_specs(region, [v.aval for v in computed], _divided_by_vmap(trace))

    def with_residuals(*xs: Value) -> list[Value]:
        outs = eval_jaxpr(pruned, known.consts, *xs)
        return [*outs[:n_known], *_with_axes(outs[n_known:], lifted)]

    pruned = known.jaxpr.replace(outvars=[*known.jaxpr.outvars[:n_known], *computed])
    outs: list[Any] = []
    if pruned.outvars or pruned.effects:
        program = traced(region, with_residuals, known.in_avals, jaxpr, "known")
        with set_current_trace(trace.parent_trace):
            outs = bind(
                region, program, known_args, tuple(known_specs), (*own_specs, *specs)
            )  # fmt: skip
    own = iter(zip(outs[n_known:], specs, lifted, strict=True))
    residuals: list[Any] = []
    residual_specs: list[PartitionSpec] = []
    flat: list[bool] = []
    for k in forwarded:
        value, spec, up = next(own) if k is None else (known_args[k], known_specs[k], False)
        residuals.append(value)
        residual_specs.append(spec)
        flat.append(up)

    if any(flat):
        late = _of_lifted(region, late, flat, jaxpr)
    late_specs = (*residual_specs, *_chosen(in_specs, unknown))
    late_outs = iter(
        trace.unknown_trace.process_primitive(
            shard_map_p,
            [*late.consts, *residuals, *_chosen(args, unknown)],
            _params(region, late, late_specs, tuple(_chosen(out_specs, out_unknown))),
        )
    )
    known_outs = iter(outs[:n_known])
    return [next(late_outs) if u else next(known_outs) for u in out_unknown]


def _with_axes(values: Sequence[Value], lifted: Sequence[bool]) -> list[Value]:
    """Returns the values; those marked in `lifted` receive an additional axis of size 1."""
    return [shapes.reshape(x, (1,)) if up else x for x, up in zip(values, lifted, strict=True)]


def _of_lifted(
    region: Region, late: ClosedJaxpr, lifted: Sequence[bool], like: Jaxpr
) -> ClosedJaxpr:
    """Adapts `late`, whose first operands are residuals, to residuals with an extra axis of size 1.

    `lifted` marks the residuals that have the extra axis.
    """
    n = len(lifted)

    def from_residuals(*xs: Value) -> list[Value]:
        head = [shapes.reshape(x, ()) if up else x for x, up in zip(xs[:n], lifted, strict=True)]
        return eval_jaxpr(late.jaxpr, late.consts, *head, *xs[n:])

    avals = [
        a.update(shape=(1,)) if up else a for a, up in zip(late.in_avals[:n], lifted, strict=True)
    ]
    return traced(region, from_residuals, [*avals, *late.in_avals[n:]], like, "late")


def _divided_by_vmap(trace: Trace) -> frozenset[AxisName]:
    """Returns the mesh axes in `spmd_axis_name` of all `vmap`s that enclose `trace`."""
    names: list[AxisName] = []
    around: Any = trace
    while around is not None:
        axis_data = getattr(around, "axis_data", None)
        names += names_of(axis_data.spmd_name) if axis_data is not None else ()
        around = getattr(around, "parent_trace", None)
    return frozenset(names)


def _residual_specs(
    region: Region, avals: Sequence[AbstractValue], divided: frozenset[AxisName]
) -> tuple[list[PartitionSpec], list[bool]]:
    """Returns specs that concatenate residuals along axis 0, and which residuals need a new axis.

    A new axis is needed for scalars. The specs do not contain the axes in `divided`, along which an
    enclosing `vmap` shards its batch axis.
    """
    specs: list[PartitionSpec] = []
    lifted: list[bool] = []
    for aval in avals:
        if isinstance(aval, HiType):
            all_names = tuple([name for name, _ in region.axes])
            spec: Any = aval.nospec(region.mesh, region.check_vma, all_names)
            specs.append(spec)
            lifted.append(False)
            continue
        names = [
            name for name, _ in region.axes
            if name not in divided
            and (not region.check_vma or name in varying.axes_of(aval))
        ]  # fmt: skip
        manual = varying.type_of(aval) if region.check_vma else NOT_MANUAL
        entries = [tuple(names)] if names else []
        specs.append(PartitionSpec(*entries, unreduced=manual.unreduced, reduced=manual.reduced))
        lifted.append(bool(names) and not aval.shape)
    return specs, lifted


@shard_map_p.logged_transpose
def _shard_map_transpose(
    cts: Sequence[Cotangent], *args: Operand, jaxpr: Jaxpr, in_specs: Specs, out_specs: Specs,
    **params: object,
) -> tuple[Sequence[Cotangent | None], Log]:  # fmt: skip
    region = region_of(params)
    linear = tuple([type(x) is UndefinedPrimal for x in args])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    with region.scope():
        inner = transposed_program(closed_of(jaxpr), linear, nonzero)
    is_given = [not lin for lin in linear]
    ct_specs = [of_cotangent(spec) for spec in _chosen(out_specs, nonzero)]
    known_specs = _chosen(in_specs, is_given)
    operand_ct_specs = [
        of_cotangent(spec) for spec in _chosen(_chosen(in_specs, linear), inner.has_ct)
    ]
    n_given, n_cts = len(known_specs), len(operand_ct_specs)
    divided = _divided_by_vmap(state.trace)
    program_of_parts = inner.closed
    log_avals: list[Any] = program_of_parts.out_avals[n_cts:]
    log_specs, _ = _residual_specs(region, log_avals, divided)
    lifted = [not a.shape for a in log_avals]  # including scalars that are equal on all devices

    def transposed(*xs: Value) -> list[Value]:
        out_cts, known = xs[: len(ct_specs)], xs[len(ct_specs) :]
        out_cts = [
            _divided_among(region, ct, s, divided) for ct, s in zip(out_cts, ct_specs, strict=True)
        ]
        outs = eval_jaxpr(program_of_parts.jaxpr, program_of_parts.consts, *known, *out_cts)
        operand_cts = [
            _summed_over(region, x, s, divided)
            for x, s in zip(outs[:n_cts], operand_ct_specs, strict=True)
        ]
        return [*operand_cts, *_with_axes(outs[n_cts:], lifted)]

    avals = [*program_of_parts.in_avals[n_given:], *program_of_parts.in_avals[:n_given]]
    program = traced(region, transposed, avals, jaxpr, "transpose")
    operands = [*_chosen(cts, nonzero), *_chosen(args, is_given)]
    specs = (*operand_ct_specs, *log_specs)
    outs = iter(bind(region, program, operands, (*ct_specs, *known_specs), specs))
    flags = iter(inner.has_ct)
    operand_cts = [next(outs) if lin and next(flags) else None for lin in linear]
    return operand_cts, inner.log_of(outs)


def _divided_among(
    region: Region, ct: Value, spec: PartitionSpec, divided: frozenset[AxisName]
) -> Value:
    """Divides the cotangent of a result that was taken from one device among all devices.

    With `check_vma`, the cotangent is returned unchanged.
    """
    n = math.prod([size for name, size in region.unmentioned(spec) if name not in divided])
    if region.check_vma or n == 1:
        return ct
    return calculus.div(ct, rules.const(ct, n))


def _summed_over(
    region: Region, ct: Value, spec: PartitionSpec, divided: frozenset[AxisName]
) -> Value:
    """Sums the cotangent of a replicated operand over the devices.

    With `check_vma`, the cotangent is returned unchanged.
    """
    names = tuple([name for name, _ in region.unmentioned(spec) if name not in divided])
    if region.check_vma or not names:
        return ct
    return psum_p.bind(ct, axes=names, axis_index_groups=None)


# --- batching, dead code --------------------------------------------------------------------------


@shard_map_p.batch_with_axis
def _shard_map_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: Jaxpr, in_specs: Specs,
    out_specs: Specs, **params: object,
) -> tuple[Sequence[Value], Sequence[BatchDim]]:  # fmt: skip
    region = region_of(params)
    own = names_of(axis_data.spmd_name)
    for spec in (*in_specs, *out_specs):
        if names_in(spec).intersection(own) and not config.disable_vmap_shmap_error.value:
            raise ValueError(
                "vmap of shard_map: the batch is sharded along "
                f"spmd_axis_name={axis_data.spmd_name!r}, so in_specs and out_specs must not "
                f"shard another axis along it, but {spec} does"
            )
    parts = math.prod([region.mesh.shape[name] for name in own])
    part = replace(axis_data, size=axis_data.size // parts)
    if own:  # the batch axis is already sharded along them
        part = replace(part, along=None)
    with region.scope():
        program, out_dims = batch_jaxpr_at(closed_of(jaxpr), part, tuple(dims))
    cut = [_with_axis(s, d, axis_data.spmd_name) for s, d in zip(in_specs, dims, strict=True)]
    joined = [
        _with_axis(s, d, axis_data.spmd_name) for s, d in zip(out_specs, out_dims, strict=True)
    ]
    return bind(region, program, args, tuple(cut), tuple(joined)), out_dims


def _with_axis(spec: PartitionSpec, d: int | None, name: AxisName) -> PartitionSpec:
    """Inserts an entry `name` for a new axis at `d` into `spec`."""
    if d is None:
        return spec
    entries = list(spec) + [None] * (d - len(spec))
    if len(entries) == d and name is None:
        return spec
    return spec.update(partitions=(*entries[:d], name, *entries[d:]))


@shard_map_p.dce
def _shard_map_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    params = eqn.params
    program, needed = dce_closed(closed_of(params["jaxpr"]), tuple(used), False)
    specs = tuple(_chosen(params["in_specs"], needed)), tuple(_chosen(params["out_specs"], used))
    return eqn.replace(
        params=_params(region_of(params), program, *specs),
        invars=_chosen(eqn.invars, needed),
        outvars=_chosen(eqn.outvars, used),
    )
