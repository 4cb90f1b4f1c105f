"""The `jit` primitive: a call of a program from within another program.

Evaluation compiles and runs the program. Lowering inlines it, so nested calls are compiled to one
executable. The printing rule shows the inner program with the variable names of the outer program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.compiler import lower as lowering
from jitney.core.program import text
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jitney.core.program.key_reuse import KeyUse, use_of_program
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.sharding.partition_spec import names_of
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import set_current_trace
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.primitives.array.resharding import divided
from jitney.primitives.call.inlined import calls_program, other_dtypes, transposed_call
from jitney.runtime.devices.sharding import UNSPECIFIED
from jitney.transforms.batch import AxisData, batch_jaxpr_at
from jitney.transforms.jet import jet_jaxpr, present, types_of, unpacked
from jitney.transforms.jvp import jvp_jaxpr
from jitney.transforms.logs import flat_log
from jitney.transforms.partial import PartialTrace, dce_closed, trace_partially
from jitney.transforms.transpose import (
    TransposedProgram,
    UndefinedPrimal,
    logged_backward_pass,
)
from jitney.transforms.zero import Zero, with_zeros

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.types.avals import AbstractValue
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
    from jitney.transforms import jet
    from jitney.transforms.logs import Log

jit_p = declare("jit", multiple_results=True)
calls_program(jit_p, "jaxpr", lowered=False)
jit_p.absent(
    "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
)


@jit_p.lower
def _jit_lower(
    b: Builder,
    *nodes: Node,
    jaxpr: ClosedJaxpr,
    in_shardings: Sequence[object],
    out_shardings: Sequence[object],
    **_: object,
) -> list[Node]:
    operands = [divided(b, x, place) for x, place in zip(nodes, in_shardings, strict=True)]
    outs = lowering.inline(b, jaxpr, operands)
    return [divided(b, x, place) for x, place in zip(outs, out_shardings, strict=True)]


def call_params(
    params: dict[str, Any],
    jaxpr: ClosedJaxpr,
    in_shardings: Sequence[object] | None = None,
    out_shardings: Sequence[object] | None = None,
) -> dict[str, object]:
    """Returns the parameters of a call, adapted to the program `jaxpr` and to the given shardings.

    Layouts are reset to None, and no operand is donated.
    """
    n_in, n_out = len(jaxpr.in_avals), len(jaxpr.out_avals)
    return {
        **params,
        "jaxpr": jaxpr,
        "in_shardings": (UNSPECIFIED,) * n_in if in_shardings is None else tuple(in_shardings),
        "out_shardings": (UNSPECIFIED,) * n_out if out_shardings is None else tuple(out_shardings),
        "in_layouts": (None,) * n_in,
        "out_layouts": (None,) * n_out,
        "donated_invars": (False,) * n_in,
    }


@jit_p.jvp
def _jit_jvp(
    primals: Primals, tangents: Tangents, *, jaxpr: ClosedJaxpr, **params: object
) -> tuple[Sequence[Value], Sequence[Tangent]]:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    program, nonzero_out = jvp_jaxpr(jaxpr, nonzero, False)
    nonzero_tangents = [t for t in tangents if not isinstance(t, Zero)]
    both = [
        (*places, *[place for place, has in zip(places, some, strict=True) if has])
        for places, some in (
            (cast("Sequence[object]", params["in_shardings"]), nonzero),
            (cast("Sequence[object]", params["out_shardings"]), nonzero_out),
        )
    ]
    outs = jit_p.bind(*primals, *nonzero_tangents, **call_params(params, program, *both))
    n = len(jaxpr.out_avals)
    return outs[:n], with_zeros(
        outs[n:], nonzero_out, [a.to_tangent_aval() for a in jaxpr.out_avals]
    )


@jit_p.jet
def _jit_jet(
    primals: Primals, series: Sequence[jet.Terms], *, jaxpr: ClosedJaxpr, **params: object
) -> tuple[Sequence[Value], Sequence[jet.Terms]]:
    program, out_terms = jet_jaxpr(jaxpr, types_of(series), len(series[0]))
    outs = jit_p.bind(*primals, *present(series), **call_params(params, program))
    n = len(jaxpr.out_avals)
    return outs[:n], unpacked(outs[n:], jaxpr.out_avals, out_terms)


@jit_p.partial
def _jit_partial(
    trace: PartialTrace, unknown: Sequence[bool], args: Sequence[Value], params: dict[str, Any]
) -> list[Value]:
    return divided_call(
        trace,
        unknown,
        args,
        params["jaxpr"],
        lambda known, operands: jit_p.bind(*operands, **call_params(params, known)),
        lambda late, operands: trace.unknown_trace.process_primitive(
            jit_p, operands, call_params(params, late)
        ),
    )


def divided_call(
    trace: PartialTrace,
    unknown: Sequence[bool],
    args: Sequence[Value],
    program: ClosedJaxpr,
    call: Callable[[ClosedJaxpr, list[Any]], Sequence[Any]],
    record: Callable[[ClosedJaxpr, list[Any]], Sequence[Any]],
) -> list[Value]:
    """Partially evaluates a call: runs the known part, and records a call of the remainder.

    Args:
      trace: the partial evaluation trace.
      unknown: whether each operand is unknown.
      args: the operands.
      program: the called program.
      call: a function that calls a program on known operands.
      record: a function that records a call of a program on residuals and unknown operands.

    Returns: the results of the call, known and unknown.
    """
    known, late, out_unknown, n_residuals = trace_partially(program, unknown, False)
    known_args = [x for x, u in zip(args, unknown, strict=True) if not u]
    outs: list[Any] = []
    if known.out_avals or known.effects:
        known, places = without_forwarded(known)
        is_called = bool(known.out_avals or known.effects)
        with set_current_trace(trace.parent_trace):
            computed = iter(call(known, known_args) if is_called else ())
        outs = [known_args[k] if k is not None else next(computed) for k in places]
    n_known = len(outs) - n_residuals
    residuals = outs[n_known:]
    unknown_args = [x for x, u in zip(args, unknown, strict=True) if u]
    late_outs = iter(record(late, [*residuals, *unknown_args]))
    known_outs = iter(outs[:n_known])
    return [next(late_outs) if u else next(known_outs) for u in out_unknown]


@jit_p.dce
def _jit_dce(used: list[bool], eqn: JaxprEqn) -> JaxprEqn:
    program, needed = dce_closed(eqn.params["jaxpr"], tuple(used), False)
    return eqn.replace(
        params=call_params(eqn.params, program),
        invars=[a for a, n in zip(eqn.invars, needed, strict=True) if n],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
    )


def without_forwarded(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, tuple[int | None, ...]]:
    """Drops the results of `closed` that are operands.

    Returns: a pair (program, for each result of `closed`, the index of the operand that it is, or
      None).
    """
    rest, places = _results_computed(closed)
    return closed if rest is None else rest, places


@memoize_by_identity
def _results_computed(closed: ClosedJaxpr) -> tuple[ClosedJaxpr | None, tuple[int | None, ...]]:
    """Computes `without_forwarded`, but returns None in place of an unchanged `closed`.

    Returning `closed` itself would keep its own cache entry alive.
    """
    position = {v: k for k, v in enumerate(closed.jaxpr.invars)}
    places = tuple([position.get(v) if isinstance(v, Var) else None for v in closed.jaxpr.outvars])
    kept = [v for v, k in zip(closed.jaxpr.outvars, places, strict=True) if k is None]
    if len(kept) == len(places):
        return None, places
    return ClosedJaxpr(closed.jaxpr.replace(outvars=kept), closed.consts), places


@jit_p.logged_transpose
def _jit_transpose(
    cts: Sequence[Cotangent], *args: Operand, jaxpr: ClosedJaxpr, **params: object
) -> tuple[Sequence[Cotangent | None], Log]:
    return transposed_call(
        lambda linear, nonzero: transposed_program(
            jaxpr, linear, nonzero, weakness_of(cts), other_dtypes(cts, jaxpr.out_avals)
        ),
        lambda program, operands: jit_p.bind(*operands, **call_params(params, program)),
        cts,
        args,
    )


def weakness_of(cts: Sequence[Cotangent]) -> tuple[bool, ...]:
    """Returns whether each nonzero cotangent is weakly typed."""
    types = [get_aval(ct) for ct in cts if type(ct) is not Zero]
    return tuple([isinstance(a, ShapedArray) and a.weak_type for a in types])


def with_weakness(avals: Sequence[AbstractValue], weak: Sequence[bool]) -> list[AbstractValue]:
    """Sets the weak types of array types to `weak`; leaves other types unchanged."""
    return [
        a.update(weak_type=w) if isinstance(a, ShapedArray) and a.weak_type != w else a
        for a, w in zip(avals, weak, strict=True)
    ]


@memoize_by_identity
def transposed_program(
    closed: ClosedJaxpr,
    linear: tuple[bool, ...],
    nonzero: tuple[bool, ...],
    weak: tuple[bool, ...] | None = None,
    dtypes: tuple[np.dtype[Any] | None, ...] | None = None,
) -> TransposedProgram:
    """Transposes `closed`: the new program computes cotangents of its linear operands.

    Args:
      closed: a program that is linear in some operands.
      linear: whether it is linear in each operand.
      nonzero: whether each result has a nonzero cotangent.
      weak: whether each nonzero cotangent is weakly typed; by default, it is if the result is.
      dtypes: the dtype of each nonzero cotangent, or None if it is that of the result's cotangent
        type; see `other_dtypes`.
    """
    has_ct: tuple[bool, ...] = ()
    log_tree: Any = None

    def fun(*xs: Value) -> list[Value]:
        nonlocal has_ct, log_tree
        values = iter(xs)
        operands = [
            UndefinedPrimal(a) if lin else next(values)
            for a, lin in zip(closed.in_avals, linear, strict=True)
        ]
        cts = with_zeros(values, nonzero, [a.to_cotangent_aval() for a in closed.out_avals])
        out, log = logged_backward_pass(closed.jaxpr, closed.consts, operands, cts)
        wanted = [ct for ct, lin in zip(out, linear, strict=True) if lin]
        has_ct = tuple([type(ct) is not Zero for ct in wanted])
        entries, log_tree = flat_log(log)
        return [*(ct for ct in wanted if not isinstance(ct, Zero)), *entries]

    avals = [a for a, lin in zip(closed.in_avals, linear, strict=True) if not lin]
    of_cts = [a.to_cotangent_aval() for a, nz in zip(closed.out_avals, nonzero, strict=True) if nz]
    if dtypes is not None:
        of_cts = [
            a if dtype is None else a.update(dtype=dtype)
            for a, dtype in zip(of_cts, dtypes, strict=True)
        ]
    avals += of_cts if weak is None else with_weakness(of_cts, weak)
    info = closed.jaxpr.debug_info.then("transpose")
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return TransposedProgram(ClosedJaxpr(jaxpr, consts), has_ct, log_tree)


@jit_p.batch_with_axis
def _jit_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, jaxpr: ClosedJaxpr, **params: object
) -> tuple[Sequence[Value], Sequence[BatchDim]]:
    program, out_dims = batch_jaxpr_at(jaxpr, axis_data, tuple(dims))
    names = () if axis_data.spmd_name is None else names_of(axis_data.spmd_name)
    both = [
        [
            place if d is None else explicit.batched(place, d, names)
            for place, d in zip(cast("Sequence[object]", params[side]), ds, strict=True)
        ]
        for side, ds in (("in_shardings", dims), ("out_shardings", out_dims))
    ]
    return jit_p.bind(*args, **call_params(params, program, *both)), out_dims


def _print_jit(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    params = eqn.params
    shown: list[tuple[str, Any]] = [("name", params["name"])]
    if any(params["donated_invars"]):
        shown.append(("donated_invars", params["donated_invars"]))
    if any([place is not UNSPECIFIED for place in params["in_shardings"]]):
        shown.append(("in_shardings", params["in_shardings"]))
    shown.append(("jaxpr", params["jaxpr"]))
    if params["keep_unused"]:
        shown.append(("keep_unused", True))
    if any([place is not UNSPECIFIED for place in params["out_shardings"]]):
        shown.append(("out_shardings", params["out_shardings"]))
    inner = params["jaxpr"].jaxpr
    if inner not in context.shared:
        _share_names(eqn, inner, context)
    return text.eqn_with_params(eqn, shown, context, settings)


def _share_names(eqn: JaxprEqn, inner: Jaxpr, context: text.Context) -> None:
    """Gives the operands and results of the inner program their names in the outer program."""
    used_names: set[str] = set()
    for var, atom in zip(inner.invars, eqn.invars, strict=True):
        if isinstance(atom, Literal):
            continue
        name = context.name(atom)
        if name not in used_names:
            used_names.add(name)
            context.var_names[var] = name
    for outer in eqn.outvars:
        context.name(outer)
    for atom, outer in zip(inner.outvars, eqn.outvars, strict=True):
        if isinstance(atom, Var) and atom not in context.var_names:
            context.var_names[atom] = context.name(outer)


text.printing_rules["jit"] = _print_jit


@jit_p.key_use
def _jit_key_use(_: object, *, jaxpr: ClosedJaxpr, **__: object) -> KeyUse:
    return use_of_program(jaxpr.jaxpr)
