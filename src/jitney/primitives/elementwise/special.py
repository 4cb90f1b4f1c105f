"""Special functions: error functions, gamma and related functions, Bessel functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from jitney.core.types import dtypes
from jitney.primitives import calculus, rules
from jitney.primitives.calculus import (
    add,
    and_,
    div,
    exp,
    ge,
    gt,
    integer_pow,
    log,
    log1p,
    lt,
    mul,
    neg,
    select_n,
    sign,
    sub,
)
from jitney.primitives.elementwise.compiled_rules import compile_large
from jitney.primitives.elementwise.families import FLOAT, binary, nary, unary
from jitney.primitives.elementwise.slopes import exp_neg_square, strong
from jitney.primitives.rules import const, factor

if TYPE_CHECKING:
    from jitney.primitives.rule_types import Value

erf_p, erf = unary(
    "erf",
    FLOAT,
    """Computes the error function.

    Example:
      >>> lax.erf(jnp.array([0.0, 0.5]))
      Array([0.       , 0.5204999], dtype=float32)
    """,
    error="1.5 ulp",
)
erfc_p, erfc = unary(
    "erfc",
    FLOAT,
    "Computes the complementary error function, 1 - erf(x).",
    accuracy=True,
    error="5 ulp",
)
erf_inv_p, erf_inv = unary(
    "erf_inv",
    FLOAT,
    "Computes the inverse error function, on [-1, 1].",
    error="2.5 ulp in float32, 3.5 in float64",
)
lgamma_p, lgamma = unary(
    "lgamma",
    FLOAT,
    """Computes the logarithm of |gamma(x)|.

    Example:
      >>> lax.lgamma(jnp.array([0.5, 5.0]))
      Array([0.5723649, 3.1780539], dtype=float32)
    """,
    error="0.6 ulp in float32, 4 in float64",
)
digamma_p, digamma = unary(
    "digamma",
    FLOAT,
    "Computes the digamma function, the derivative of `lgamma`.",
    error="0.6 ulp in float32, 48 in float64",
)
bessel_i0e_p, bessel_i0e = unary(
    "bessel_i0e",
    FLOAT,
    "Computes the modified Bessel function of order 0, times exp(-|x|).",
    error="4 ulp",
)
bessel_i1e_p, bessel_i1e = unary(
    "bessel_i1e",
    FLOAT,
    "Computes the modified Bessel function of order 1, times exp(-|x|).",
    error="4 ulp",
)
igamma_p, igamma = binary(
    "igamma", FLOAT, "Computes the regularized lower incomplete gamma function P(a, x).", names="ax"
)
igammac_p, igammac = binary(
    "igammac",
    FLOAT,
    "Computes the regularized upper incomplete gamma function Q(a, x).",
    names="ax",
)
igamma_grad_a_p, igamma_grad_a = binary(
    "igamma_grad_a",
    FLOAT,
    "Computes the derivative of `igamma` with respect to its first operand.",
    names="ax",
)
random_gamma_grad_p, random_gamma_grad = binary(
    "random_gamma_grad",
    FLOAT,
    "Computes the derivative of a sample x of Gamma(a, 1) with respect to a.",
    names="ax",
)
polygamma_p, polygamma = binary(
    "polygamma",
    FLOAT,
    "Computes the polygamma function, the m-th derivative of `digamma` at x.",
    names="mx",
)
zeta_p, zeta = binary(
    "zeta", FLOAT, "Computes the Hurwitz zeta function of order x at q.", names="xq"
)
regularized_incomplete_beta_p, betainc = nary(
    "regularized_incomplete_beta",
    (FLOAT, FLOAT, FLOAT),
    "Computes the regularized incomplete beta function I_x(a, b).",
    public="betainc",
    names="abx",
)

for _prim in (
    erf_inv_p, lgamma_p, digamma_p, bessel_i0e_p, bessel_i1e_p, igamma_p, igammac_p, igamma_grad_a_p,
    random_gamma_grad_p, polygamma_p, zeta_p, regularized_incomplete_beta_p,
):  # fmt: skip
    compile_large(_prim)

# --- derivatives and batching -------------------------------------------------------------------


def _full_like(x: Value, value: float | np.floating) -> Value:
    return rules.broadcast_to_result(const(x, value), rules.shape_of(x))


_TWO_OVER_ROOT_PI = 2 / np.sqrt(np.pi)
_HALF_ROOT_PI = np.sqrt(np.pi) / 2

rules.defjvp(erf_p, lambda t, x: mul(factor(x, _TWO_OVER_ROOT_PI), mul(t, exp_neg_square(x))))
rules.defjvp(
    erfc_p, lambda t, x, **_: mul(factor(x, -_TWO_OVER_ROOT_PI), mul(t, exp_neg_square(x)))
)
rules.defjvp2(
    erf_inv_p,
    lambda t, y, x: mul(factor(x, _HALF_ROOT_PI), mul(t, exp(calculus.square(y)))),
)
rules.defjvp(lgamma_p, lambda t, x: mul(t, digamma(x)))
rules.defjvp(digamma_p, lambda t, x: mul(t, polygamma(factor(x, 1), x)))
rules.defjvp2(bessel_i0e_p, lambda t, y, x: mul(t, sub(bessel_i1e(x), mul(sign(x), y))))


def _bessel_i1e_slope(y: Value, x: Value) -> Value:
    """Computes I0e(x) - y (sign(x) + 1 / x), which tends to 1/2 at 0."""
    dtype = rules.aval_of(x).dtype
    tiny = dtypes.finfo(dtype).eps
    size = strong(calculus.abs(x))
    regular = gt(size, const(size, tiny))
    safe = select_n(regular, _full_like(x, tiny), x)
    slope = sub(bessel_i0e(safe), mul(y, add(sign(safe), integer_pow(safe, y=-1))))
    return select_n(regular, _full_like(slope, 0.5), slope)


rules.defjvp2(bessel_i1e_p, lambda t, y, x: mul(t, _bessel_i1e_slope(y, x)))


def _gamma_density(a: Value, x: Value) -> Value:
    """Computes exp(-x) x^(a - 1) / gamma(a), the derivative of `igamma` with respect to x.

    Near x = a, where the density is significant, the exponent in this form is a small difference of
    terms of size a log(a). There it is computed by Stirling's formula with the deviation d = (x -
    a) / a: a (log1p(d) - d) - log(x) + log(a / 2 pi) / 2, minus the remainder of the formula.
    """
    deviation = div(sub(x, a), a)
    is_large = ge(a, const(a, _STIRLING))
    near = and_(lt(calculus.abs(deviation), const(a, 0.5)), is_large)
    power = mul(sub(a, _full_like(a, 1)), log(x))
    direct = sub(add(neg(x), power), lgamma(a))

    d = select_n(near, _full_like(deviation, 0), deviation)
    large = select_n(is_large, _full_like(a, _STIRLING), a)
    remainder = mul(div(const(a, 1), large), _polynomial(integer_pow(large, y=-2), _REST))
    middle = sub(mul(log(mul(large, const(a, 1 / (2 * np.pi)))), const(a, 0.5)), log(x))
    exponent = add(mul(large, _log1p_less(d)), sub(middle, remainder))
    return exp(select_n(near, direct, exponent))


_STIRLING = 20  # the smallest a for Stirling's formula
# Series of a (ln gamma(a) - (a - 1/2) ln(a) + a - ln(2 pi) / 2) in powers of 1 / a^2.
_REST = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
_ATANH = tuple(2 / (2 * k + 3) for k in range(7))


def _polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluates the sum of coefficients[k] x^k."""
    value = const(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        value = add(mul(value, x), const(x, c))
    return value


def _log1p_less(d: Value) -> Value:
    """Computes log1p(d) - d for |d| < 1/2.

    With r = d / (d + 2), log1p(d) is 2 atanh(r), and 2 r - d = -d r; the series is used for |d| <
    0.1.
    """
    ratio = div(d, add(d, const(d, 2)))
    square = calculus.square(ratio)
    series = mul(mul(square, ratio), _polynomial(square, _ATANH))
    series = sub(series, mul(d, ratio))
    difference = sub(log1p(d), d)
    return select_n(lt(calculus.abs(d), const(d, 0.1)), difference, series)


rules.defjvp(
    igamma_p,
    lambda t, a, x: mul(t, igamma_grad_a(a, x)),
    lambda t, a, x: mul(t, _gamma_density(a, x)),
)
rules.defjvp(
    igammac_p,
    lambda t, a, x: neg(mul(t, igamma_grad_a(a, x))),
    lambda t, a, x: neg(mul(t, _gamma_density(a, x))),
)


def _log_gamma_density_slope(a: Value, x: Value) -> Value:
    """Computes the derivative of the logarithm of the density with respect to a."""
    return sub(log(x), digamma(a))


def _gamma_sample_slope(t: Value, y: Value, a: Value, x: Value) -> Value:
    """Computes t times the derivative of y = -(dP/da) / p with respect to x.

    P is the gamma distribution function, and p is its density.
    """
    steepness = sub(div(sub(a, _full_like(a, 1)), x), _full_like(x, 1))
    return mul(t, neg(add(_log_gamma_density_slope(a, x), mul(y, steepness))))


def _refuse(message: str) -> Callable[..., NoReturn]:
    def rule(*_: Value) -> NoReturn:
        raise ValueError(message)

    return rule


rules.defjvp2(
    random_gamma_grad_p,
    _refuse(
        "random_gamma_grad can be differentiated only with respect to its second operand, the sample"
    ),
    _gamma_sample_slope,
)


def _polygamma_slope(t: Value, m: Value, x: Value) -> Value:
    higher = polygamma(add(m, const(m, 1)), x)
    return mul(t, higher)


rules.defjvp(
    polygamma_p,
    _refuse("polygamma cannot be differentiated with respect to its order m, which is an integer"),
    _polygamma_slope,
)


def _beta_density(t: Value, a: Value, b: Value, x: Value) -> Value:
    """Computes t x^(a - 1) (1 - x)^(b - 1) / B(a, b)."""
    log_beta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    others = sub(b, const(b, 1))
    power = mul(others, log1p(neg(x)))
    power = add(power, mul(sub(a, const(a, 1)), log(x)))
    return mul(exp(sub(power, log_beta)), t)


_no_beta = _refuse(
    "betainc can be differentiated only with respect to its third operand, not to a and b"
)
rules.defjvp(regularized_incomplete_beta_p, _no_beta, _no_beta, _beta_density)

_UNARY = (erf_p, erfc_p, erf_inv_p, lgamma_p, digamma_p, bessel_i0e_p, bessel_i1e_p)
_SEVERAL = (
    igamma_p, igammac_p, igamma_grad_a_p, random_gamma_grad_p, polygamma_p, zeta_p,
    regularized_incomplete_beta_p,
)  # fmt: skip
rules.vectorized(*_UNARY)
rules.broadcasting(*_SEVERAL)
igamma_grad_a_p.absent("jvp", why="it is itself a derivative, which JAX does not differentiate")
zeta_p.absent("jvp", why="JAX defines none")
for _prim in (*_UNARY, *_SEVERAL):
    _prim.absent("transpose", why="not linear")
