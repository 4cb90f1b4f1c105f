"""Recurrences for Taylor series of elementwise functions.

A series is a list x_0, x_1, ... x_n of coefficients of powers of t; None stands for a term that is
known to be zero. `declare` turns functions of such lists into rules. The differential equation of a
function, with respect to t, leads to a recurrence of about n^2 multiplications.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., section 13.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from jitney.core.tracing.primitive import Primitive
from jitney.primitives import calculus
from jitney.primitives.rules import broadcast_to_result, const, shape_of, zero_tangent
from jitney.transforms.jet import Terms, jet_flat
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Primals, Tangents, Value

Series = list[Any]
Term: TypeAlias = "Value | None"  # None: known to be zero


def declare(prim: Primitive, compute: Callable[..., Series]) -> None:
    """Sets the jet rule of `prim` to `compute`: (*operand series, **params) -> result series."""

    @prim.jet
    def jet_rule(
        primals: Primals, series: Sequence[Tangents], **params: object
    ) -> tuple[Value, Terms]:
        operands = [
            [x, *(None if type(t) is Zero else t for t in terms)]
            for x, terms in zip(primals, series, strict=True)
        ]
        out, *terms = compute(*operands, **params)
        zero = zero_tangent(out)
        return out, [zero if t is None else t for t in terms]


def composed(prim: Primitive, fun: Callable[..., Value]) -> None:
    """Sets the jet rule of `prim` to the series of `fun`(*operands, **params)."""

    @prim.jet
    def jet_rule(
        primals: Primals, series: Sequence[Terms], **params: object
    ) -> tuple[Value, Terms]:
        outs, terms = jet_flat(lambda *xs: [fun(*xs, **params)], primals, series, len(series[0]))
        return outs[0], terms[0]


# --- arithmetic of terms --------------------------------------------------------------------------


def mul(x: Term, y: Term) -> Term:
    """Returns the product of two terms."""
    return None if x is None or y is None else calculus.mul(x, y)


def add(x: Term, y: Term) -> Term:
    """Returns the sum of two terms."""
    if x is None or y is None:
        return y if x is None else x
    return calculus.add(x, y)


def sub(x: Term, y: Term) -> Term:
    """Returns the difference of two terms."""
    if y is None:
        return x
    return calculus.neg(y) if x is None else calculus.sub(x, y)


def div(x: Term, y: Value) -> Term:
    """Returns a term divided by a value."""
    return None if x is None else calculus.div(x, y)


@overload
def scale(x: Value, factor: float) -> Value: ...
@overload
def scale(x: Term, factor: float) -> Term: ...
def scale(x: Term, factor: float) -> Term:
    """Returns a term times a Python number."""
    return x if x is None or factor == 1 else calculus.mul(x, const(x, factor))


def term_of_product(x: Series, y: Series, k: int, first: int = 0, last: int | None = None) -> Term:
    """Computes the sum of x_j y_(k-j) over first <= j <= last (k if None)."""
    total: Term = None
    for j in range(first, (k if last is None else last) + 1):
        total = add(total, mul(x[j], y[k - j]))
    return total


def product(x: Series, y: Series) -> Series:
    """Computes the series of x y."""
    return [term_of_product(x, y, k) for k in range(len(x))]


def square(x: Series) -> Series:
    """Computes the series of x^2, in which each product of two different terms is computed once."""
    return [_term_of_square(x, k) for k in range(len(x))]


def _term_of_square(x: Series, k: int) -> Term:
    twice = scale(term_of_product(x, x, k, last=(k - 1) // 2), 2)
    return twice if k % 2 else add(twice, mul(x[k // 2], x[k // 2]))


def quotient(x: Series, y: Series) -> Series:
    """Computes the series of x / y: z_k = (x_k - sum of y_j z_(k-j) over 1 <= j <= k) / y_0."""
    z: Series = [calculus.div(x[0], y[0])]
    for k in range(1, len(x)):
        z.append(None)  # z_k does not occur in the products below
        z[k] = div(sub(x[k], term_of_product(y, z, k, first=1)), y[0])
    return z


def _velocity(x: Series) -> Series:
    """Computes the terms j x_j of the series of t dx/dt."""
    return [None if j == 0 else scale(t, j) for j, t in enumerate(x)]


def integral(slope: Callable[[Series], Term], x: Series, y0: Value) -> Series:
    """Computes y with y' = g x', from y_0: y_k = (sum of j x_j g_(k-j) over 1 <= j <= k) / k.

    For the terms y_0 ... y_n, `slope(y)` returns g_n.
    """
    dx = _velocity(x)
    y: Series = [y0]
    g: Series = []
    for k in range(1, len(x)):
        g.append(slope(y))
        total: Term = None
        for j in range(1, k + 1):
            total = add(total, mul(dx[j], g[k - j]))
        y.append(scale(total, 1 / k))
    return y


# --- functions ------------------------------------------------------------------------------------


def of_quadratic_slope(
    prim: Primitive, slope: Callable[[Value], Value], b: float, c: float
) -> Callable[..., Series]:
    """Returns the series rule of a function with y' = (a + b y + c y^2) x'.

    Args:
      prim: the primitive of the function.
      slope: computes a + b y + c y^2 accurately from y.
      b, c: the coefficients.
    """

    def compute(x: Series, **params: object) -> Series:
        def next_slope(y: Series) -> Term:
            k = len(y) - 1
            if k == 0:
                return slope(y[0])
            linear = scale(y[k], b) if b else None
            return add(linear, scale(_term_of_square(y, k), c)) if c else linear

        return integral(next_slope, x, prim.bind(x[0], **params))

    return compute


def of_partner(
    prim: Primitive, partner: Primitive, sign: float, partner_sign: float
) -> Callable[..., Series]:
    """Returns the series rule of y = `prim`(x): y' = sign z x', z' = partner_sign y x'."""

    def compute(x: Series, **params: object) -> Series:
        dx = _velocity(x)
        y, z = [prim.bind(x[0], **params)], [partner.bind(x[0], **params)]
        for k in range(1, len(x)):
            y.append(scale(term_of_product(dx, [*z, None], k, first=1), sign / k))
            if k + 1 < len(x):
                z.append(scale(term_of_product(dx, y, k, first=1), partner_sign / k))
        return y

    return compute


def of_power(prim: Primitive, exponent: float) -> Callable[..., Series]:
    """Returns the series rule of x to a fixed power r, from x y' = r y x'."""

    def compute(x: Series, **params: object) -> Series:
        return power_terms(x, prim.bind(x[0], **params), lambda k, j: exponent * j - (k - j))

    return compute


def power_terms(x: Series, y0: Value, weight: Callable[[int, int], Value]) -> Series:
    """Computes y_k = (sum of weight(k, j) x_j y_(k-j) over 1 <= j <= k) / (k x_0).

    The weight r j - (k - j) gives x to the power r.
    """
    y: Series = [y0]
    for k in range(1, len(x)):
        total: Term = None
        for j in range(1, k + 1):
            part, factor = mul(x[j], y[k - j]), weight(k, j)
            total = add(
                total, scale(part, factor) if isinstance(factor, int | float) else mul(part, factor)
            )
        y.append(div(scale(total, 1 / k), x[0]))
    return y


def integer_power(x: Series, *, y: int) -> Series:
    """Computes the series of x to the integer power y by squaring, and a reciprocal if y < 0."""
    out: Series | None = None
    n = -y if y < 0 else y
    factor = x
    while n:
        if n & 1:
            out = factor if out is None else product(out, factor)
        n >>= 1
        if n:
            factor = square(factor)
    first = calculus.integer_pow(x[0], y=y)
    if out is None:
        return [first, *[None] * (len(x) - 1)]
    if y > 0:
        return [first, *out[1:]]
    one: Series = [_ones_like(x[0]), *[None] * (len(x) - 1)]
    return [first, *quotient(one, out)[1:]]


def _ones_like(x: Value) -> Value:
    return broadcast_to_result(const(x, 1), shape_of(x))


def of_logarithm(
    prim: Primitive, argument: Callable[[Value], Value], log_base: float = 1
) -> Callable[..., Series]:
    """Returns the series rule of y = log(u) / log_base with u_0 = argument(x_0), from u y' = x'."""

    def compute(x: Series, **params: object) -> Series:
        u0, y = argument(x[0]), [prim.bind(x[0], **params)]
        for k in range(1, len(x)):
            total: Term = None
            for j in range(1, k):
                total = add(total, scale(mul(y[j], x[k - j]), j))
            y.append(div(sub(x[k], scale(total, 1 / k)), u0))
        if log_base == 1:
            return y
        return [y[0], *[scale(term, 1 / log_base) for term in y[1:]]]

    return compute


def power(x: Series, y: Series) -> Series:
    """Computes the series z of x^y: a fixed power if y is constant, else from z' = z (y log x)'."""
    first = calculus.pow(x[0], y[0])
    if all(t is None for t in y[1:]):
        return power_terms(x, first, _weights_of(x[0], y[0]))
    if all(t is None for t in x[1:]):
        # If y is positive, a base of 0 results in 0: its logarithm must not turn that into NaN.
        is_zero = calculus.eq(x[0], const(x[0], 0))
        log: Series = [calculus.log(calculus.select_n(is_zero, x[0], _ones_like(x[0])))]
        log += [None] * (len(x) - 1)
    else:
        (log_value,), (terms,) = jet_flat(
            _logarithm,
            x[:1],
            [[zero_tangent(x[0]) if t is None else t for t in x[1:]]],
            len(x) - 1,
        )
        log = [log_value, *(None if type(t) is Zero else t for t in terms)]
    exponent = product(y, log)
    return integral(lambda z: z[-1], exponent, first)


def _logarithm(x: Value) -> list[Value]:
    return [calculus.log(x)]


def _weights_of(x0: Value, exponent: Value) -> Callable[[int, int], Value]:
    """Returns the weights of `power_terms` for an array exponent, possibly of integers."""
    r = exponent
    if getattr(r, "dtype", None) != getattr(x0, "dtype", None):
        like = const(x0, 0)
        dtype = calculus.add(like, like).dtype
        r = calculus.convert_element_type(r, new_dtype=dtype)

    def weight(k: int, j: int) -> Value:
        return calculus.sub(scale(r, j), const(r, k - j))

    return weight


def angle(y: Series, x: Series) -> Series:
    """Computes the series of the angle w of the point (x, y), from (x^2 + y^2) w' = x y' - y x'."""
    n = len(x)
    first = calculus.atan2(y[0], x[0])
    dx, dy = _velocity(x), _velocity(y)
    # The series of t w', t x' and t y' have no term of order 0, so that is None.
    numerator = [sub(term_of_product(dy, x, k), term_of_product(dx, y, k)) for k in range(n)]
    distance: Series = [add(_term_of_square(x, k), _term_of_square(y, k)) for k in range(n)]
    dw: Series = [None]
    for k in range(1, n):
        dw.append(None)
        dw[k] = div(sub(numerator[k], term_of_product(distance, dw, k, first=1)), distance[0])
    return [first, *(scale(t, 1 / k) for k, t in enumerate(dw[1:], 1))]
