"""The primitive `scan`: a loop over the rows of arrays with a carry.

The operands are constants, carries, and arrays of which each iteration takes a row. The results are
carries, and arrays to which each iteration adds a row. Residuals for the backward loop are stacked
like results; loop-invariant residuals are stored once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.compiler import lower as lowering
from jitney.core.program.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var
from jitney.core.program.key_reuse import KeyUse, check_repeated, use_of_program, use_of_rows
from jitney.core.sharding_in_types import varying
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import set_current_trace
from jitney.core.types.avals import get_aval
from jitney.core.types.effects import moved
from jitney.core.util.fixpoint import least_fixpoint, least_fixpoint_by
from jitney.primitives import flat_trees, rules
from jitney.primitives.call.call import weakness_of
from jitney.primitives.call.inlined import of_own_dtypes
from jitney.primitives.control.high import rows_type, scan_on_arrays
from jitney.primitives.control.scan_backward import backward_program
from jitney.primitives.control.scan_orders import regrouped, reordered
from jitney.primitives.control.steps import scan_by_steps
from jitney.primitives.flat_trees import (
    FlatTree,
    group,
    kept,
    lists,
    split,
)
from jitney.transforms import jet
from jitney.transforms.batch import AxisData, batch_jaxpr
from jitney.transforms.discharge import discharge, with_contents
from jitney.transforms.jvp import jvp_jaxpr
from jitney.transforms.partial import PartialTrace, dce_closed, dce_jaxpr, trace_partially
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero, instantiate, with_zeros

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.types.effects import Effects
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Param,
        Primals,
        Tangent,
        Tangents,
        Value,
    )
    from jitney.transforms.logs import Log

T = TypeVar("T")

scan_p = declare("scan", multiple_results=True)
scan_p.communication(communication.of_contents)
scan_p.varying(varying.as_declared)
scan_p.declares_sharding = True
scan_p.effectful = True

_INT32 = np.dtype(np.int32)


@scan_p.abstract
def _scan_abstract(
    *avals: AbstractValue, jaxpr: ClosedJaxpr, length: int, ft_out: FlatTree, **_: object
) -> tuple[list[AbstractValue], Effects]:
    outs = jaxpr.out_avals
    num_carry = len(ft_out.elts[0])
    effects = jaxpr.effects and moved(jaxpr.effects, -len(jaxpr.jaxpr.constvars))
    return [*outs[:num_carry], *(rows_type(a, length) for a in outs[num_carry:])], effects


@scan_p.discharge
def _scan_discharge(
    which: tuple[bool, ...], *values: Value, **params: Param
) -> tuple[Sequence[Value], Sequence[Value | None]]:
    """Discharges references: changed contents become carries, and written rows become results."""
    n_consts, n_carry = flat_trees.sizes(params)
    m = n_consts + n_carry
    closed: ClosedJaxpr = params["jaxpr"]
    program, changed = discharge(closed, which)
    n_out = len(closed.out_avals)
    held = [k for k in range(n_consts) if changed[k]]
    kept = [k for k in range(n_consts) if not changed[k]]
    n_rows = sum(changed[m:])
    operands = [*kept, *held, *range(n_consts, len(values))]
    last = range(n_out, n_out + len(held))
    results = [*last, *range(n_out), *range(n_out + len(held), n_out + len(held) + n_rows)]
    outs = _bind(
        [values[k] for k in kept],
        [values[k] for k in (*held, *range(n_consts, m))],
        values[m:],
        reordered(program, operands, results),
        params,
    )
    reordered_outs = [
        *outs[len(held) : len(held) + n_out],
        *outs[: len(held)],
        *outs[len(held) + n_out :],
    ]
    return with_contents(changed, reordered_outs, n_out)


@scan_p.lojax
def _scan_lojax(*values: Value, **params: Param) -> list[Value]:
    return scan_on_arrays(values, params, _bind, reordered)


@scan_p.lower
def _scan_lower(
    b: Builder,
    *nodes: Node,
    jaxpr: ClosedJaxpr,
    length: int,
    ft_in: FlatTree,
    reverse: bool,
    **_: Any,
) -> list[Node]:
    n_consts, n_carry = len(ft_in.elts[0]), len(ft_in.elts[1])
    xs = nodes[n_consts + n_carry :]
    y_types = [lowering.tensor_type(a) for a in jaxpr.out_avals[n_carry:]]
    stacked = [b.full((length, *t.shape), 0, t.dtype) for t in y_types]
    if length == 0:
        return [*nodes[n_consts : n_consts + n_carry], *stacked]
    n_nodes = len(nodes)

    def step(inner: Builder, i: Node, *carried: Node) -> list[Node]:
        consts = carried[:n_consts]
        carry = carried[n_consts : n_consts + n_carry]
        rows, ys = carried[n_consts + n_carry : n_nodes], carried[n_nodes:]
        at = inner.apply("sub", inner.full((), length - 1, _INT32), i) if reverse else i
        picked = [inner.row(x, at) for x in rows]
        outs = lowering.inline(inner, jaxpr, [*consts, *carry, *picked])
        new_ys = [inner.with_row(old, at, y) for old, y in zip(ys, outs[n_carry:], strict=True)]
        return [*consts, *outs[:n_carry], *rows, *new_ys]

    outs = b.for_(length, [*nodes, *stacked], step)
    return [*outs[n_consts : n_consts + n_carry], *outs[len(xs) + n_consts + n_carry :]]


scan_p.absent("eager", why="evaluated whole, as a compiled program (runtime.eager)")
scan_p.by_steps(scan_by_steps)


def _split(args: Sequence[T], params: dict[str, Any]) -> tuple[list[T], list[T], list[T]]:
    n, n_carry = flat_trees.sizes(params)
    m = n + n_carry
    return list(args[:n]), list(args[n:m]), list(args[m:])


def _bind(
    consts: Sequence[Value],
    carry: Sequence[Value],
    xs: Sequence[Value],
    jaxpr: ClosedJaxpr,
    params: dict[str, Any],
    ft_in: FlatTree | None = None,
    ft_out: FlatTree | None = None,
) -> list[Value]:
    """Binds `scan`; operands and results are grouped as flat lists by default."""
    n = len(carry)
    changed = {
        "jaxpr": jaxpr,
        "ft_in": ft_in or flat_trees.operands(len(consts), n, len(xs)),
        "ft_out": ft_out or flat_trees.results(n, len(jaxpr.out_avals) - n),
    }
    return scan_p.bind(*consts, *carry, *xs, **{**params, **changed})


# --- rules --------------------------------------------------------------------------------------


@scan_p.jvp
def _scan_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    jaxpr: ClosedJaxpr = params["jaxpr"]
    consts, init, xs = _split(primals, params)
    consts_t, init_t, xs_t = _split(tangents, params)
    const_nz, xs_nz = ([type(t) is not Zero for t in ts] for ts in (consts_t, xs_t))
    carry_nz = [type(t) is not Zero for t in init_t]
    n_carry, n_out = len(init), len(jaxpr.out_avals)
    ys = (False,) * (n_out - n_carry)

    def analyze(
        carry_nz: list[bool],
    ) -> tuple[tuple[ClosedJaxpr, tuple[bool, ...]], tuple[bool, ...]]:
        raw, raw_nonzero = jvp_jaxpr(jaxpr, (*const_nz, *carry_nz, *xs_nz), (*carry_nz, *ys))
        return (raw, raw_nonzero), raw_nonzero[:n_carry]

    carry_nz, (raw, raw_nonzero) = least_fixpoint(analyze, carry_nz)
    n_dcarry = sum(carry_nz)
    sizes = [len(consts), n_carry, len(xs), sum(const_nz), n_dcarry, sum(xs_nz)]
    program = regrouped(raw, sizes, n_out)
    carry_tangents = [instantiate(t) for t, nz in zip(init_t, carry_nz, strict=True) if nz]
    present = (const_nz, carry_nz, xs_nz), (carry_nz, raw_nonzero[n_carry:])
    const_tangents: list[Any] = [t for t in consts_t if type(t) is not Zero]
    x_tangents: list[Any] = [t for t in xs_t if type(t) is not Zero]
    outs = _bind(
        [*consts, *const_tangents],
        [*init, *carry_tangents],
        [*xs, *x_tangents],
        program,
        params,
        *[
            group(*[group(t, kept(t, nz)) for t, nz in zip(tree.elts, by, strict=True)])
            for tree, by in zip((params["ft_in"], params["ft_out"]), present, strict=True)
        ],
    )
    carry_out, remaining = outs[:n_carry], outs[n_carry:]
    dcarry, remaining = remaining[:n_dcarry], remaining[n_dcarry:]
    ys_out, dys = remaining[: n_out - n_carry], remaining[n_out - n_carry :]
    avals = [get_aval(x).to_tangent_aval() for x in [*carry_out, *ys_out]]
    nonzero_out = (*carry_nz, *raw_nonzero[n_carry:])
    return [*carry_out, *ys_out], with_zeros([*dcarry, *dys], nonzero_out, avals)


@scan_p.jet
def _scan_jet(
    primals: Primals, series: Sequence[jet.Terms], **params: Param
) -> tuple[Sequence[Value], Sequence[jet.Terms]]:
    jaxpr: ClosedJaxpr = params["jaxpr"]
    parts, terms = _split(primals, params), _split(series, params)
    present_terms = [
        jet.tangent_types_of(t, avals)
        for t, avals in zip(terms, _split(jaxpr.in_avals, params), strict=True)
    ]
    order, n_carry, n_out = len(series[0]), len(parts[1]), len(jaxpr.out_avals)
    no_rows = ((None,) * order,) * (n_out - n_carry)

    def analyze(carry: jet.Present) -> tuple[tuple[ClosedJaxpr, jet.Present], jet.Present]:
        operands = (*present_terms[0], *carry, *present_terms[2])
        raw, out_terms = jet.jet_jaxpr(jaxpr, operands, order, (*carry, *no_rows))
        return (raw, out_terms), out_terms[:n_carry]

    present_terms[1], (raw, out_terms) = least_fixpoint_by(analyze, present_terms[1], jet.joined)
    sizes = [*map(len, parts), *map(jet.number_of, present_terms)]
    program = regrouped(raw, sizes, n_out)
    consts, carry, xs = (
        [*values, *jet.packed(t, g)]
        for values, t, g in zip(parts, terms, present_terms, strict=True)
    )
    outs = _bind(consts, carry, xs, program, params)
    n = n_carry + sizes[4]
    results = [*outs[:n_carry], *outs[n : n + n_out - n_carry]]
    flat_terms = [*outs[n_carry:n], *outs[n + n_out - n_carry :]]
    return results, jet.unpacked(
        flat_terms, jaxpr.out_avals, (*present_terms[1], *out_terms[n_carry:])
    )


@scan_p.partial
def _scan_partial(
    trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
) -> list[Value]:
    jaxpr: ClosedJaxpr = params["jaxpr"]
    const_u, carry_u, xs_u = _split(unknown, params)
    consts, init, xs = _split(args, params)
    n_carry, n_out = len(init), len(jaxpr.out_avals)
    ys_known = [False] * (n_out - n_carry)

    def analyze(
        carry_u: list[bool],
    ) -> tuple[tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], int], tuple[bool, ...]]:
        mask = [*const_u, *carry_u, *xs_u]
        parts = trace_partially(jaxpr, mask, [*carry_u, *ys_known])
        return parts, parts[2][:n_carry]

    carry_u, (known, late, out_u, n_res) = least_fixpoint(analyze, carry_u)
    known_consts = [x for x, u in zip(consts, const_u, strict=True) if not u]
    known_init = [x for x, u in zip(init, carry_u, strict=True) if not u]
    known_xs = [x for x, u in zip(xs, xs_u, strict=True) if not u]
    n_known_out = len(known.jaxpr.outvars) - n_res
    residual_vars = known.jaxpr.outvars[n_known_out:]
    # Loop-invariant residuals are passed once, not once per iteration.
    invariant = _positions(residual_vars, known.jaxpr.invars[: len(known_consts)])
    forwarded = _positions(residual_vars, known.jaxpr.invars[len(known_consts) + len(known_init) :])
    stacked = [k for k in range(n_res) if invariant[k] is None and forwarded[k] is None]
    results = [*range(n_known_out), *(n_known_out + k for k in stacked)]
    known_program = reordered(known, range(len(known.jaxpr.invars)), results)
    known_in, late_in = zip(
        *map(split, params["ft_in"].elts, (const_u, carry_u, xs_u)), strict=True
    )
    carry_out, ys_out = map(split, params["ft_out"].elts, (carry_u, out_u[n_carry:]))
    known_out = group(carry_out[0], group(ys_out[0], flat_trees.values(len(stacked))))
    with set_current_trace(trace.parent_trace):
        outs = _bind(
            known_consts, known_init, known_xs, known_program, params, group(*known_in), known_out
        )
    rows = dict(zip(stacked, outs[n_known_out:], strict=True))
    res_rows = [k for k in range(n_res) if invariant[k] is None]
    values = [
        *(known_consts[at] for at in invariant if at is not None),
        *(x for x, u in zip(args, [*const_u, *carry_u, *xs_u], strict=True) if u),
        *(rows[k] if (at := forwarded[k]) is None else known_xs[at] for k in res_rows),
    ]
    late_out = group(carry_out[1], ys_out[1])
    late_params = {**params, **_late_loop(late, invariant, late_in), "ft_out": late_out}
    late_params, needed, _ = _pruned(late_params, [True] * len(late.jaxpr.outvars))
    values = [x for x, n in zip(values, needed, strict=True) if n]
    late_outs = iter(trace.unknown_trace.process_primitive(scan_p, values, late_params))
    known_outs = iter(outs[:n_known_out])
    return [next(late_outs) if u else next(known_outs) for u in out_u]


def _positions(atoms: Sequence[Atom], among: Sequence[Var]) -> list[int | None]:
    """Returns the index of each of `atoms` in `among`, or None."""
    place = {v: k for k, v in enumerate(among)}
    return [place.get(v) if isinstance(v, Var) else None for v in atoms]


def _late_loop(
    late: ClosedJaxpr, invariant: Sequence[int | None], trees: Sequence[FlatTree]
) -> dict[str, object]:
    """Returns the body and the operand grouping of the loop that runs on unknown operands.

    Args:
      late: the body, which takes residuals, then the unknown constants, carries and rows.
      invariant: for each residual, None if it becomes rows; otherwise it becomes a constant.
      trees: structures of the unknown constants, carries and rows.
    """
    res_consts = [k for k, at in enumerate(invariant) if at is not None]
    res_rows = [k for k, at in enumerate(invariant) if at is None]
    operands = [*res_consts, *range(len(invariant), len(late.jaxpr.invars)), *res_rows]
    consts, carry, xs = trees
    return {
        "jaxpr": reordered(late, operands, range(len(late.jaxpr.outvars))),
        "ft_in": group(
            group(flat_trees.values(len(res_consts)), consts),
            carry,
            group(xs, flat_trees.values(len(res_rows))),
        ),
    }


def _pruned(
    params: dict[str, Any], used: Sequence[bool]
) -> tuple[dict[str, object], tuple[bool, ...], tuple[bool, ...]]:
    """Prunes a scan to the `used` results; returns (parameters, operands kept, results kept).

    Unused results are not stacked; carries on which no used result depends are dropped.
    """
    n_consts, n_carry = flat_trees.sizes(params)

    def analyze(carried: list[bool]) -> tuple[tuple[tuple[bool, ...], int], list[bool]]:
        wanted = (*carried, *used[n_carry:])
        _, needed = dce_jaxpr(params["jaxpr"].jaxpr, wanted)
        return (wanted, len(needed)), needed[n_consts : n_consts + n_carry]

    carried, (wanted, n_operands) = least_fixpoint(analyze, used[:n_carry])
    stay = (*[False] * n_consts, *carried, *[False] * (n_operands - n_consts - n_carry))
    program, needed = dce_closed(params["jaxpr"], wanted, stay)
    if all(needed) and all(wanted):
        return {**params, "jaxpr": program}, needed, wanted
    groups = {"ft_in": kept(params["ft_in"], needed), "ft_out": kept(params["ft_out"], wanted)}
    return {**params, **groups, "jaxpr": program}, needed, wanted


@scan_p.dce
def _scan_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    params, needed, wanted = _pruned(eqn.params, used)
    return eqn.replace(
        params=params,
        invars=[a for a, need in zip(eqn.invars, needed, strict=True) if need],
        outvars=[v for v, w in zip(eqn.outvars, wanted, strict=True) if w],
    )


@scan_p.logged_transpose
def _scan_transpose(
    cts: Sequence[Cotangent], *args: Operand, **params: Param
) -> tuple[Sequence[Cotangent | None], Log]:
    """Returns the cotangents of the linear operands, and the log.

    Results without a cotangent are pruned first, since 0 times an infinite derivative would be NaN.
    """
    cts = of_own_dtypes(cts, params["jaxpr"].out_avals)
    used = [type(ct) is not Zero for ct in cts]
    if all(used):
        return _transposed(cts, *args, **params)
    less, needed, wanted = _pruned(params, used)
    operands = [x for x, need in zip(args, needed, strict=True) if need]
    operand_cts, log = _transposed(
        [ct for ct, w in zip(cts, wanted, strict=True) if w], *operands, **less
    )
    remaining = iter(operand_cts)
    return [
        next(remaining) if n else _no_cotangent(x) for x, n in zip(args, needed, strict=True)
    ], log


def _no_cotangent(x: Operand) -> Zero | None:
    return Zero(x.aval.to_cotangent_aval()) if type(x) is UndefinedPrimal else None


def _transposed(
    cts: Sequence[Cotangent], *args: Operand, **params: Param
) -> tuple[Sequence[Cotangent | None], Log]:
    """Runs the loop backwards, with the cotangents of the carry and of the constants as carries.

    Entries of the log are stacked, with one row per iteration.
    """
    consts, init, xs = _split(args, params)
    ct_carry_out, ct_ys = cts[: len(init)], cts[len(init) :]
    linear_consts = tuple([type(x) is UndefinedPrimal for x in consts])
    linear_xs = tuple([type(x) is UndefinedPrimal for x in xs])
    const_avals = [x.aval.to_cotangent_aval() for x in consts if type(x) is UndefinedPrimal]
    of_carry: list[Any] = [instantiate(ct) for ct in ct_carry_out]
    of_ys: list[Any] = [ct for ct in ct_ys if type(ct) is not Zero]
    known_consts: list[Any] = [x for x in consts if type(x) is not UndefinedPrimal]
    known_xs: list[Any] = [x for x in xs if type(x) is not UndefinedPrimal]
    program = backward_program(
        params["jaxpr"],
        len(init),
        linear_consts,
        linear_xs,
        tuple([type(ct) is not Zero for ct in ct_ys]),
        tuple(const_avals),
        weakness_of([*of_carry, *of_ys]),
    )
    n_lc, n_carry, n_log = len(const_avals), len(init), program.log_tree.num_leaves
    n_consts, n_rows = linear_consts.count(False), linear_xs.count(False)
    outs = _bind(
        known_consts,
        [*(Zero(a).instantiate() for a in const_avals), *of_carry],
        [*of_ys, *known_xs],
        program.closed,
        {**params, "reverse": not params["reverse"]},
        lists(((n_consts, 0), (n_lc, n_carry), (0, len(of_ys), n_rows))),
        group(lists((n_lc, n_carry)), group(lists(sum(linear_xs)), flat_trees.values(n_log))),
    )
    assert len(outs) == n_lc + n_carry + sum(linear_xs) + n_log
    const_out, carry_out = iter(outs[:n_lc]), outs[n_lc : n_lc + n_carry]
    xs_out = iter(outs[n_lc + n_carry :])
    operand_cts = [
        *(next(const_out) if lin else None for lin in linear_consts),
        # The initial carry may be a known zero; the loop is linear in it nevertheless.
        *(
            ct if type(x) is UndefinedPrimal else None
            for ct, x in zip(carry_out, init, strict=True)
        ),
        *(next(xs_out) if lin else None for lin in linear_xs),
    ]
    return operand_cts, program.log_of(xs_out)


@scan_p.batch_with_axis
def _scan_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, **params: Param
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    jaxpr: ClosedJaxpr = params["jaxpr"]
    consts, init, xs = _split(args, params)
    const_d, init_d, xs_d = _split(dims, params)
    carry_b = [d is not None for d in init_d]
    const_b, xs_b = ([d is not None for d in part] for part in (const_d, xs_d))
    n_carry, n_out = len(init), len(jaxpr.out_avals)
    ys = (False,) * (n_out - n_carry)

    def analyze(
        carry_b: list[bool],
    ) -> tuple[tuple[ClosedJaxpr, tuple[bool, ...]], tuple[bool, ...]]:
        batched = (*const_b, *carry_b, *xs_b)
        program, batched_out = batch_jaxpr(jaxpr, axis_data, batched, (*carry_b, *ys))
        return (program, batched_out), batched_out[:n_carry]

    carry_b, (program, batched_out) = least_fixpoint(analyze, carry_b)
    size = axis_data.size
    consts = [
        x if d is None else rules.move_axis(x, d, 0) for x, d in zip(consts, const_d, strict=True)
    ]
    init = [
        rules.to_front(x, d, size) if b else x
        for x, d, b in zip(init, init_d, carry_b, strict=True)
    ]
    # The batch axis of stacked arrays is moved behind axis 0, along which the loop runs.
    xs = [x if d is None else rules.move_axis(x, d, 1) for x, d in zip(xs, xs_d, strict=True)]
    outs = _bind(consts, init, xs, program, params, params["ft_in"], params["ft_out"])
    places = [0 if b else None for b in batched_out[:n_carry]]
    places += [1 if b else None for b in batched_out[n_carry:]]
    return outs, places


@scan_p.key_use
def _scan_key_use(_: object, *, jaxpr: ClosedJaxpr, ft_in: FlatTree, **__: object) -> KeyUse:
    use = use_of_program(jaxpr.jaxpr)
    num_consts, num_carry = len(ft_in.elts[0]), len(ft_in.elts[1])
    check_repeated("the body of a scan", use, num_consts, num_carry, set(use.new))
    return use_of_rows(use, num_consts + num_carry)
