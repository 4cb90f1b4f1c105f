"""Partial evaluation: computes known values, and records operations that depend on unknown ones.

`PartialTrace` passes an operation to its parent trace if all operands are known. All other
operations are recorded in the unknown jaxpr, in which known operands become constants (residuals).
Primitives with programs as parameters (`jit`, `scan`, ...) have a rule `partial` that splits the
program.
"""

# A trace recognizes its tracers by the private attribute `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr, JaxprEqn, Literal, Var
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import DynamicJaxprTracer, JaxprTrace, trace_to_jaxpr
from jitney.core.source import source_info
from jitney.core.tracing.primitive import Primitive, declare_slot
from jitney.core.tracing.trace import (
    CustomCall,
    Trace,
    plain_types,
    revealed,
    set_current_trace,
    state,
)
from jitney.core.types.effects import custom_derivatives_allowed_effects, no_effects

if TYPE_CHECKING:
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Params, Value

# (trace, unknown, args, params) -> results: splits a call of a program into known and unknown
# parts.
PARTIAL = declare_slot("partial")
# (used, eqn) -> the equation without its unused results. A user's rule (`__wrapped__`), which is
# called even if all results are used, may return None to remove the equation.
DCE = declare_slot("dce")


class PartialTrace(Trace):
    """A trace that splits operations between a parent trace and a jaxpr under construction.

    Attributes:
      parent_trace: the trace that computes known values.
      unknown_trace: the trace that records the other operations.
    """

    __slots__ = ("parent_trace", "unknown_trace")

    def __init__(self, parent: Trace, unknown: JaxprTrace) -> None:
        self._invalid = False
        self.parent_trace = parent
        self.unknown_trace = unknown

    def is_unknown(self, x: object) -> bool:
        """Returns whether `x` depends on unknown values."""
        return type(x) is DynamicJaxprTracer and x._trace is self.unknown_trace

    def pure(self, x: Value) -> Value:
        return x if self.is_unknown(x) else self.parent_trace.pure(x)

    lift = pure

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Value], params: Params
    ) -> object:
        if not plain_types.issuperset(map(type, args)):
            args = [revealed(x) for x in args]
        late = self.unknown_trace
        for x in args:  # hot path: runs once per operation, so a loop and no context manager
            if type(x) is DynamicJaxprTracer and x._trace is late:
                break
        else:
            if not primitive.deferred:
                outer, state.trace = state.trace, self.parent_trace
                try:
                    return self.parent_trace.process_primitive(primitive, args, params)
                finally:
                    state.trace = outer
        rule = primitive.rules.get(PARTIAL.name)
        if rule is not None:
            return rule(self, [self.is_unknown(x) for x in args], args, params)
        return late.process_primitive(primitive, args, params)

    def process_custom_jvp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Value]:
        """Calls the function under the parent trace if all operands are known."""
        if any(self.is_unknown(x) for x in leaves):
            return call.as_equation(leaves)
        with set_current_trace(self.parent_trace):
            return call.rebind(leaves)

    process_custom_vjp_call = process_custom_jvp_call

    def __repr__(self) -> str:
        return "JaxprTrace"

    __str__ = __repr__


def trace_unknowns(
    fun: Callable[..., Sequence[Value]], avals: Sequence[AbstractValue], info: DebugInfo
) -> tuple[Jaxpr, list[AbstractValue], list[Value]]:
    """Records operations that depend on a function's arguments, and performs the others.

    Args:
      fun: a function of one value per aval that returns a sequence of values.
      avals: the types of the arguments.
      info: the origin of `fun`.

    Returns: a tuple (jaxpr that computes all results, types of the results, values of the
      constants).
    """
    parent = state.trace
    inner_trace = JaxprTrace(info, parent)
    trace = PartialTrace(parent, inner_trace)
    try:
        args = [inner_trace.new_arg(aval) for aval in avals]
        with set_current_trace(trace), source_info.no_scopes():
            outs = fun(*args)
        tracers = [inner_trace.to_tracer(x) for x in outs]
        jaxpr, consts = inner_trace.to_jaxpr(tracers, info)
        return jaxpr, [t.aval for t in tracers], consts
    finally:
        inner_trace.invalidate()
        trace.invalidate()


def trace_partially(
    closed: ClosedJaxpr, unknown: Sequence[bool], wanted_unknown: Sequence[bool] | bool
) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], int]:
    """Calls `partial_eval_jaxpr`, but takes flags as any sequence, or one flag for all results."""
    wanted = (
        (wanted_unknown,) * len(closed.out_avals)
        if isinstance(wanted_unknown, bool)
        else tuple(wanted_unknown)
    )
    return partial_eval_jaxpr(closed, tuple(unknown), wanted)


@memoize_by_identity
def partial_eval_jaxpr(
    closed: ClosedJaxpr, unknown: tuple[bool, ...], wanted_unknown: tuple[bool, ...]
) -> tuple[ClosedJaxpr, ClosedJaxpr, tuple[bool, ...], int]:
    """Splits `closed` into a program on its known operands and a program for the remainder.

    Args:
      closed: a program.
      unknown: which operands are unknown.
      wanted_unknown: which results to treat as unknown even if they are known.

    Returns: a tuple (known program, unknown program, flags of the unknown results, number of
      residuals), without dead code. The known program maps the known operands to the known results,
      followed by the residuals; the unknown program maps the residuals, followed by the unknown
      operands, to the unknown results.
    """
    parts: list[Any] = []

    def fun(*known_args: Value) -> list[Value]:
        outer = state.trace
        inner_trace = JaxprTrace(closed.jaxpr.debug_info.then("partial"), outer)
        trace = PartialTrace(outer, inner_trace)
        known = iter(known_args)
        args = [
            inner_trace.new_arg(aval) if u else next(known)
            for u, aval in zip(unknown, closed.in_avals, strict=True)
        ]
        with set_current_trace(trace):
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        out_unknown = tuple(
            trace.is_unknown(x) or w for x, w in zip(outs, wanted_unknown, strict=True)
        )
        late = [inner_trace.to_tracer(x) for x, u in zip(outs, out_unknown, strict=True) if u]
        jaxpr, residuals = _live(*inner_trace.to_jaxpr(late, inner_trace.debug_info))
        inner_trace.invalidate()
        trace.invalidate()
        parts.append((jaxpr, out_unknown, len(residuals)))
        return [*(x for x, u in zip(outs, out_unknown, strict=True) if not u), *residuals]

    avals = [a for a, u in zip(closed.in_avals, unknown, strict=True) if not u]
    info = closed.jaxpr.debug_info
    names = zip(info.safe_arg_names(len(closed.in_avals)), unknown, strict=True)
    info = info.then("known", tuple([name for name, u in names if not u]))
    known_jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    known_jaxpr, _ = dce_jaxpr(known_jaxpr, (True,) * len(known_jaxpr.outvars))
    late, out_unknown, n_residuals = parts[0]
    return ClosedJaxpr(known_jaxpr, consts), ClosedJaxpr(late, []), out_unknown, n_residuals


def _live(jaxpr: Jaxpr, residuals: list[Any]) -> tuple[Jaxpr, list[Value]]:
    """Returns `jaxpr` without dead code, and the `residuals` that it uses.

    The constants of `jaxpr` become leading operands.
    """
    n = len(residuals)
    merged = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
    live, needed = dce_jaxpr(merged, (True,) * len(jaxpr.outvars))
    kept = [v for v, need in zip(live.invars[:n], needed[:n], strict=True) if need]
    residuals = [r for r, need in zip(residuals, needed[:n], strict=True) if need]
    return live.replace(invars=[*kept, *live.invars[n:]]), residuals


def dce_jaxpr(jaxpr: Jaxpr, used: Sequence[bool]) -> tuple[Jaxpr, list[bool]]:
    """Eliminates the code on which none of the results marked in `used` depends.

    Equations with programs as parameters are pruned by the rule `dce` of their primitive; equations
    with effects are kept.

    Returns: a pair (jaxpr with the used results and all operands, flags of the operands it uses).
    """
    needed: set[Var] = {
        v for v, u in zip(jaxpr.outvars, used, strict=True) if u and isinstance(v, Var)
    }
    kept: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        wanted = [v in needed for v in eqn.outvars]
        if not eqn.effects and not any(wanted):
            continue
        rule = DCE.rule_of(eqn.primitive)
        if rule is not None:
            smaller = eqn
            if hasattr(rule, "__wrapped__") or not (eqn.effects or all(wanted)):
                smaller = rule(wanted, eqn)
            if smaller is None:
                continue
            eqn = smaller
        kept.append(eqn)
        needed.update(a for a in eqn.invars if not isinstance(a, Literal))
    kept.reverse()
    outvars = [v for v, u in zip(jaxpr.outvars, used, strict=True) if u]
    effects = no_effects.union(*(eqn.effects for eqn in kept))
    pruned = jaxpr.replace(eqns=kept, outvars=outvars, effects=effects)
    return pruned, [v in needed for v in jaxpr.invars]


@memoize_by_identity
def dce_closed(
    closed: ClosedJaxpr, used: tuple[bool, ...], kept: tuple[bool, ...] | bool
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Returns `closed` with only the results marked in `used`, and the operands that they use.

    Args:
      closed: a program.
      used: the results to keep.
      kept: operands to keep in any case.

    Returns: a pair (program, flags of the operands that it has).
    """
    jaxpr, needed = dce_jaxpr(closed.jaxpr, used)
    stay = (kept,) * len(needed) if isinstance(kept, bool) else kept
    needed = [n or k for n, k in zip(needed, stay, strict=True)]
    invars = [v for v, n in zip(jaxpr.invars, needed, strict=True) if n]
    names = jaxpr.debug_info.safe_arg_names(len(needed))
    info = jaxpr.debug_info._replace(
        arg_names=tuple(m or None for m, n in zip(names, needed, strict=True) if n),
        result_paths=None,
    )
    pruned = with_own_variables(jaxpr.replace(invars=invars, debug_info=info))
    return ClosedJaxpr(pruned, closed.consts), tuple(needed)


def with_own_variables(jaxpr: Jaxpr) -> Jaxpr:
    """Returns a copy of `jaxpr` with fresh variables, so that each prints with its own names."""
    own: dict[Var, Var] = {}

    def binder(v: Var) -> Var:
        own[v] = variable = type(v)(v.aval)
        return variable

    constvars, invars = [*map(binder, jaxpr.constvars)], [*map(binder, jaxpr.invars)]
    eqns = [
        eqn.replace(
            invars=[own[a] if isinstance(a, Var) else a for a in eqn.invars],
            outvars=[*map(binder, eqn.outvars)],
        )
        for eqn in jaxpr.eqns
    ]
    outvars = [own[a] if isinstance(a, Var) else a for a in jaxpr.outvars]
    return jaxpr.replace(constvars=constvars, invars=invars, eqns=eqns, outvars=outvars)


def without_known_debug_effects(closed: ClosedJaxpr, unknown: Sequence[bool]) -> ClosedJaxpr:
    """Returns `closed` without debugging effects of equations that depend on known operands only.

    The known part of some programs runs twice. The effects must occur in the first run only.
    """
    if not closed.effects:
        return closed
    jaxpr = closed.jaxpr
    depends = {v for v, u in zip(jaxpr.invars, unknown, strict=True) if u}
    kept: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if any(isinstance(a, Var) and a in depends for a in eqn.invars):
            depends.update(eqn.outvars)
            kept.append(eqn)
        elif custom_derivatives_allowed_effects.filter_not_in(eqn.effects) or not eqn.effects:
            kept.append(eqn)
        elif eqn.outvars:
            params = {name: _silenced(value) for name, value in eqn.params.items()}
            kept.append(eqn.replace(params=params, effects=no_effects))
    effects = no_effects.union(*(eqn.effects for eqn in kept))
    return ClosedJaxpr(jaxpr.replace(eqns=kept, effects=effects), closed.consts)


def _silenced(value: object) -> object:
    if isinstance(value, Jaxpr):
        return without_known_debug_effects(value, (False,) * len(value.in_avals))
    if _are_programs(value):
        return tuple(map(_silenced, value))
    return value


def _are_programs(value: object) -> TypeGuard[tuple[ClosedJaxpr, ...]]:
    if not isinstance(value, tuple) or not value:
        return False
    return all(isinstance(x, Jaxpr) for x in cast("tuple[object, ...]", value))
