"""Taylor-mode differentiation: each value is a polynomial in one variable, truncated at some order.

`JetTrace` passes to the primitive's `jet` rule the values x_0 of the operands, and their terms x_1
... x_n: the coefficients of x(t) = x_0 + x_1 t + ... + x_n t^n (not the derivatives, which are k!
x_k). The rule computes the terms of the result; its operations are interpreted by the parent trace.
Terms that are known to be zero are represented by `Zero`, and nothing is computed for them.

For a primitive without such a rule, the `jvp` rule is used: if h(t) = f(x(t)), then h'(t) is the
forward-mode derivative of f at x(t) in the direction x'(t), whose series is one term shorter.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., chapter 13.
"""

# A trace recognizes its tracers by the private attribute `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.tracing.primitive import Primitive, declare_slot
from jitney.core.tracing.trace import Trace, Tracer, TraceTag, set_current_trace, state
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.transforms.algebra import algebra
from jitney.transforms.zero import Zero, add_tangents, instantiate

if TYPE_CHECKING:
    from jitney.core.typing import Params, PyTree, Value
    from jitney.transforms.zero import Tangent

Terms: TypeAlias = "list[Tangent]"
"""The terms x_1 ... x_n of a value, each of which may be `Zero`."""
Rule: TypeAlias = "Callable[..., tuple[Value | Sequence[Value], Terms | Sequence[Terms]]]"
"""A rule (primals, series, **params) -> (result or results, their terms)."""

# (primals, series, **params) -> (out, terms); a primitive without a rule is differentiated
JET = declare_slot("jet")


class JetTracer(Tracer):
    """A value with the higher terms of its series."""

    __module__ = "jax.experimental.jet"  # libraries read an array's package here
    __slots__ = ("primal", "terms")

    def __init__(self, trace: Trace, primal: Value, terms: Sequence[Any]) -> None:
        self._trace = trace
        self.primal = primal
        self.terms = list(terms)

    @property
    def aval(self) -> AbstractValue:
        return get_aval(self.primal)

    def _origin_msg(self) -> str:
        return self.primal._origin_msg() if isinstance(self.primal, Tracer) else ""

    def __repr__(self) -> str:
        return f"JetTracer<{self.aval}>"


class JetTrace(Trace):
    """A trace that computes the series of operations.

    Attributes:
      tag: the tag of the transformation.
      parent_trace: the trace that interprets the operations of rules.
      order: the number of terms after the first.
    """

    __slots__ = ("order", "parent_trace", "tag")

    def __init__(self, tag: TraceTag, parent_trace: Trace, order: int) -> None:
        super().__init__()
        self.tag = tag
        self.parent_trace = parent_trace
        self.order = order

    def to_series(self, x: Value) -> tuple[Value, Terms]:
        """Returns (value, its higher terms)."""
        if isinstance(x, JetTracer) and x._trace.tag is self.tag:
            return x.primal, x.terms
        return x, [Zero.from_primal_value(x)] * self.order

    to_primal_terms_pair = to_series  # the name is JAX's

    def pure(self, x: Value) -> Value:
        with set_current_trace(self.parent_trace):
            return self.parent_trace.pure(x)

    lift = pure

    def wrap(self, primal: Value, terms: Terms) -> Value:
        """Returns a tracer, or the value itself if all terms are zero."""
        return primal if _is_constant(terms) else JetTracer(self, primal, terms)

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Value], params: Params
    ) -> object:
        operands = [self.to_series(x) for x in args]
        primals = [p for p, _ in operands]
        series = [t for _, t in operands]
        parent = self.parent_trace
        with set_current_trace(parent):
            if all([_is_constant(terms) for terms in series]):
                return parent.process_primitive(primitive, primals, params)
            out, terms = _rule_of(primitive)(primals, series, **params)
        if primitive.multiple_results:
            return [self.wrap(p, t) for p, t in zip(out, terms, strict=True)]
        return self.wrap(out, terms)

    def __repr__(self) -> str:
        return "JetTrace"

    __str__ = __repr__


def _is_constant(terms: Sequence[Any]) -> bool:
    return all([type(t) is Zero for t in terms])


def _rule_of(primitive: Primitive) -> Callable[..., Any]:
    rule = JET.rule_of(primitive)
    if rule is not None:
        return rule
    if "jvp" not in primitive.rules:
        raise NotImplementedError(
            f"'{primitive}' has neither a Taylor-mode rule nor a derivative rule for jvp, from which "
            "one can be derived, so jet is not implemented for it. For a primitive of your own, add a "
            "Taylor-mode rule to the dictionary jax.experimental.jet.jet_rules"
        )
    return by_derivative(primitive)


def jet_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Terms], order: int
) -> tuple[list[Value], list[Terms]]:
    """Returns (results, their higher terms) of `fun`, a function of flat values."""
    trace = JetTrace(TraceTag(), state.trace, order)
    args = [trace.wrap(p, t) for p, t in zip(primals, series, strict=True)]
    try:
        with set_current_trace(trace):
            outs = fun(*args)
        pairs = [trace.to_series(x) for x in outs]
    finally:
        trace.invalidate()
    return [p for p, _ in pairs], [t for _, t in pairs]


Present = tuple[tuple[Any, ...], ...]
"""For each value, the types of its terms; None stands for a term that is zero."""


def types_of(series: Sequence[Terms]) -> Present:
    """Returns which terms are not zero, with their types."""
    return tuple(tuple(None if type(t) is Zero else get_aval(t) for t in terms) for terms in series)


def tangent_types_of(series: Sequence[Terms], avals: Sequence[Any]) -> Present:
    """Returns which terms are not zero, with the tangent types of `avals`.

    Terms of integers are omitted, since the types in loops and branches must be predictable.
    """
    return tuple(
        tuple(None if type(t) is Zero or not _is_inexact(a) else a.to_tangent_aval() for t in terms)
        for terms, a in zip(series, avals, strict=True)
    )


def _is_inexact(aval: AbstractValue) -> bool:
    dtype: Any = getattr(aval, "dtype", None)
    return dtypes.issubdtype(dtype, np.inexact)


def joined(a: Present, b: Present) -> Present:
    """Returns the union of two sets of terms."""
    return tuple(
        tuple(t if t is not None else u for t, u in zip(ts, us, strict=True))
        for ts, us in zip(a, b, strict=True)
    )


def number_of(present_terms: Present) -> int:
    """Returns the number of terms."""
    return sum(t is not None for types in present_terms for t in types)


def packed(series: Sequence[Terms], present_terms: Present) -> list[Value]:
    """Returns the terms marked in `present_terms`, in order of their values."""
    return [
        instantiate(t)
        for terms, types in zip(series, present_terms, strict=True)
        for t, wanted in zip(terms, types, strict=True)
        if wanted is not None
    ]


def present(series: Sequence[Terms]) -> list[Value]:
    """Returns the terms that are not zero, in order of their values."""
    return [t for terms in series for t in terms if not isinstance(t, Zero)]


@memoize_by_identity
def jet_jaxpr(
    closed: ClosedJaxpr, present_terms: Present, order: int, wanted: Present | None = None
) -> tuple[ClosedJaxpr, Present]:
    """Returns the program that computes results and terms of `closed`.

    Args:
      closed: a program.
      present_terms: which terms of the operands are not zero; these terms follow the operands.
      order: the number of terms after the first.
      wanted: which terms of the results to return even if they are zero.

    Returns: a pair (program, the terms of results that it returns). The program maps the operands,
      followed by their terms, to the results, followed by their terms.
    """
    out_terms: list[Present] = []

    def fun(*args: Value) -> list[Value]:
        primals, remaining = args[: len(present_terms)], iter(args[len(present_terms) :])
        series = [
            [Zero(a.to_tangent_aval()) if t is None else next(remaining) for t in types]
            for types, a in zip(present_terms, closed.in_avals, strict=True)
        ]
        outs, terms = jet_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), primals, series, order
        )
        if wanted is not None:
            terms = [
                [t if w is None else instantiate(t) for t, w in zip(ts, ws, strict=True)]
                for ts, ws in zip(terms, wanted, strict=True)
            ]
        out_terms.append(types_of(terms))
        return [*outs, *present(terms)]

    avals = [*closed.in_avals, *(t for types in present_terms for t in types if t is not None)]
    info = closed.jaxpr.debug_info.then("jet")
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts), out_terms[0]


def unpacked(values: Sequence[Any], avals: Sequence[Any], present_terms: Present) -> list[Terms]:
    """Returns the series of values of types `avals` whose nonzero terms are `values`."""
    remaining = iter(values)
    return [
        [Zero(a.to_tangent_aval()) if t is None else next(remaining) for t in types]
        for types, a in zip(present_terms, avals, strict=True)
    ]


# --- rules that do not depend on the operation ----------------------------------------------


def _columns(series: Sequence[Terms]) -> list[tuple[Tangent, ...]]:
    """Returns, for each order, the terms of all operands."""
    return list(zip(*series, strict=True))


def _assembled(
    prim: Primitive, out: PyTree, terms: Sequence[Any]
) -> tuple[Value | Sequence[Value], Terms | Sequence[Terms]]:
    """Returns (results, terms), given the terms by order; None stands for orders that are zero."""
    if not prim.multiple_results:
        zero = Zero.from_primal_value(out)
        return out, [zero if t is None else t for t in terms]
    rows = [[Zero.from_primal_value(x) for x in out] if t is None else t for t in terms]
    return out, [list(column) for column in zip(*rows, strict=True)] if out else []


def linear(prim: Primitive) -> Rule:
    """Returns the rule of an operation that is jointly linear in its operands."""

    def rule(
        primals: Sequence[Value], series: Sequence[Terms], **params: object
    ) -> tuple[Value | Sequence[Value], Terms | Sequence[Terms]]:
        out = prim.bind(*primals, **params)
        terms = [
            None if _is_constant(column) else prim.bind(*map(instantiate, column), **params)
            for column in _columns(series)
        ]
        return _assembled(prim, out, terms)

    return rule


def piecewise_linear(prim: Primitive) -> Rule:
    """Returns the rule of an operation whose derivative is locally constant.

    Comparisons of operands, or integer operands, may select the linear piece.
    """

    def rule(
        primals: Sequence[Value], series: Sequence[Terms], **params: object
    ) -> tuple[Value | Sequence[Value], Terms | Sequence[Terms]]:
        out: Any = None
        terms: list[Any] = []
        for column in _columns(series):
            if _is_constant(column):
                terms.append(None)
                continue
            out, term = prim.rules["jvp"](tuple(primals), tuple(column), **params)
            terms.append(None if type(term) is Zero else term)
        return _assembled(prim, out, terms)

    return rule


def constant(prim: Primitive) -> Rule:
    """Returns the rule of an operation whose derivative is zero wherever it exists."""

    def rule(
        primals: Sequence[Value], series: Sequence[Terms], **params: object
    ) -> tuple[Value | Sequence[Value], Terms | Sequence[Terms]]:
        return _assembled(prim, prim.bind(*primals, **params), [None] * len(series[0]))

    return rule


def bilinear(prim: Primitive) -> Rule:
    """Returns the rule of a product: term k is the sum of the products of terms i and k - i."""

    def rule(
        primals: Sequence[Value], series: Sequence[Terms], **params: object
    ) -> tuple[Value | Sequence[Value], Terms | Sequence[Terms]]:
        operands: list[list[Any]] = [
            [p, *series_of_operand] for p, series_of_operand in zip(primals, series, strict=True)
        ]
        x, y = operands
        out = prim.bind(*primals, **params)
        zero = Zero.from_primal_value(out)
        terms: list[Any] = []
        for k in range(1, len(x)):
            total: Any = zero
            for i in range(k + 1):
                if type(x[i]) is not Zero and type(y[k - i]) is not Zero:
                    total = add_tangents(total, prim.bind(x[i], y[k - i], **params))
            terms.append(total)
        return out, terms

    return rule


def by_derivative(prim: Primitive) -> Rule:
    """Returns the rule that integrates the series of the primitive's forward-mode derivative."""

    def rule(
        primals: Sequence[Value], series: Sequence[Terms], **params: object
    ) -> tuple[Value | Sequence[Value], Terms | Sequence[Terms]]:
        def derivative(
            xs: Sequence[Value], dxs: Sequence[Tangent]
        ) -> tuple[Sequence[Value], Sequence[Tangent]]:
            out, dout = prim.rules["jvp"](tuple(xs), tuple(dxs), **params)
            return (out, dout) if prim.multiple_results else ([out], [dout])

        outs, terms = integrated(derivative, primals, series)
        return (outs, terms) if prim.multiple_results else (outs[0], terms[0])

    return rule


def by_partials(prim: Primitive, derivative: Callable[[Any, Any, dict[str, Any]], Any]) -> Rule:
    """Returns the rule `by_derivative` for a primitive with one result.

    The tangent of the result is `derivative(primals, tangents, params)`.
    """

    def rule(
        primals: Sequence[Value], series: Sequence[Terms], **params: object
    ) -> tuple[Value | Sequence[Value], Terms | Sequence[Terms]]:
        out = prim.bind(*primals, **params)

        def both(
            xs: Sequence[Value], dxs: Sequence[Tangent]
        ) -> tuple[Sequence[Value], Sequence[Tangent]]:
            return [out], [derivative(xs, dxs, params)]

        _, (terms,) = integrated(both, primals, series)
        if _is_constant(terms):  # regardless of the type of the rule's zero
            zeros: Terms = [Zero.from_primal_value(out)] * len(terms)
            return out, zeros
        return out, terms

    return rule


def integrated(
    derivative: Callable[[Any, Any], tuple[Sequence[Any], Sequence[Any]]],
    primals: Sequence[Any],
    series: Sequence[Terms],
) -> tuple[list[Value], list[Terms]]:
    """Returns results and their terms, given a function that computes results and their tangents.

    Term k of a result is term k - 1 of its tangent, divided by k.
    """
    order = len(series[0])
    heads = [terms[0] for terms in series]
    if order == 1:
        outs, tangents = derivative(list(primals), heads)
        return list(outs), [[t] for t in tangents]
    trace = JetTrace(TraceTag(), state.trace, order - 1)
    values = [trace.wrap(p, terms[:-1]) for p, terms in zip(primals, series, strict=True)]
    velocities: list[Any] = []
    for head, terms in zip(heads, series, strict=True):
        higher = [_scaled(t, k) for k, t in enumerate(terms[1:], 2)]
        if _is_constant(higher):
            velocities.append(head)
        else:
            velocities.append(trace.wrap(instantiate(head), higher))
    try:
        with set_current_trace(trace):
            outs, tangents = derivative(values, velocities)
        first = [trace.to_series(x)[0] for x in outs]
        out_series: list[Terms] = []
        for x, t in zip(first, tangents, strict=True):
            if type(t) is Zero:
                out_series.append([Zero.from_primal_value(x)] * order)
                continue
            head, higher = trace.to_series(t)
            out_series.append([head, *(_scaled(d, 1 / k) for k, d in enumerate(higher, 2))])
    finally:
        trace.invalidate()
    return first, out_series


def _scaled(x: Tangent, factor: float) -> Tangent:
    return x if type(x) is Zero else algebra.scale(x, factor)
