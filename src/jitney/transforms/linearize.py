"""Linearization: the value of a function now, its derivative as a linear jaxpr.

Forward derivatives over a partial evaluation in which the tangents are unknown: the primitives' `jvp`
rules compute what depends on primals alone at once and leave the linear rest in a jaxpr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.core import dtypes
from jitney.core.avals import AbstractValue, get_aval
from jitney.core.jaxpr import DebugInfo, Jaxpr
from jitney.core.jaxpr_trace import JaxprTrace
from jitney.core.record import record
from jitney.core.trace import TraceTag, set_current_trace, state
from jitney.transforms.jvp import JVPTrace
from jitney.transforms.partial import PartialTrace
from jitney.transforms.zero import Zero


@record
class Linear:
    """The derivative of a function at a point.

    Attributes:
      jaxpr: linear; operands are the tangents marked in `nonzero_in`, results the tangents marked in
        `nonzero_out`; its constants are residuals.
      consts: values of the residuals.
      nonzero_in, nonzero_out: which tangents there are.
      out_avals: types of all results' tangents.
    """

    jaxpr: Jaxpr
    consts: list[Any]
    nonzero_in: list[bool]
    nonzero_out: list[bool]
    out_avals: list[AbstractValue]

    def without_consts(self) -> Linear:
        """The same for any residuals: their values are handed over with each use."""
        return Linear(self.jaxpr, [], self.nonzero_in, self.nonzero_out, self.out_avals)


def has_tangent(aval: AbstractValue) -> bool:
    """Whether values of this type can have a tangent that is not zero."""
    if getattr(aval, "dtype", None) is None:
        return False
    return getattr(aval.to_tangent_aval(), "dtype", None) != dtypes.float0


def linearize_flat(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    info: DebugInfo,
    differentiated: Sequence[bool] | None = None,
) -> tuple[list[Any], Linear]:
    """(results, derivative) of `fun`, a function of flat values, at `primals`.

    Args:
      fun: the function.
      primals: its arguments.
      info: where it comes from.
      differentiated: for which arguments; those of floating dtypes by default.
    """
    parent = state.trace
    tangents = JaxprTrace(info, parent)
    partial = PartialTrace(parent, tangents)
    trace = JVPTrace(partial, TraceTag())
    avals = [get_aval(x) for x in primals]
    nonzero_in = [has_tangent(a) for a in avals]
    if differentiated is not None:
        nonzero_in = [n and d for n, d in zip(nonzero_in, differentiated, strict=True)]
    args = [
        trace.pair(x, tangents.new_arg(a.to_tangent_aval()) if n else Zero(a.to_tangent_aval()))
        for x, a, n in zip(primals, avals, nonzero_in, strict=True)
    ]
    try:
        with set_current_trace(trace):
            outs = fun(*args)
            del args
        pairs = [trace.to_pair(x) for x in outs]
        out_tangents = [t for _, t in pairs]
        nonzero_out = [not isinstance(t, Zero) for t in out_tangents]
        tracers = [tangents.to_tracer(t) for t in out_tangents if not isinstance(t, Zero)]
        jaxpr, consts = tangents.to_jaxpr(tracers, info)
        out_avals = [get_aval(p).to_tangent_aval() for p, _ in pairs]
    finally:
        for t in (trace, partial, tangents):
            t.invalidate()
    return [p for p, _ in pairs], Linear(jaxpr, consts, nonzero_in, nonzero_out, out_avals)
