"""Linearization: computes the value of a function, and a linear jaxpr that is its derivative.

This is forward-mode differentiation combined with partial evaluation, in which tangents are
unknown. The operations of `jvp` rules that depend on primals only are performed immediately; the
remaining ones, which are linear, are recorded in a jaxpr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.program.jaxpr import DebugInfo, Jaxpr
from jitney.core.recording.jaxpr_trace import DynamicJaxprTracer, JaxprTrace
from jitney.core.source import source_info
from jitney.core.tracing.trace import TraceTag, state
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.core.types.refs import AbstractRef
from jitney.core.util.record import record
from jitney.transforms.jvp import JVPTrace, JVPTracer
from jitney.transforms.partial import PartialTrace
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.typing import Value


@record
class Linear:
    """The derivative of a function at a point.

    Attributes:
      jaxpr: a linear program. Its operands are the tangents marked in `nonzero_in`, with references
        for the tangents of references; its results are the tangents marked in `nonzero_out`; its
        constants are the residuals.
      consts: the values of the residuals.
      nonzero_in, nonzero_out: which arguments and results have tangents.
      out_avals: the tangent types of all results.
    """

    jaxpr: Jaxpr
    consts: list[Any]
    nonzero_in: list[bool]
    nonzero_out: list[bool]
    out_avals: list[AbstractValue]

    def without_consts(self) -> Linear:
        """Returns a copy without the values of the residuals, which are then passed at each use."""
        return Linear(self.jaxpr, [], self.nonzero_in, self.nonzero_out, self.out_avals)


def has_tangent(aval: AbstractValue) -> bool:
    """Returns whether values of this type can have a nonzero tangent.

    The tangent of a reference is a reference. The contents of a mutable value of a high-level type
    are not variables of the function.
    """
    if isinstance(aval, AbstractRef):
        return has_tangent(aval.inner_aval)
    if aval.is_high:
        tangent = None if aval.has_qdd else aval.to_tangent_aval()
        return tangent is not None and (tangent.is_high or has_tangent(tangent))
    if getattr(aval, "dtype", None) is None:
        return False
    return getattr(aval.to_tangent_aval(), "dtype", None) != dtypes.float0


def linearize_flat(
    fun: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    info: DebugInfo,
    differentiated: Sequence[bool] | None = None,
) -> tuple[list[Value], Linear]:
    """Returns (results, derivative) of `fun`, a function of flat values, at `primals`.

    Args:
      fun: the function.
      primals: the arguments.
      info: the origin of the function.
      differentiated: the arguments with respect to which to differentiate; by default, all whose
        type can have a nonzero tangent.
    """
    parent = state.trace
    tangents = JaxprTrace(info, parent)
    partial = PartialTrace(parent, tangents)
    trace = JVPTrace(partial, TraceTag())
    args: list[Any] = []
    nonzero_in: list[bool] = []
    for k, x in enumerate(primals):
        aval = get_aval(x)
        nonzero = has_tangent(aval) and (differentiated is None or differentiated[k])
        nonzero_in.append(nonzero)
        args.append(JVPTracer(trace, x, tangents.new_arg(aval.to_tangent_aval())) if nonzero else x)
    state.trace = trace
    try:
        try:
            with source_info.transform_name_stack("jvp") as scopes:
                tangents.outer_scopes = len(scopes) - 1
                outs = fun(*args)
            del args
        finally:
            state.trace = parent
        values: list[Any] = []
        tracers: list[DynamicJaxprTracer] = []
        nonzero_out: list[bool] = []
        out_avals: list[AbstractValue] = []
        for x in outs:
            value, t = trace.to_pair(x)
            values.append(value)
            out_avals.append(get_aval(value).to_tangent_aval())
            nonzero_out.append(not isinstance(t, Zero))
            if not isinstance(t, Zero):
                tracers.append(tangents.to_tracer(t))
        jaxpr, consts = tangents.to_jaxpr(tracers, info)
    finally:
        trace.invalidate()  # the class `PartialTrace` has no tracers of its own
        tangents.invalidate()
    return values, Linear(jaxpr, consts, nonzero_in, nonzero_out, out_avals)
