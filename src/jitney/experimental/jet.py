"""`jax.experimental.jet`: higher-order derivatives by Taylor-mode automatic differentiation.

`jet` propagates a curve through a function: given the derivatives of x(t) at t = 0, it computes the
derivatives of f(x(t)). The cost grows with the square of the order, whereas the cost of nested
`jvp`s doubles with each order. The rules are defined together with the primitives; the entry point
for readers is `transforms/jet.py`.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., chapter 13; M. J. Bettencourt, M.
J. Johnson, D. Duvenaud, Taylor-Mode Automatic Differentiation for Higher-Order Derivatives in JAX,
NeurIPS 2019 workshop on program transformations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney import lax, numpy as jnp
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.messages import messages
from jitney.core.pytree import pytrees
from jitney.core.recording import linear_util as lu
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import set_current_trace, state
from jitney.core.types.avals import is_valid_operand
from jitney.core.util.lazy import listing, refusing
from jitney.interpreters.tables import RuleTable
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms import jet as series_of
from jitney.transforms.jet import JetTrace as JetTrace, JetTracer as JetTracer, jet_flat
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.tracing.trace import TraceTag
    from jitney.core.typing import Array, ArrayLike, PyTree, Value
    from jitney.transforms.zero import Tangent, instantiate

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


class ZeroTerm:
    """The type of `zero_term`, a term of a series that is zero and has any shape."""


class ZeroSeries:
    """The type of `zero_series`, a series of any length whose terms are all zero."""


zero_term = ZeroTerm()
zero_series = ZeroSeries()

call_param_updaters: dict[Primitive, Callable[..., Any]] = {}
"""Empty; accepted for compatibility. Primitives that call jaxprs have rules like all others."""


# --- the transformation ---------------------------------------------------------------------------


@api_boundary
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Any],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Computes the value and the derivatives of `fun` along a curve x(t), at t = 0.

    Args:
      fun: a function of arrays that returns a pytree of arrays.
      primals: x(0), a tuple of arrays or scalars, one for each argument.
      series: for each argument, a list of its derivatives x'(0), x''(0), ..., which are arrays of
        the shape and dtype of the argument. All lists have the same length n; `zero_series` stands
        for a list of zeros.
      factorial_scaled: whether series contain derivatives. If False, they contain Taylor
        coefficients, which are derivatives of order k divided by k!.

    Returns: (f(x(0)), derivatives of orders 1 ... n of f(x(t)) at 0). The derivatives have the
      structure of the value, with a list of n arrays for each leaf.

    Raises:
      ValueError: if an argument or a term is not an array, or if the lists differ in length.
      NotImplementedError: if an operation has neither a jet rule nor a JVP rule.

    Example:
      >>> from jitney.experimental.jet import jet
      >>> value, derivatives = jet(jnp.sin, (0.0,), ((1.0, 0.0, 0.0),))
      >>> [float(d) for d in derivatives]
      [1.0, 0.0, -1.0]
    """
    _check_arrays(primals, series)
    orders = {len(terms) for terms in series if not isinstance(terms, ZeroSeries)}
    if len(orders) != 1:
        raise ValueError(
            "jet: the series of all arguments must have the same number of terms, but got "
            f"{sorted(orders)}"
            if orders
            else "jet: at least one argument must have a list of terms, which determines the order"
        )
    (order,) = orders
    values = [as_value(x) for x in primals]
    terms = [
        [_coefficient(t, x, k, factorial_scaled) for k, t in enumerate(_listed(ts, order), 1)]
        for x, ts in zip(values, series, strict=True)
    ]

    def refusal(x: object, path: str) -> str:
        what = f"{x!r} of type {type(x)}"
        return f"jet: primals and coefficients must be arrays or scalars, but one is {what}"

    flat = FlatFunction(fun, pytrees.treedef_tuple([pytrees.LEAF] * len(values)), refusal)
    outs, out_terms = jet_flat(flat, values, terms, order)
    results = [
        [_shown(t, x, k, factorial_scaled) for k, t in enumerate(ts, 1)]
        for x, ts in zip(outs, out_terms, strict=True)
    ]
    return flat.unflatten(outs), flat.unflatten(results)


def _check_arrays(primals: Sequence[Any], series: Sequence[Any]) -> None:
    if len(primals) != len(series):
        raise ValueError(
            "jet: expected a list of terms for each argument, but got "
            f"{messages.counted(len(primals), 'argument')} "
            f"and {messages.counted(len(series), 'list')}"
        )
    for i, (x, terms) in enumerate(zip(primals, series, strict=True)):
        if not pytrees.treedef_is_leaf(pytrees.tree_structure(x)):
            raise ValueError(f"jet: each of `primals` must be an array, but primals[{i}] is {x!r}")
        if not is_valid_operand(x):
            raise TypeError(
                f"jet: each of `primals` must be an array or a scalar, but primals[{i}], {x!r}, "
                f"has type {type(x)}"
            )
        for j, t in enumerate(() if isinstance(terms, ZeroSeries) else terms):
            if not pytrees.treedef_is_leaf(pytrees.tree_structure(t)):
                raise ValueError(
                    f"jet: each term in `series` must be an array, but series[{i}][{j}] is {t!r}"
                )


def _listed(terms: PyTree, order: int) -> list[Value | ZeroTerm]:
    return [zero_term] * order if isinstance(terms, ZeroSeries) else list(terms)


def _coefficient(term: PyTree, primal: ArrayLike, k: int, factorial_scaled: bool) -> Tangent:
    """Converts a term of a user's series to a Taylor coefficient."""
    if isinstance(term, ZeroTerm):
        return Zero.from_primal_value(primal)
    return jnp.asarray(term) / math.factorial(k) if factorial_scaled else as_value(term)


def _shown(term: PyTree, primal: ArrayLike, k: int, factorial_scaled: bool) -> Array:
    """Converts a Taylor coefficient to a term of a user's series."""
    if isinstance(term, Zero):
        term = jnp.zeros_like(primal)
    return term * float(math.factorial(k)) if factorial_scaled else term


def jet2(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    series: Sequence[Any],
    *,
    factorial_scaled: bool = False,
    **_: Any,
) -> tuple[Any, Any]:
    """Computes `jet`; by default the series contain Taylor coefficients instead of derivatives."""
    return jet(fun, primals, series, factorial_scaled=factorial_scaled)


def fact(n: ArrayLike) -> Array:
    """Computes n! as a float; as gamma(n + 1) if the argument is not a Python integer."""
    if isinstance(n, int):
        return jnp.asarray(float(math.factorial(n)))
    return lax.exp(lax.lgamma(jnp.asarray(n) + 1.0))


# --- rules ----------------------------------------------------------------------------------------


def _adapted(rule: Callable[..., Any]) -> Callable[..., tuple[object, object]]:
    """Adapts a user-defined rule of arrays, which can return `zero_series` or `zero_term`."""

    def adapted(
        primals: Sequence[ArrayLike], series: Sequence[PyTree], **params: Any
    ) -> tuple[object, object]:
        order = len(series[0])
        coefficients = [
            [_instantiated(t, x) for t in terms] for x, terms in zip(primals, series, strict=True)
        ]
        out, terms = rule(tuple(primals), coefficients, **params)
        if isinstance(out, list | tuple):
            each = [zero_series] * len(out) if isinstance(terms, ZeroSeries) else terms
            return out, [_from_user(ts, x, order) for ts, x in zip(each, out, strict=True)]
        return out, _from_user(terms, out, order)

    adapted.user_rule = rule  # type: ignore[attr-defined]  # functions take any
    return adapted


def _instantiated(term: PyTree, primal: ArrayLike) -> Value:
    return jnp.zeros_like(primal) if isinstance(term, Zero | ZeroTerm) else term


def _from_user(terms: PyTree, primal: ArrayLike, order: int) -> list[Tangent]:
    zero = Zero.from_primal_value(primal)
    return [zero if isinstance(t, ZeroTerm) else t for t in _listed(terms, order)]


def _handed_out(rule: Callable[..., Any]) -> Callable[..., tuple[object, object]]:
    """Returns a rule in the form for users, which accepts `zero_series` and returns arrays."""
    user_rule = getattr(rule, "user_rule", None)
    if user_rule is not None:
        return user_rule

    def usable(
        primals: Sequence[ArrayLike], series: Sequence[PyTree], **params: Any
    ) -> tuple[object, object]:
        order = next(len(terms) for terms in series if not isinstance(terms, ZeroSeries))
        values = [as_value(x) for x in primals]
        terms = [
            [as_value(instantiate(t)) for t in _from_user(ts, x, order)]
            for ts, x in zip(series, values, strict=True)
        ]
        out, out_terms = rule(values, terms, **params)
        if isinstance(out, list | tuple):
            return out, [
                [_instantiated(t, x) for t in ts] for ts, x in zip(out_terms, out, strict=True)
            ]
        return out, [_instantiated(t, out) for t in out_terms]

    return usable


jet_rules = RuleTable("jet", adapt=_adapted, show=_handed_out)
"""Maps a primitive to its rule, a function (primals, series, **params) -> (result, its series).

Series contain Taylor coefficients; the coefficients of operands are arrays. The rule of a primitive
with multiple results returns sequences of results and of series. A primitive without an entry is
differentiated repeatedly by its JVP rule.
"""


def deflinear(prim: Primitive) -> None:
    """Sets the jet rule of a linear operation, which applies the operation to each term."""
    prim.replace_rule("jet", series_of.linear(prim))


def defzero(prim: Primitive) -> None:
    """Sets the jet rule of an operation whose derivative is zero wherever it exists."""
    prim.replace_rule("jet", series_of.constant(prim))


def def_deriv(prim: Primitive, deriv: Callable[..., Any]) -> None:
    """Sets the jet rule of a unary operation with derivative `deriv(x)`."""
    prim.replace_rule("jet", _by_slope(prim, deriv))


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: PyTree) -> None:
    """Sets the jet rule of an operation that equals the composite `comp(*operands, **kwargs)`."""

    def by_operations(
        primals: Sequence[ArrayLike], series: Sequence[PyTree], **params: Any
    ) -> tuple[Value, Sequence[Tangent]]:
        order = len(series[0])
        (out,), (terms,) = jet_flat(lambda *xs: [comp(*xs, **kwargs)], primals, series, order)
        return out, terms

    prim.replace_rule("jet", by_operations)


def _by_slope(prim: Primitive, deriv: Callable[..., Any]) -> Callable[..., tuple[object, object]]:
    def derivative(
        xs: Sequence[ArrayLike], dxs: Sequence[PyTree], params: dict[str, Any]
    ) -> Tangent:
        (x,), (dx,) = xs, dxs
        return dx if isinstance(dx, Zero) else dx * deriv(x)

    return series_of.by_partials(prim, derivative)


def _apply(
    rule: Callable[..., Any],
    primals_in: Sequence[ArrayLike],
    series_in: Sequence[PyTree],
    params: dict[str, Any],
) -> tuple[object, object]:
    return _handed_out(rule)(primals_in, series_in, **params)


def linear_prop(
    prim: Primitive, primals_in: Sequence[ArrayLike], series_in: Sequence[PyTree], **params: Any
) -> tuple[object, object]:
    """Computes the result and the series of a linear operation."""
    return _apply(series_of.linear(prim), primals_in, series_in, params)


def zero_prop(
    prim: Primitive, primals_in: Sequence[ArrayLike], series_in: Sequence[PyTree], **params: Any
) -> tuple[object, ZeroSeries]:
    """Computes the result of an operation whose derivative is zero; the series is `zero_series`."""
    return prim.bind(*primals_in, **params), zero_series


def deriv_prop(
    prim: Primitive,
    deriv: Callable[..., Any],
    primals_in: Sequence[ArrayLike],
    series_in: Sequence[PyTree],
) -> tuple[object, object]:
    """Computes the result and the series of a unary operation with derivative `deriv`."""
    return _apply(_by_slope(prim, deriv), primals_in, series_in, {})


# --- transformations of wrapped functions ----------------------------------------------------------


@lu.transformation2
def jet_fun(
    f: Callable[..., Any], order: int, primals: Sequence[ArrayLike], series: Sequence[PyTree]
) -> tuple[Sequence[Value], list[list[Value]]]:
    """Evaluates `f`, a function of flat values, on series; returns results and coefficients."""
    values = [as_value(x) for x in primals]
    terms = [_from_user(ts, x, order) for ts, x in zip(series, values, strict=True)]
    outs, out_terms = jet_flat(f, values, terms, order)
    return outs, [[_instantiated(t, x) for t in ts] for ts, x in zip(out_terms, outs, strict=True)]


@lu.transformation2
def jet_subtrace(
    f: Callable[..., Any],
    tag: TraceTag,
    order: int,
    primals: Sequence[ArrayLike],
    series: Sequence[PyTree],
) -> tuple[list[Value], list[list[Value | ZeroTerm]]]:
    """Evaluates `f` like `jet_fun`, with the tag of the caller; zero terms stay symbolic."""
    trace = JetTrace(tag, state.trace, order)
    args = [trace.wrap(x, _from_user(ts, x, order)) for x, ts in zip(primals, series, strict=True)]
    with set_current_trace(trace):
        outs = f(*args)
    pairs = [trace.to_series(x) for x in outs]
    return [x for x, _ in pairs], [
        [zero_term if isinstance(t, Zero) else t for t in ts] for _, ts in pairs
    ]


@lu.transformation_with_aux2
def traceable(
    f: Callable[..., Any], store: lu.Store, in_tree: PyTreeDef, *leaves: ArrayLike
) -> list[Value]:
    """Calls `f(primals, series)` on flat values, and returns its results as flat values.

    The structure of the results is stored in `store`.
    """
    flat, out_tree = pytrees.tree_flatten(f(*pytrees.tree_unflatten(in_tree, leaves)))
    store.store(out_tree)
    return flat


def _flatten_nothing(_: Any) -> tuple[tuple[()], None]:
    return (), None


pytrees.register_pytree_node(ZeroSeries, _flatten_nothing, lambda *_: zero_series)
pytrees.register_pytree_node(ZeroTerm, _flatten_nothing, lambda *_: zero_term)
