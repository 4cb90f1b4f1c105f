"""Kummer's 1F1 and Gauss's 2F1 hypergeometric functions, differentiable in all of their arguments.

They are computed by power series, asymptotic series, and transformations of the argument into a
region where series converge (Pearson, Olver and Porter, Numerical methods for the computation of
the confluent and Gauss hypergeometric functions, Numerical Algorithms 74 (2017), 821-866; DLMF,
chapters 13 and 15). A series is summed for all elements together, until its terms are negligible
for every element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import broadcast_arrays
from jitney.numpy.selection import where
from jitney.scipy.special.gamma_functions import gammasgn
from jitney.scipy.special.support import (
    guarded,
    in_float32,
    is_pole_of_gamma,
    is_whole,
    machine_epsilon,
    real_operands,
)

_MOST_TERMS = 1_000_000
_UNIT = 64  # sums are scaled by 2^-64 before they overflow
_LN2_HIGH = 45426 / 65536  # has so few bits that products with small integers are exact
_LN2_LOW = 1.4286068203094173e-06


def _series(tops: Sequence[Array], bottoms: Sequence[Array], x: Array) -> Array:
    """Computes the sum of (top)_k ... x^k / ((bottom)_k ... k!) over k >= 0."""
    (total,), units = _sums(tops, bottoms, x, with_slopes=False)
    return _scaled(total, units)


def _scaled(x: Array, units: Array) -> Array:
    """Computes x times 2^(64 units) in two steps, because the factor itself may overflow."""
    half = lax.exp2(units * (_UNIT / 2))
    return x * half * half


def _scaled_exp(x: Array, units: Array, falls: Array) -> Array:
    """Computes exp(-falls) x 2^(64 units) with the relative accuracy of x; falls >= 0."""
    steps = lax.round(falls / (_UNIT * (_LN2_HIGH + _LN2_LOW)))
    remainder = (falls - steps * (_UNIT * _LN2_HIGH)) - steps * (_UNIT * _LN2_LOW)
    return _scaled(x * lax.exp(-remainder), units - steps)


def _sums(
    tops: Sequence[Array], bottoms: Sequence[Array], x: Array, with_slopes: bool = True
) -> tuple[list[Array], Array]:
    """Computes the sum of a hypergeometric series, and its derivatives with respect to parameters.

    If t' is the derivative of a term t with respect to a parameter a of the numerator, then the
    next term is r t, with the ratio r, and its derivative is r t' + t r / (a + k). For a parameter
    of the denominator the second summand is negated.

    Returns: (sums, units); all sums are to be multiplied by 2^(64 units).
    """
    count = len(tops) + len(bottoms) if with_slopes else 0
    one, zero = lax.full_like(x, 1), lax.full_like(x, 0)
    epsilon = machine_epsilon(x)

    def is_open(carry: tuple[Array, Array, list[Array], list[Array], Array]) -> Array:
        k, goes_on, *_ = carry
        return jnp.any(goes_on) & (k < _MOST_TERMS)

    def step(
        carry: tuple[Array, Array, list[Array], list[Array], Array],
    ) -> tuple[Array, Array, list[Array], list[Array], Array]:
        index, goes_on, (term, *slopes), totals, units = carry
        k = lax.convert_element_type(index, x.dtype)
        raised, lowered = [top + k for top in tops], [bottom + k for bottom in bottoms]
        scale = x / (k + 1)
        for y in lowered:
            scale = scale / y
        following = _product(raised, term * scale)
        changes: list[Array] = []
        for i, slope in enumerate(slopes):
            if i < len(raised):
                # The product without the factor itself, which may be 0
                own = _product(raised[:i] + raised[i + 1 :], term * scale)
            else:
                own = -following / lowered[i - len(raised)]
            changes.append(_product(raised, slope * scale) + own)
        terms = [following, *changes]
        # Terms after the end of a series may contain divisions by zero.
        totals = [where(goes_on, total + t, total) for total, t in zip(totals, terms, strict=True)]
        # Small terms may still grow until their ratio is below 1; the next ratio is tested as well,
        # since (a)_k grows from a tiny a to a (k - 1)!.
        ahead = x / (k + 2)
        for y in lowered:
            ahead = ahead / (y + 1)
        ahead = lax.abs(_product([y + 1 for y in raised], ahead))
        small = (lax.abs(_product(raised, scale)) < 1) & ((ahead < 1) | (following == 0))
        for total, t in zip(totals, terms, strict=True):
            small = small & (lax.abs(t) <= epsilon * lax.abs(total))
        ended = small | jnp.isnan(totals[0])
        is_large = goes_on & (lax.abs(totals[0]) > 2.0**_UNIT)
        fitting = where(is_large, 2.0**-_UNIT, 1.0)
        terms, totals = [t * fitting for t in terms], [t * fitting for t in totals]
        return index + 1, goes_on & ~ended, terms, totals, where(is_large, units + 1, units)

    start = (jnp.zeros((), np.int32), jnp.ones(x.shape, bool),
             [one] + [zero] * count, [one] + [zero] * count, zero)  # fmt: skip
    *_, totals, units = lax.while_loop(is_open, step, start)
    return totals, units


def _product(factors: Sequence[Array], start: Array) -> Array:
    for factor in factors:
        start = start * factor
    return start


def _is_polynomial(a: Array) -> Array:
    """Returns whether (a)_k is 0 for large k, so that the series terminates."""
    return is_pole_of_gamma(a)


def _divides_by_zero(tops: Sequence[Array], bottom: Array) -> Array:
    """Returns whether a denominator is 0 before the numerator terminates the series."""
    pole = is_pole_of_gamma(bottom)
    for top in tops:
        pole = pole & ~(_is_polynomial(top) & (top > bottom))
    return pole


# --- 1F1 --------------------------------------------------------------------------------------------

_ASYMPTOTIC = 100.0


def _is_asymptotic(a: Array, b: Array, x: Array) -> Array:
    """Returns whether the series in 1 / x reaches full precision before it diverges."""
    growth = (1 + lax.abs(b - a)) * (1 + lax.abs(1 - a))
    return (x >= _ASYMPTOTIC) & (growth < 0.5 * x) & ~_is_polynomial(a)


def _positive_1f1(a: Array, b: Array, x: Array, falls: Array) -> Array:
    """Computes 1F1 for x >= 0, times exp(-x) where `falls`; the product does not overflow."""
    far = _is_asymptotic(a, b, x)
    (near,), units = _sums((a,), (b,), guarded(~far, x, 0.0), with_slopes=False)
    u = 1 / guarded(far, x, jnp.inf)
    tail = _series((b - a, 1 - a), (), u)
    near = _scaled_exp(near, units, guarded(falls & ~far, x, 0.0))
    size = lax.lgamma(b) - lax.lgamma(a) + guarded(~falls, x, 0.0)
    size = size + (a - b) * lax.log(guarded(far, x, 1.0))
    return where(far, gammasgn(a) * gammasgn(b) * tail * lax.exp(size), near)


def _positive_1f1_slopes(a: Array, b: Array, x: Array, falls: Array) -> tuple[Array, Array]:
    """Computes the derivatives of 1F1 with respect to a and b; see `_positive_1f1`."""
    far = _is_asymptotic(a, b, x)
    (_, near_a, near_b), units = _sums((a,), (b,), guarded(~far, x, 0.0))
    fallen = guarded(falls & ~far, x, 0.0)
    near_a, near_b = (_scaled_exp(slope, units, fallen) for slope in (near_a, near_b))
    safe = guarded(far, x, jnp.inf)
    (tail, by_gap, by_rest), tail_units = _sums((b - a, 1 - a), (), 1 / safe)
    tail, by_gap, by_rest = (_scaled(t, tail_units) for t in (tail, by_gap, by_rest))
    value = _positive_1f1(a, b, x, falls)
    log_x = lax.log(guarded(far, x, 1.0))
    far_a = value * (log_x - lax.digamma(a) - (by_gap + by_rest) / tail)
    far_b = value * (lax.digamma(b) - log_x + by_gap / tail)
    return where(far, far_a, near_a), where(far, far_b, near_b)


def _needs_kummer(a: Array, b: Array, x: Array) -> Array:
    """Returns whether to compute 1F1(a; b; x) as exp(x) 1F1(b - a; b; -x), Kummer's transformation.

    For x < 0 the terms of the transformed series do not cancel, but there are about -x of them. The
    terms of 1F1(a; b; x) are few and hardly cancel where b is larger than -x.
    """
    is_short = (-x > 1000) & (-x < 0.5 * b) & (lax.abs(a) < 2)
    return (x < 0) & ~_is_polynomial(a) & ~is_short


@custom_jvp
def _hyp1f1(a: Array, b: Array, x: Array) -> Array:
    by_kummer = _needs_kummer(a, b, x)
    value = _positive_1f1(where(by_kummer, b - a, a), b, where(by_kummer, -x, x), by_kummer)
    return where(_divides_by_zero((a,), b), jnp.inf, value).astype(x.dtype)


@_hyp1f1.defjvp
def _hyp1f1_jvp(
    primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    (a, b, x), (da, db, dx) = primals, tangents
    by_x = (a / b) * _hyp1f1(a + 1, b + 1, x)
    by_kummer = _needs_kummer(a, b, x)
    by_top, by_bottom = _positive_1f1_slopes(
        where(by_kummer, b - a, a), b, where(by_kummer, -x, x), by_kummer
    )
    by_a = where(by_kummer, -by_top, by_top)
    by_b = where(by_kummer, by_top + by_bottom, by_bottom)
    return _hyp1f1(a, b, x), da * by_a + db * by_b + dx * by_x


def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Computes Kummer's confluent hypergeometric function 1F1(a; b; x).

    Args:
      a: real array; integers are converted to the default float.
      b: real array, broadcast against a.
      x: real array, broadcast against a.

    Returns: array of floating dtype; inf where b is 0 or a negative integer.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.hyp1f1(1.0, 1.0, jnp.array([0.0, 1.0])).round(4)
      Array([1.    , 2.7183], dtype=float32)
    """
    return in_float32(_hyp1f1)(*broadcast_arrays(*real_operands("hyp1f1", a, b, x)))


# --- 2F1 --------------------------------------------------------------------------------------------

_DIRECT_LOW, _DIRECT_HIGH = -0.5, 0.9  # range where the power series in x is used
_SLOW = 0.99  # beyond, the power series needs thousands of terms


def _gamma_quotient(tops: Sequence[Array], bottoms: Sequence[Array]) -> Array:
    """Computes a quotient of products of gamma functions; 0 where the denominator has a pole."""
    size = sum((lax.lgamma(x) for x in tops), lax.full_like(tops[0], 0))
    size = sum((-lax.lgamma(x) for x in bottoms), size)
    sign = lax.full_like(tops[0], 1)
    pole = jnp.zeros(tops[0].shape, bool)
    for x in (*tops, *bottoms):
        sign = sign * where(is_pole_of_gamma(x), 1.0, gammasgn(x))
    for x in bottoms:
        pole = pole | is_pole_of_gamma(x)
    return where(pole, 0.0, sign * lax.exp(guarded(~pole, size, 0.0)))


def _series_2f1(a: Array, b: Array, c: Array, x: Array) -> Array:
    """Sums the power series in x, after Euler's transformation if that makes parameters smaller."""
    flipped = lax.abs((c - a) * (c - b)) < lax.abs(a * b)
    flipped = flipped & ~_is_polynomial(a) & ~_is_polynomial(b)
    value = _series((where(flipped, c - a, a), where(flipped, c - b, b)), (c,), x)
    power = lax.exp((c - a - b) * lax.log1p(guarded(flipped, -x, 0.0)))
    return where(flipped, power * value, value)


def _near_one(a: Array, b: Array, c: Array, y: Array) -> Array:
    """Computes 2F1 at 1 - y by two series in y (DLMF 15.8.4); c - a - b must not be an integer."""
    gap = c - a - b
    first = _gamma_quotient((c, gap), (c - a, c - b)) * _series((a, b), (1 - gap,), y)
    second = _gamma_quotient((c, -gap), (a, b)) * _series((c - a, c - b), (1 + gap,), y)
    return first + lax.exp(gap * lax.log(y)) * second


def _near_one_integer(a: Array, b: Array, m: Array, y: Array) -> Array:
    """Computes 2F1(a, b; a + b + m; 1 - y) for an integer m >= 0.

    The series contains logarithms (DLMF 15.8.10).
    """
    c = a + b + m
    epsilon = machine_epsilon(y)
    zero, one = lax.full_like(y, 0), lax.full_like(y, 1)

    def finite_step(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        index, term, total = carry
        k = lax.convert_element_type(index, y.dtype)
        total = total + where(k < m, term, 0.0)
        # The terms are (a)_k (b)_k (m - k - 1)! / k! (-y)^k; this is the step from k to k + 1.
        left = where(m - k - 1 > 0, m - k - 1, 1.0)
        return index + 1, term * ((a + k) * (b + k) / ((k + 1) * left)) * -y, total

    start = jnp.zeros((), np.int32)
    first = lax.exp(lax.lgamma(where(m > 0, m, 1.0)))
    finite = lax.while_loop(
        lambda carry: carry[0] < jnp.max(m, initial=0).astype(np.int32),
        finite_step,
        (start, first, zero),
    )[2]

    def step(
        carry: tuple[Array, Array, Array, Array, Array],
    ) -> tuple[Array, Array, Array, Array, Array]:
        index, _, term, bracket, total = carry
        k = lax.convert_element_type(index, y.dtype)
        change = term * bracket
        total = total + change
        p, q = a + m + k, b + m + k
        bracket = bracket - 1 / (k + 1) - 1 / (k + m + 1) + 1 / p + 1 / q
        term = term * (p * q / ((k + 1) * (k + m + 1))) * y
        return index + 1, lax.abs(change) > epsilon * lax.abs(total), term, bracket, total

    log_y = lax.log(y)
    bracket = (log_y - lax.digamma(one) - lax.digamma(m + 1)
               + lax.digamma(a + m) + lax.digamma(b + m))  # fmt: skip
    sign = where(is_whole(m / 2), 1.0, -1.0)
    term = sign * lax.exp(m * log_y - lax.lgamma(m + 1))
    infinite = lax.while_loop(
        lambda carry: jnp.any(carry[1]) & (carry[0] < _MOST_TERMS),
        step,
        (start, jnp.ones(y.shape, bool), term, bracket, zero),
    )[4]
    head = _gamma_quotient((c, one), (a + m, b + m)) * finite
    return head - _gamma_quotient((c, one), (a, b)) * infinite


def _below_one(a: Array, b: Array, c: Array, x: Array) -> Array:
    """Computes 2F1 for -1/2 <= x < 1."""
    polynomial = _is_polynomial(a) | _is_polynomial(b)
    direct = (x <= _DIRECT_HIGH) | polynomial
    value = _series_2f1(a, b, c, guarded(direct, x, 0.0))
    y = guarded(~direct, 1 - x, 0.1)
    gap = c - a - b
    nearest = jnp.round(gap)
    distance = lax.abs(gap - nearest)
    # Near an integer the two series cancel. The power series in x does not, but it converges slowly
    # near 1; there the gap is rounded to the integer if the error of rounding is the smaller one.
    epsilon = machine_epsilon(x)
    is_slow = x < _SLOW
    near_integer = distance < epsilon**0.25
    integer = distance <= where(is_slow, 64 * epsilon, epsilon**0.5)
    slow = ~direct & near_integer & ~integer & is_slow
    generic = ~direct & ~integer & ~slow
    by_gamma = _near_one(a, b, where(generic, c, a + b + 0.5), y)
    # Euler's transformation maps m < 0 to m > 0.
    flipped = nearest < 0
    p, q = where(flipped, c - a, a), where(flipped, c - b, b)
    with_logarithm = _near_one_integer(p, q, lax.abs(nearest), y)
    with_logarithm = with_logarithm * where(flipped, lax.exp(nearest * lax.log(y)), 1.0)
    by_terms = _series_2f1(a, b, c, guarded(slow, x, 0.0))
    far = where(integer, with_logarithm, where(slow, by_terms, by_gamma))
    return where(direct, value, far)


@custom_jvp
def _hyp2f1(a: Array, b: Array, c: Array, x: Array) -> Array:
    polynomial = _is_polynomial(a) | _is_polynomial(b)
    # Pfaff's transformation: 2F1(a, b; c; x) = (1 - x)^-a 2F1(a, c - b; c; x / (x - 1))
    low = (x < _DIRECT_LOW) & ~polynomial
    above = (x >= 1) & ~polynomial
    z = where(low, guarded(low, x, -1.0) / (guarded(low, x, -1.0) - 1), x)
    value = _below_one(a, where(low, c - b, b), c, guarded(~above, z, 0.0))
    value = where(low, value * lax.exp(-a * lax.log1p(guarded(low, -x, 0.0))), value)
    at_one = _gamma_quotient((c, guarded(c - a - b > 0, c - a - b, 1.0)), (c - a, c - b))
    ending = where((x == 1) & (c - a - b > 0), at_one, jnp.inf)
    value = where(above, ending, value)
    value = where(_divides_by_zero((a, b), c), jnp.inf, value)
    return where((a == 0) | (b == 0) | (x == 0), 1.0, value).astype(x.dtype)


@_hyp2f1.defjvp
def _hyp2f1_jvp(
    primals: tuple[Array, Array, Array, Array], tangents: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array]:
    (a, b, c, x), (da, db, dc, dx) = primals, tangents
    by_x = (a * b / c) * _hyp2f1(a + 1, b + 1, c + 1, x)
    low = (x < _DIRECT_LOW) & ~(_is_polynomial(a) | _is_polynomial(b))
    safe = guarded(low, x, -1.0)
    log_rest = lax.log1p(guarded(low, -x, 0.0))
    factor = lax.exp(-a * log_rest)
    sums, units = _sums((a, where(low, c - b, b)), (c,), where(low, safe / (safe - 1), x))
    value, by_a, by_b, by_c = (_scaled(total, units) for total in sums)
    by_a = where(low, factor * (by_a - log_rest * value), by_a)
    by_c = where(low, factor * (by_c + by_b), by_c)
    by_b = where(low, -factor * by_b, by_b)
    slope = da * by_a + db * by_b + dc * by_c + dx * by_x
    return _hyp2f1(a, b, c, x), slope


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Computes Gauss's hypergeometric function 2F1(a, b; c; x).

    Args:
      a: real array; integers are converted to the default float.
      b: real array, broadcast against a.
      c: real array, broadcast against a.
      x: real array, broadcast against a; at most 1, unless the function is a polynomial (a or b is
        0 or a negative integer).

    Returns: array of floating dtype; inf where the series diverges or is undefined: if c is 0 or a
      negative integer, x > 1, or x = 1 and c <= a + b.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.hyp2f1(1.0, 2.0, 2.0, jnp.array([0.0, 0.5])).round(4)
      Array([1., 2.], dtype=float32)
    """
    return in_float32(_hyp2f1)(*broadcast_arrays(*real_operands("hyp2f1", a, b, c, x)))
