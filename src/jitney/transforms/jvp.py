"""Forward-mode differentiation: each value is a pair (primal, tangent).

`JVPTrace` passes an operation's primals and tangents to the primitive's `jvp` rule, whose
operations are interpreted by the parent trace. An operation whose tangents are all zero is not
differentiated.
"""

# A trace recognizes its tracers by the private attribute `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.array import Array
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import DynamicJaxprTracer, trace_to_jaxpr
from jitney.core.tracing.hi_types import cur_qdd
from jitney.core.tracing.primitive import Primitive, declare_slot
from jitney.core.tracing.trace import (
    CustomCall,
    Trace,
    Tracer,
    TraceTag,
    plain_types,
    revealed,
    set_current_trace,
    state,
)
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.transforms.zero import Zero, instantiate, with_zeros

if TYPE_CHECKING:
    from jitney.core.typing import Params, Value
    from jitney.transforms.zero import Tangent

JVP = declare_slot("jvp", required=True)  # (primals, tangents, **params) -> (out, dout)


class JVPTracer(Tracer):
    """A value with its tangent."""

    __module__ = "jax._src.interpreters.ad"  # libraries read an array's package here
    __slots__ = ("aval", "primal", "tangent")

    aval: AbstractValue

    def __init__(self, trace: Trace, primal: Value, tangent: Tangent) -> None:
        self._trace = trace
        # Stored in a slot, since rules and functions of jnp read it often.
        self.aval = primal.aval if isinstance(primal, Array) else get_aval(primal)  # pyright: ignore[reportIncompatibleMethodOverride]
        self.primal = primal
        self.tangent = tangent

    def to_concrete_value(self) -> Value | None:
        primal = self.primal
        return primal.to_concrete_value() if isinstance(primal, Tracer) else primal

    def type_state(self) -> object:
        """Returns the type state of the primal, which is a mutable value of a high-level type."""
        return cur_qdd(self.primal)

    def full_lower(self) -> Value:
        return self.primal if isinstance(self.tangent, Zero) else self

    def _origin_msg(self) -> str:
        return self.primal._origin_msg() if isinstance(self.primal, Tracer) else ""

    def __repr__(self) -> str:
        tangent = self.tangent
        if isinstance(tangent, DynamicJaxprTracer | Zero):
            shown = f"typeof(tangent)={tangent.aval.str_short(short_dtypes=True)}"
        else:
            shown = f"{tangent=!s}"
        kind = "GradTracer" if isinstance(tangent, DynamicJaxprTracer) else "JVPTracer"
        return f"{kind}(primal={self.primal}, {shown})"


class JVPTrace(Trace):
    """A trace that differentiates operations."""

    __slots__ = ("parent_trace", "tag")

    def __init__(self, parent: Trace, tag: TraceTag) -> None:
        self._invalid = False
        self.parent_trace = parent
        self.tag = tag

    def to_pair(self, x: Value) -> tuple[Value, Tangent]:
        """Returns the pair (primal, tangent) of an operand."""
        if isinstance(x, JVPTracer) and x._trace.tag is self.tag:
            return x.primal, x.tangent
        plain = x if type(x) in plain_types else revealed(x)
        return (x, Zero(get_aval(x).to_tangent_aval())) if plain is x else self.to_pair(plain)

    to_primal_tangent_pair = to_pair  # the name is JAX's

    def pure(self, x: Value) -> Value:
        with set_current_trace(self.parent_trace):
            return self.parent_trace.pure(x)

    lift = pure

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Value], params: Params
    ) -> object:
        primals: list[Any] = []
        tangents: list[Any] = []
        is_constant = True
        for x in args:  # hot path: runs once per operation, so a loop and no context manager
            if type(x) is JVPTracer and x._trace is self:
                primal, tangent = x.primal, x.tangent
            else:
                primal, tangent = self.to_pair(x)
            primals.append(primal)
            tangents.append(tangent)
            is_constant = is_constant and type(tangent) is Zero
        parent = self.parent_trace
        outer, state.trace = state.trace, parent
        try:
            if is_constant and not primitive.makes_ref:
                return parent.process_primitive(primitive, primals, params)
            rule = primitive.rules.get(JVP.name)
            if rule is None:
                raise NotImplementedError(_missing_rule(primitive))
            # Tuples, as in JAX: rules in libraries compare them or pass them to `jvp`.
            out, dout = rule(tuple(primals), tuple(tangents), **params)
        finally:
            state.trace = outer
        if primitive.multiple_results:
            return [self.pair(p, t) for p, t in zip(out, dout, strict=True)]
        return out if isinstance(dout, Zero) else JVPTracer(self, out, dout)

    def process_custom_jvp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Value]:
        """Applies the custom rule to primals and tangents under the parent trace."""
        pairs = [self.to_pair(x) for x in leaves]
        primals = [p for p, _ in pairs]
        with set_current_trace(self.parent_trace):
            if all([type(t) is Zero for _, t in pairs[call.num_nondiff :]]):
                return call.rebind(primals)
            outs, douts = call.differentiate(primals, [t for _, t in pairs])
        return [self.pair(p, t) for p, t in zip(outs, douts, strict=True)]

    process_custom_vjp_call = process_custom_jvp_call

    def aside(self, x: Tracer) -> Value:
        """Returns the primal of `x`."""
        return self.to_pair(x)[0]

    def pair(self, primal: Value, tangent: Tangent) -> Value:
        """Returns a tracer, or the primal itself if its tangent is zero."""
        return primal if isinstance(tangent, Zero) else JVPTracer(self, primal, tangent)

    def __repr__(self) -> str:
        return "JVPTrace"

    __str__ = __repr__


def _missing_rule(primitive: Primitive) -> str:
    why = primitive.absences.get("jvp")
    reason = f": {why}" if why else ""
    return (
        f"'{primitive}' has no derivative rule, so jvp and grad are not implemented for it{reason}. "
        "For a primitive of your own, set one in jax.interpreters.ad.primitive_jvps"
    )


def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Value], list[Tangent]]:
    """Returns (results, tangents) of `fun`, a function of flat values, under the current trace.

    Tangents of arguments and results may be `Zero`.
    """
    parent = state.trace
    trace = JVPTrace(parent, TraceTag())
    args = [trace.pair(p, t) for p, t in zip(primals, tangents, strict=True)]
    try:
        with set_current_trace(trace):
            outs = fun(*args)
        pairs = [trace.to_pair(x) for x in outs]
    finally:
        trace.invalidate()
    return [p for p, _ in pairs], [t for _, t in pairs]


@memoize_by_identity
def jvp_jaxpr(
    closed: ClosedJaxpr, nonzeros: tuple[bool, ...], instantiated: bool | tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Returns the program that computes results and tangents of `closed`.

    Args:
      closed: a program.
      nonzeros: which operands have a tangent; these tangents follow the operands.
      instantiated: the results whose tangents are returned even if they are zero.

    Returns: a pair (program, flags of the results that have a tangent). The program maps the
      operands, followed by their tangents, to the results, followed by their tangents.
    """
    wanted = (
        (instantiated,) * len(closed.out_avals) if isinstance(instantiated, bool) else instantiated
    )
    nonzeros_out: list[tuple[bool, ...]] = []

    def fun(*args: Value) -> list[Value]:
        primals, nonzero_tangents = args[: len(nonzeros)], args[len(nonzeros) :]
        tangents = with_zeros(
            nonzero_tangents, nonzeros, [a.to_tangent_aval() for a in closed.in_avals]
        )
        outs, douts = jvp_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), primals, tangents
        )
        douts = [instantiate(t) if w else t for t, w in zip(douts, wanted, strict=True)]
        nonzeros_out.append(tuple(not isinstance(t, Zero) for t in douts))
        return [*outs, *(t for t in douts if not isinstance(t, Zero))]

    avals = [
        *closed.in_avals,
        *(a.to_tangent_aval() for a, nz in zip(closed.in_avals, nonzeros, strict=True) if nz),
    ]
    info = closed.jaxpr.debug_info
    names = info.safe_arg_names(len(closed.in_avals))
    of_tangents = [
        name and f"the tangent of {name}" for name, nz in zip(names, nonzeros, strict=True) if nz
    ]
    info = info.then("jvp", (*names, *of_tangents))
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts), nonzeros_out[0]
