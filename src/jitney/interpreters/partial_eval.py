"""`jax.interpreters.partial_eval`: tracing to jaxprs, partial evaluation, dead code elimination."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.closed_programs import constants_as_operands
from jitney.core.program.jaxpr import Jaxpr, JaxprEqn, Literal, Var
from jitney.core.recording import linear_util as lu
from jitney.core.recording.jaxpr_trace import (
    DynamicJaxprTracer as DynamicJaxprTracer,
    JaxprTrace,
    trace_to_jaxpr,
)
from jitney.core.tracing.trace import set_current_trace, state
from jitney.core.types.avals import AbstractValue
from jitney.core.types.refs import ReadEffect, RefEffect
from jitney.core.util.lazy import listing
from jitney.interpreters.partial_rules import (
    JaxprTracer as JaxprTracer,
    PartialVal as PartialVal,
    custom_partial_eval_rules as custom_partial_eval_rules,
    dce_rule_of,
    dce_rules as dce_rules,
    new_eqn_recipe as new_eqn_recipe,
    partial_eval_jaxpr_custom_rules as partial_eval_jaxpr_custom_rules,
)
from jitney.interpreters.programs import (
    abstract_eval_fun as abstract_eval_fun,
    close_jaxpr as close_jaxpr,
    convert_constvars_jaxpr as convert_constvars_jaxpr,
    lower_jaxpr as lower_jaxpr,
    move_binders_to_back as move_binders_to_back,
    partial_eval_jaxpr_nounits as partial_eval_jaxpr_nounits,
    prune_closed_jaxpr_outputs as prune_closed_jaxpr_outputs,
)
from jitney.transforms.lojax import lowered as lower_jaxpr2
from jitney.transforms.partial import PartialTrace

if TYPE_CHECKING:
    from jitney.core.typing import Value

__all__ = [
    "DynamicJaxprTracer",
    "JaxprTracer",
    "PartialVal",
    "Val",
    "abstract_eval_fun",
    "close_jaxpr",
    "convert_constvars_jaxpr",
    "custom_partial_eval_rules",
    "dce_jaxpr",
    "dce_jaxpr_call_rule",
    "dce_jaxpr_closed_call_rule",
    "dce_jaxpr_consts",
    "dce_rules",
    "lower_jaxpr",
    "lower_jaxpr2",
    "move_binders_to_back",
    "new_eqn_recipe",
    "partial_eval_jaxpr_custom_rules",
    "partial_eval_jaxpr_nounits",
    "prune_closed_jaxpr_outputs",
    "trace_to_jaxpr_dynamic",
    "trace_to_jaxpr_nounits",
]  # fmt: skip

__dir__ = listing(__name__)

DynamicJaxprTrace = JaxprTrace
Val = Any


def trace_to_jaxpr_dynamic(
    fun: lu.WrappedFun, in_avals: Sequence[AbstractValue], **_: Any
) -> tuple[Jaxpr, list[AbstractValue], list[Value]]:
    """Traces a wrapped function of flat values; returns (jaxpr, types of results, constants)."""
    return trace_to_jaxpr(fun.call_wrapped, in_avals, fun.debug_info)


def trace_to_jaxpr_nounits(
    fun: lu.WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], tuple[Value, ...]]:
    """Evaluates a function partially, and records a jaxpr of operations on unknown values.

    Args:
      fun: a wrapped function of flat values.
      pvals: arguments of `fun`, each known or unknown.
      instantiate: whether each result becomes a result of the jaxpr even if it is known.

    Returns: (jaxpr that maps unknown arguments to unknown results; all results, each known or
      unknown; values of the constants of the jaxpr).
    """
    parent = state.trace
    unknown_trace = JaxprTrace(fun.debug_info, parent)
    trace = PartialTrace(parent, unknown_trace)
    args = [p.get_known() if p.is_known() else unknown_trace.new_arg(p.get_aval()) for p in pvals]
    with set_current_trace(trace):
        outs = fun.call_wrapped(*args)
    forced = [instantiate] * len(outs) if isinstance(instantiate, bool) else list(instantiate)
    late = [trace.is_unknown(x) or w for x, w in zip(outs, forced, strict=True)]
    tracers = [unknown_trace.to_tracer(x) for x, u in zip(outs, late, strict=True) if u]
    jaxpr, consts = unknown_trace.to_jaxpr(tracers, fun.debug_info)
    out_tracers = iter(tracers)
    out_pvals = [
        PartialVal.unknown(next(out_tracers).aval) if u else PartialVal.known(x)
        for x, u in zip(outs, late, strict=True)
    ]
    unknown_trace.invalidate()
    trace.invalidate()
    return jaxpr, out_pvals, tuple(consts)


# --- dead code elimination ------------------------------------------------------------------------


def dce_jaxpr(
    jaxpr: Jaxpr,
    used_outputs: bool | Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
    live_inputs: bool | Sequence[bool] = True,
) -> tuple[Jaxpr, list[bool]]:
    """Eliminates dead code: equations, arguments and results that do not affect the used results.

    Args:
      jaxpr: a program; all of its constants are kept.
      used_outputs: whether each result is used.
      instantiate: whether each argument is kept even if it is not needed.
      live_inputs: whether each argument that is a reference may be read after the program. Writes
        to other references, including references that the program creates, are dead stores unless
        the program reads them later.

    Returns: (program with only the used results and the arguments that are kept; whether each
      argument is kept).
    """
    used = _flags(used_outputs, len(jaxpr.outvars))
    kept_anyway = _flags(instantiate, len(jaxpr.invars))
    needed: set[Var] = {
        v for v, u in zip(jaxpr.outvars, used, strict=True) if u and isinstance(v, Var)
    }
    are_live = zip(jaxpr.invars, _flags(live_inputs, len(jaxpr.invars)), strict=True)
    live = {*needed, *jaxpr.constvars, *[v for v, is_live in are_live if is_live]}
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used_outs = [v in needed for v in eqn.outvars]
        if not any(used_outs) and _is_dead(eqn, live):
            continue
        rule = dce_rule_of(eqn.primitive)
        used_ins, smaller = [True] * len(eqn.invars), eqn
        if rule is not None:
            live_ins = [not v.aval.is_ref or v in live for v in eqn.invars]
            used_ins, smaller = rule(used_outs, live_ins, eqn)
        elif not any(used_outs) and not eqn.effects:
            continue
        if smaller is not None:
            eqns.append(smaller)
            live.update(_read(smaller, any(used_outs)))
        needed.update(
            a for a, u in zip(eqn.invars, used_ins, strict=True) if u and not isinstance(a, Literal)
        )
    eqns.reverse()
    inputs = [v in needed or k for v, k in zip(jaxpr.invars, kept_anyway, strict=True)]
    pruned = jaxpr.replace(
        eqns=eqns,
        invars=[v for v, u in zip(jaxpr.invars, inputs, strict=True) if u],
        outvars=[v for v, u in zip(jaxpr.outvars, used, strict=True) if u],
        debug_info=jaxpr.debug_info._replace(arg_names=None, result_paths=None),
    )
    return pruned, inputs


def _is_dead(eqn: JaxprEqn, live: set[Var]) -> bool:
    """Returns whether an equation can be removed if its results are not used.

    That is the case if it has effects, and each effect is a read, or a write to a reference that is
    not read later.
    """
    return bool(eqn.effects) and all([
        isinstance(effect, ReadEffect)
        or (isinstance(effect, RefEffect) and eqn.invars[effect.input_index] not in live)
        for effect in eqn.effects
    ])  # fmt: skip


def _read(eqn: JaxprEqn, has_used_results: bool) -> Iterator[Var]:
    """Yields the references that an equation may read, which are all but those it only writes."""
    written = set[int]()
    if not has_used_results:
        effects = [effect for effect in eqn.effects if isinstance(effect, RefEffect)]
        read = {effect.input_index for effect in effects if isinstance(effect, ReadEffect)}
        written = {effect.input_index for effect in effects} - read
    for k, v in enumerate(eqn.invars):
        if isinstance(v, Var) and v.aval.is_ref and k not in written:
            yield v


def _flags(flags: bool | Sequence[bool], n: int) -> list[bool]:
    return [flags] * n if isinstance(flags, bool) else list(flags)


def dce_jaxpr_consts(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """Eliminates dead code like `dce_jaxpr`, including constants that are not needed.

    Returns: (smaller program; whether each constant is kept; whether each argument is kept).
    """
    n = len(jaxpr.constvars)
    flags = [False] * n + _flags(instantiate, len(jaxpr.invars))
    pruned, used = dce_jaxpr(constants_as_operands(jaxpr), used_outputs, flags)
    n_kept = sum(used[:n])
    out = pruned.replace(constvars=pruned.invars[:n_kept], invars=pruned.invars[n_kept:])
    return out, used[:n], used[n:]


def dce_jaxpr_closed_call_rule(
    used_outputs: list[bool], live_ins: list[bool], eqn: JaxprEqn
) -> tuple[list[bool], JaxprEqn | None]:
    """Eliminates dead code in calls whose program is the parameter `call_jaxpr`.

    This is a rule for the table `dce_rules`.
    """
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    inner: Jaxpr = eqn.params["call_jaxpr"]
    jaxpr, used_in = dce_jaxpr(inner.jaxpr, used_outputs, live_inputs=live_ins)
    return used_in, eqn.replace(
        invars=[a for a, u in zip(eqn.invars, used_in, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used_outputs, strict=True) if u],
        params={**eqn.params, "call_jaxpr": inner.replace(jaxpr=jaxpr)},
        effects=jaxpr.effects,
    )


dce_jaxpr_call_rule = dce_jaxpr_closed_call_rule
