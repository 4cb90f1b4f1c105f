"""The primitive `cond`: executes one of several programs, selected by an integer.

Its operands are an int32 index and the operands of the branches. Its derivative is a `cond` of the
branches' derivatives. If the index is batched, all branches are executed and their results are
selected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.program import text
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, JaxprEqn, Literal
from jitney.core.program.key_reuse import KeyUse, use_of_branches
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import retrace
from jitney.core.sharding_in_types import varying
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import set_current_trace
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.core.types.effects import InputEffect, has_io, moved, no_effects
from jitney.core.types.memory_space import MemorySpace
from jitney.primitives import calculus, rules
from jitney.primitives.array.creation import empty2_p
from jitney.primitives.call.call import weakness_of
from jitney.primitives.call.inlined import of_own_dtypes
from jitney.primitives.control.cond_backward import transposed_branches
from jitney.primitives.control.forwarding import forwarded_by_all
from jitney.primitives.control.high import cond_on_arrays
from jitney.primitives.control.steps import cond_by_steps
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms import jet
from jitney.transforms.batch import AxisData, batch_jaxpr
from jitney.transforms.discharge import discharge, with_contents
from jitney.transforms.jvp import jvp_jaxpr
from jitney.transforms.partial import PartialTrace, dce_closed, dce_jaxpr, trace_partially
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero, with_zeros

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
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
    from jitney.transforms.logs import Log

cond_p = declare("cond", multiple_results=True)
cond_p.communication(communication.of_contents)
cond_p.varying(varying.as_declared)  # varies along the same mesh axes as the predicate, as in JAX
cond_p.declares_sharding = True
cond_p.effectful = True

_INT32 = np.dtype(np.int32)


@cond_p.abstract
def _cond_abstract(
    index: ShapedArray, *avals: AbstractValue, branches: tuple[ClosedJaxpr, ...], **_: Any
) -> tuple[list[AbstractValue], Effects]:
    effects = no_effects.union(*(moved(b.effects, 1 - len(b.jaxpr.constvars)) for b in branches))
    return branches[0].out_avals, effects  # weak types are those of the first branch


@cond_p.discharge
def _cond_discharge(
    which: tuple[bool, ...],
    index: Value,
    *operands: Value,
    branches: tuple[ClosedJaxpr, ...],
    **params: object,
) -> tuple[Sequence[Value], Sequence[Value | None]]:
    parts = [discharge(b, which[1:]) for b in branches]
    some = [any(column) for column in zip(*(changed for _, changed in parts), strict=True)]
    n_out = len(branches[0].out_avals)
    programs = [_with_contents(program, changed, some, n_out) for program, changed in parts]
    outs, contents = with_contents(some, bind_branches(index, operands, programs, params), n_out)
    return outs, [None, *contents]


@cond_p.lojax
def _cond_lojax(
    index: Value, *operands: Value, branches: tuple[ClosedJaxpr, ...], **params: object
) -> list[Value]:
    def bind(index: Value, values: Sequence[Any], programs: Sequence[ClosedJaxpr]) -> list[Value]:
        return bind_branches(index, values, programs, params)

    return cond_on_arrays(index, operands, branches, bind)


def _with_contents(
    closed: ClosedJaxpr, changed: Sequence[bool], some: Sequence[bool], n_out: int
) -> ClosedJaxpr:
    """Makes a discharged branch return the contents of every reference that any branch changes."""
    jaxpr = closed.jaxpr
    new = iter(jaxpr.outvars[n_out:])
    contents = [next(new) if c else v for v, c in zip(jaxpr.invars, changed, strict=True)]
    kept = [v for v, s in zip(contents, some, strict=True) if s]
    return ClosedJaxpr(jaxpr.replace(outvars=[*jaxpr.outvars[:n_out], *kept]), closed.consts)


Platforms = tuple[tuple[str, ...] | None, ...]
"""The platforms of each branch; None stands for all other platforms."""

CPU = "cpu"


def branch_for_cpu(platforms: Platforms) -> int:
    """Returns the index of the branch for the CPU platform.

    Raises:
      NotImplementedError: if there is no such branch.
    """
    for i, names in enumerate(platforms):
        if names is None or CPU in names:
            return i
    listed = ", ".join(sorted(name for names in platforms for name in names or ()))
    raise NotImplementedError(
        f"platform_dependent: there is neither a branch for platform {CPU} nor a default; the "
        f"branches are for {listed or 'no platform'}"
    )


def _inlined(branch: ClosedJaxpr) -> Callable[..., list[Node]]:
    """Returns the function that builds the region of a branch."""

    def body(b: Builder, *args: Node) -> list[Node]:
        return lowering.inline(b, branch, args)

    return body


@cond_p.lower
def _cond_lower(
    b: Builder,
    index: Node,
    *nodes: Node,
    branches: tuple[ClosedJaxpr, ...],
    branches_platforms: Platforms | None = None,
    **_: Any,
) -> list[Node]:
    if branches_platforms is not None:
        return lowering.inline(b, branches[branch_for_cpu(branches_platforms)], nodes)
    types: list[Any] = [n.type for n in nodes]
    regions = [b.region(types, _inlined(branch)) for branch in branches]
    return b.cond(b.convert(index, _INT32), regions, nodes)


cond_p.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")
cond_p.by_steps(cond_by_steps)


def bind_branches(
    index: Value,
    operands: Sequence[Any],
    branches: Sequence[ClosedJaxpr],
    params: dict[str, Any] | None = None,
) -> list[Value]:
    """Binds `cond` to an index, operands and branches.

    Args:
      index: index of the branch, an int32 scalar.
      operands: operands of every branch.
      branches: programs with results of the same types.
      params: further parameters of the equation.
    """
    return cond_p.bind(index, *operands, **{**(params or {}), "branches": tuple(branches)})


# --- rules --------------------------------------------------------------------------------------


@cond_p.jvp
def _cond_jvp(
    primals: Primals, tangents: Tangents, *, branches: tuple[ClosedJaxpr, ...], **params: object
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    index, *operands = primals
    nonzero = tuple(type(t) is not Zero for t in tangents[1:])
    n_out = len(branches[0].out_avals)
    nonzeros_out = [jvp_jaxpr(b, nonzero, False)[1] for b in branches]
    some = tuple(any(f[i] for f in nonzeros_out) for i in range(n_out))
    programs = [jvp_jaxpr(b, nonzero, some)[0] for b in branches]
    nonzero_tangents = [t for t in tangents[1:] if type(t) is not Zero]
    outs = bind_branches(index, [*operands, *nonzero_tangents], programs, params)
    avals = [a.to_tangent_aval() for a in branches[0].out_avals]
    return outs[:n_out], with_zeros(outs[n_out:], some, avals)


@cond_p.jet
def _cond_jet(
    primals: Primals,
    series: Sequence[jet.Terms],
    *,
    branches: tuple[ClosedJaxpr, ...],
    **params: object,
) -> tuple[Sequence[Value], Sequence[jet.Terms]]:
    index, *operands = primals
    order = len(series[0])
    operand_terms = jet.tangent_types_of(series[1:], branches[0].in_avals)
    out_terms = [jet.jet_jaxpr(b, operand_terms, order)[1] for b in branches]
    some = functools.reduce(jet.joined, out_terms)
    programs = [jet.jet_jaxpr(b, operand_terms, order, some)[0] for b in branches]
    outs = bind_branches(
        index, [*operands, *jet.packed(series[1:], operand_terms)], programs, params
    )
    n_out = len(branches[0].out_avals)
    return outs[:n_out], jet.unpacked(outs[n_out:], branches[0].out_avals, some)


@cond_p.partial
def _cond_partial(
    trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
) -> list[Value]:
    branches: tuple[ClosedJaxpr, ...] = params["branches"]
    index, *operands = args
    if unknown[0]:  # as the branch is unknown, all results are unknown
        return trace.unknown_trace.process_primitive(cond_p, args, params)
    mask = list(unknown[1:])
    unknown_of_branches = [trace_partially(b, mask, False)[2] for b in branches]
    n_out = len(branches[0].out_avals)
    out_unknown = [any(f[i] for f in unknown_of_branches) for i in range(n_out)]
    parts = [trace_partially(b, mask, out_unknown) for b in branches]
    n_known_out = n_out - sum(out_unknown)
    slots, kept, places = _places_of_residuals([known for known, *_ in parts], n_known_out)
    known = [
        _with_other_residuals(part[0], n_known_out, slots, own_places)
        for part, own_places in zip(parts, places, strict=True)
    ]
    residual_avals = (*slots, *[parts[0][0].in_avals[k] for k in kept])
    late = [
        _taking_residuals(part[1], residual_avals, own_places)
        for part, own_places in zip(parts, places, strict=True)
    ]
    known_args = [x for x, u in zip(operands, mask, strict=True) if not u]
    with set_current_trace(trace.parent_trace):
        outs = bind_branches(index, known_args, known, params)
    residuals = [*outs[n_known_out:], *[known_args[k] for k in kept]]
    assert len(residuals) == len(residual_avals)
    unknown_args = [x for x, u in zip(operands, mask, strict=True) if u]
    late_outs = iter(
        trace.unknown_trace.process_primitive(
            cond_p, [index, *residuals, *unknown_args], {**params, "branches": tuple(late)}
        )
    )
    known_outs = iter(outs[:n_known_out])
    return [next(late_outs) if u else next(known_outs) for u in out_unknown]


@cond_p.dce
def _cond_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    branches = eqn.params["branches"]
    needs = zip(*(dce_jaxpr(b.jaxpr, used)[1] for b in branches), strict=True)
    needed = tuple([any(column) for column in needs])
    pruned = tuple(dce_closed(b, tuple(used), needed)[0] for b in branches)
    kept = (True, *needed)  # operand 0 is the index
    return eqn.replace(
        params={**eqn.params, "branches": pruned},
        invars=[a for a, n in zip(eqn.invars, kept, strict=True) if n],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
    )


def _places_of_residuals(
    programs: Sequence[ClosedJaxpr], n_out: int
) -> tuple[tuple[AbstractValue, ...], list[int], list[tuple[int, ...]]]:
    """Assigns each residual of the branches to a shared result slot, or to the operand that it is.

    Args:
      programs: the known parts of the branches.
      n_out: number of results before the residuals.

    Returns: a tuple (types of the result slots; indices of the operands that are residuals of some
      branch; for each branch, the positions of its residuals in the list of the slots, followed by
      these operands).
    """
    sources: list[list[int | None]] = []
    for program in programs:
        operands: dict[Any, int] = {v: k for k, v in enumerate(program.jaxpr.invars)}
        residuals = program.jaxpr.outvars[n_out:]
        sources.append([None if type(v) is Literal else operands.get(v) for v in residuals])
    kept = [*dict.fromkeys([k for row in sources for k in row if k is not None])]
    computed: list[Sequence[Any]] = [
        [a for a, k in zip(program.out_avals[n_out:], row, strict=True) if k is None]
        for program, row in zip(programs, sources, strict=True)
    ]
    slots, shared = _shared_slots(computed)
    places: list[tuple[int, ...]] = []
    for row, own_slots in zip(sources, shared, strict=True):
        next_slots = iter(own_slots)
        places.append(
            tuple([next(next_slots) if k is None else len(slots) + kept.index(k) for k in row])
        )
    return slots, kept, places


def _shared_slots(
    residuals: list[Sequence[Any]],
) -> tuple[tuple[AbstractValue, ...], list[tuple[int, ...]]]:
    """Assigns residuals to slots, which branches share for residuals of the same type.

    Returns: a pair (types of the slots; for each branch, the slots of its residuals).
    """
    slots: list[Any] = []
    places: list[tuple[int, ...]] = []
    for avals in residuals:
        own_slots: list[int] = []
        for aval in avals:
            free = (k for k, s in enumerate(slots) if s == aval and k not in own_slots)
            place = next(free, len(slots))
            if place == len(slots):
                slots.append(aval)
            own_slots.append(place)
        places.append(tuple(own_slots))
    return tuple(slots), places


@memoize_by_identity
def _with_other_residuals(
    closed: ClosedJaxpr, n_out: int, slots: tuple[Any, ...], own_places: tuple[int, ...]
) -> ClosedJaxpr:
    """Makes `closed` return its residuals in their slots, and dummy values in the other slots.

    A residual whose position is beyond the slots is an operand, and is not returned.
    """

    def fun(*args: Value) -> list[Value]:
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        filled: list[Value] = [_filler(aval) for aval in slots]
        for place, x in zip(own_places, outs[n_out:], strict=True):
            if place < len(slots):
                filled[place] = x
        return [*outs[:n_out], *filled]

    return retrace("cond", fun, closed.in_avals, closed)


def _filler(aval: AbstractValue) -> Array:
    scalar = empty2_p.bind(dtype=aval.dtype, memory_space=MemorySpace.Device)
    if not aval.shape:
        return scalar
    return calculus.broadcast_in_dim(scalar, shape=aval.shape, broadcast_dimensions=())


@memoize_by_identity
def _taking_residuals(
    closed: ClosedJaxpr, slots: tuple[Any, ...], own_places: tuple[int, ...]
) -> ClosedJaxpr:
    """Makes `closed` take the residuals of all branches, whose types are `slots`."""
    avals = [*slots, *closed.in_avals[len(own_places) :]]

    def fun(*args: Value) -> list[Value]:
        own = [*(args[place] for place in own_places), *args[len(slots) :]]
        return eval_jaxpr(closed.jaxpr, closed.consts, *own)

    return retrace("cond", fun, avals, closed)


@cond_p.logged_transpose
def _cond_transpose(
    cts: Sequence[Cotangent],
    index: Value,
    *operands: Operand,
    branches: tuple[ClosedJaxpr, ...],
    **params: object,
) -> tuple[Sequence[Cotangent | None], Log]:
    cts = of_own_dtypes(cts, branches[0].out_avals)
    linear = tuple([type(x) is UndefinedPrimal for x in operands])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    avals = tuple([x.aval.to_cotangent_aval() for x in operands if type(x) is UndefinedPrimal])
    transposed = transposed_branches(branches, linear, nonzero, weakness_of(cts), avals)
    inputs = [x for x, lin in zip(operands, linear, strict=True) if not lin]
    inputs += [ct for ct in cts if type(ct) is not Zero]
    outs = iter(bind_branches(index, inputs, transposed.programs, params))
    flags = iter(transposed.has_ct)
    operand_cts = [next(outs) if lin and next(flags) else None for lin in linear]
    return [None, *operand_cts], transposed.log_of(as_value(index), outs)


def _refuse_side_effects(branches: Sequence[ClosedJaxpr]) -> None:
    """Raises NotImplementedError if a branch has effects that only a selected branch may have."""
    if any(isinstance(e, InputEffect) for b in branches for e in b.effects):
        # All branches run, so each would change the contents of the reference for all indices.
        raise NotImplementedError(
            "vmap of cond with a batched predicate: a branch writes to a Ref, but all branches "
            "are executed, so each would write. Use one predicate for the whole batch, or write "
            "outside the branches"
        )
    if any(has_io(b.effects) for b in branches):
        raise NotImplementedError(
            "vmap of cond with a batched predicate: a branch calls io_callback, or another "
            "function with side effects, but all branches are executed. Use one predicate for "
            "the whole batch"
        )


@cond_p.batch_with_axis
def _cond_batch_with_axis(
    axis_data: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    branches: tuple[ClosedJaxpr, ...],
    **params: object,
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    index, *operands = args
    batched = tuple(d is not None for d in dims[1:])
    moved = [
        x if d is None else rules.move_axis(x, d, 0)
        for x, d in zip(operands, dims[1:], strict=True)
    ]
    if dims[0] is None:
        batched_of_branches = [batch_jaxpr(b, axis_data, batched, False)[1] for b in branches]
        some = tuple(any(column) for column in zip(*batched_of_branches, strict=True))
        programs = [batch_jaxpr(b, axis_data, batched, some)[0] for b in branches]
        outs = bind_branches(index, moved, programs, params)
        return outs, [0 if s else None for s in some]
    _refuse_side_effects(branches)
    # Every branch is executed for all indices. At an index that does not take a branch, the operands
    # of the branch are constants in differentiation, so that they do not contribute NaNs.
    size = axis_data.size
    kept = forwarded_by_all(branches)
    whole = [rules.to_front(x, 0 if b else None, size) for x, b in zip(moved, batched, strict=True)]
    index = rules.move_axis(index, dims[0], 0)
    results: list[list[Any]] = []
    for i, branch in enumerate(branches):
        chosen = calculus.eq(index, np.int32(i))
        inputs = [_masked(chosen, x) for x in whole]
        program = batch_jaxpr(branch, axis_data, (True,) * len(whole), True)[0]
        results.append(eval_jaxpr(program.jaxpr, program.consts, *inputs))
    outs: list[Any] = []
    places: list[int | None] = []
    for source, column in zip(kept, zip(*results, strict=True), strict=True):
        if source is not None:  # every branch returns this operand unchanged
            outs.append(moved[source])
            places.append(0 if batched[source] else None)
            continue
        places.append(0)
        shape = rules.shape_of(column[0])
        spread = index
        if len(shape) > 1:
            spread = calculus.broadcast_in_dim(index, shape=shape, broadcast_dimensions=(0,))
        outs.append(calculus.select_n(spread, *column))
    return outs, places


def _masked(chosen: Array, x: Value) -> Value:
    if not dtypes.issubdtype(rules.aval_of(x).dtype, np.inexact):
        return x
    shape = rules.shape_of(x)
    if len(shape) > 1:
        chosen = calculus.broadcast_in_dim(chosen, shape=shape, broadcast_dimensions=(0,))
    return calculus.select_n(chosen, calculus.stop_gradient(x), x)


def _print_cond(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    shown = [("branches", eqn.params["branches"])]
    if "branches_platforms" in eqn.params:
        shown.append(("branches_platforms", eqn.params["branches_platforms"]))
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["cond"] = _print_cond


@cond_p.key_use
def _cond_key_use(_: object, *, branches: Sequence[ClosedJaxpr], **__: object) -> KeyUse:
    use = use_of_branches(branches)
    return KeyUse(
        tuple([(i + 1, mask) for i, mask in use.consumed]),
        use.new,
        tuple([(i + 1, out) for i, out in use.forwarded]),
    )
