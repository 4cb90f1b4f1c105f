"""Products and ratios of gamma functions: beta function, Pochhammer symbol, binomial coefficients.

Ratios of gamma functions of large arguments are computed from the remainders of Stirling's series,
since differences of logarithms would cancel (Didonato and Morris, ACM Transactions on Mathematical
Software 18 (1992), 360-373, section 3). Negative arguments are first reflected, by
gamma(x) gamma(1 - x) = pi / sin(pi x), so that these formulas apply to positive arguments only. The
sines are computed from the fractional parts of the arguments, which are exact, whereas a sum of two
arguments may round to a pole.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_value
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import promote_args_inexact
from jitney.numpy.selection import where
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.special.gamma_functions import gammasgn
from jitney.scipy.special.support import guarded, horner, is_pole_of_gamma, real_operands

_TWO_PI_LOG_HALF = 0.9189385332046727  # log(2 pi) / 2
_LOG_PI = 1.1447298858494002

# B_2k / (2k (2k - 1)), k = 1, ...: coefficients in 1 / x^2 of x times the remainder of Stirling's
# series
_STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
_LARGE = 8.0  # from here on the truncated series is exact to double precision

_FEW = 64.0  # up to here differences of logarithms lose few digits, at a tenth of the cost


def _remainder(x: Array) -> Array:
    """Computes the remainder of Stirling's formula for log gamma(x), x >= 8.

    The formula is (x - 1/2) log(x) - x + log(2 pi) / 2.
    """
    inverse = 1 / x
    return inverse * horner(inverse * inverse, _STIRLING)


def _log_rise(x: Array, m: Array, end: Array) -> Array:
    """Computes log(gamma(end) / gamma(x)) for x >= 8 and end = x + m >= 8."""
    smooth = (x - 0.5) * lax.log1p(m / x) + m * (lax.log(end) - 1)
    return smooth + (_remainder(end) - _remainder(x))


# --- sines of fractional parts --------------------------------------------------------------------


def _fraction(x: Array) -> Array:
    """Returns `x` minus the nearest integer, exactly; 0 for infinities."""
    return where(lax.is_finite(x), x - lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), 0.0)


def _is_odd(x: Array) -> Array:
    """Returns whether the integer nearest to `x` is odd."""
    half = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN) * 0.5
    return half != jnp.floor(half)


def _sine(fraction: Array) -> Array:
    """Computes sin(pi fraction) for a fraction in [-1/2, 1/2]."""
    return lax.sin(fraction * math.pi)


def _sine_of_sum(p: Array, q: Array) -> Array:
    """Computes sin(pi (p + q)) for p, q in [-1/2, 1/2], accurately also near its zeros."""
    total = p + q
    size = lax.abs(total)
    to_one = (0.5 - lax.abs(p)) + (0.5 - lax.abs(q))
    return lax.sign(total) * _sine(where(size > 0.5, to_one, size))


# --- beta -----------------------------------------------------------------------------------------


def _log_beta(a: Array, b: Array) -> Array:
    """Computes log |B(a, b)|.

    Both operands must be positive; or, if low is the smaller and high the larger one,
    low > -high / 2 and high >= 16.
    """
    low, high = lax.min(a, b), lax.max(a, b)
    direct = lax.lgamma(low) + (lax.lgamma(high) - lax.lgamma(low + high))
    # One large argument: log gamma(low) minus log(gamma(high + low) / gamma(high)).
    one_large = (high >= _LARGE) & (low + high >= _LARGE)
    top = guarded(one_large, high, _LARGE)
    low_safe = guarded(one_large, low, 1.0)
    by_rise = lax.lgamma(low_safe) - _log_rise(top, low_safe, top + low_safe)
    # Two large arguments, with h = low / high: powers of h / (1 + h) and 1 / (1 + h), over
    # sqrt(high).
    both_large = low >= _LARGE
    small = guarded(both_large, low, _LARGE)
    h = small / guarded(both_large, high, _LARGE)
    top = guarded(both_large, high, _LARGE)
    correction = _remainder(small) + (_remainder(top) - _remainder(small + top))
    powers = (small - 0.5) * lax.log(h / (1 + h)) - top * lax.log1p(h)
    by_stirling = (_TWO_PI_LOG_HALF - 0.5 * lax.log(top) + correction) + powers
    return where(both_large, by_stirling, where(one_large, by_rise, direct))


def _any_negative(x: Array) -> bool:
    """Returns False if all elements are known to have clear sign bits, otherwise True."""
    known = concrete_value(x)
    return known is None or bool(np.any(np.signbit(known)))


def _cases(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Returns where at least 1, at least 2, and all 3 of the gamma functions are reflected.

    They are the gamma functions in the definition of B(low, high).
    """
    one = (low < 0) & ~((high >= 2 * _LARGE) & (low >= -0.5 * high))
    two = one & (low + high <= 0)
    return one, two, two & (high <= 0)


@custom_jvp
def _betaln(a: Array, b: Array) -> Array:
    low, high = lax.min(a, b), lax.max(a, b)
    if not _any_negative(low):
        return _log_beta(low, high)
    one, two, three = _cases(low, high)
    # B(low, high) is, with end = low + high and S(x) = sin(pi x),
    #   end > 0              pi / (S(low) high B(1 - low, end))
    #   end <= 0, high > 0   S(end) / S(low) B(high, 1 - end)
    #   high <= 0            pi S(end) / (S(low) S(high) (1 - end) B(1 - low, 1 - high))
    below = 1 - low
    first = where(one, where(two & ~three, high, below), low)
    second = where(one, where(three, 1 - high, where(two, below - high, low + high)), high)
    regular = _log_beta(first, second)
    p, q = _fraction(low), _fraction(high)
    log_low, log_high = lax.log(lax.abs(_sine(p))), lax.log(lax.abs(_sine(q)))
    log_end = lax.log(lax.abs(_sine_of_sum(p, q)))
    # At integers the sines vanish: two poles in a ratio have a finite limit, three leave a pole.
    poles = (p == 0) & (q == 0)
    by_one = _LOG_PI - log_low - lax.log(guarded(one & ~two, high, 1.0)) - regular
    by_two = where(poles, 0.0, log_end - log_low) + regular
    by_three = (log_end - log_low - log_high) + (_LOG_PI - lax.log(below - high) - regular)
    by_three = where(poles, math.inf, by_three)
    reflected = where(three, by_three, where(two, by_two, by_one))
    return where(one, reflected, regular)


def _beta_sign(a: Array, b: Array) -> Array:
    """Returns the sign of B(a, b); NaN at poles where the sign differs between the two sides."""
    low, high = lax.min(a, b), lax.max(a, b)
    if not _any_negative(low):
        return lax.full_like(low, 1)
    regular = gammasgn(a) * gammasgn(b) * gammasgn(a + b)
    _, two, three = _cases(low, high)
    p, q = _fraction(low), _fraction(high)
    sign_low, sign_high, sign_end = lax.sign(p), lax.sign(q), lax.sign(p + q)
    undefined = where(three, (p == 0) | (q == 0), (p == 0) & (q != 0))
    # If high is an integer, sin(pi end) / sin(pi low) is (-1)^high; its sign is applied below.
    product = where(three, sign_low * sign_high * sign_end, where(p == 0, 1.0, sign_low * sign_end))
    product = where(~three & _is_odd(high), -product, product)
    reflected = where(undefined, math.nan, product)
    return where(two, reflected, where(low < 0, gammasgn(low), regular)).astype(a.dtype)


@_betaln.defjvp
def _betaln_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    both = lax.digamma(a + b)
    slope = lax.mul(da, lax.digamma(a) - both) + lax.mul(db, lax.digamma(b) - both)
    return _betaln(a, b), slope


def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Computes log |B(a, b)|, where B is the beta function gamma(a) gamma(b) / gamma(a + b).

    Args:
      a: real array; integers are converted to the default float.
      b: real array, broadcast against a.

    Returns: array of floating dtype, accurate also for large operands.

    Example:
      >>> jax.scipy.special.betaln(1.0, jnp.array([1.0, 1e10]))
      Array([  0.     , -23.02585], dtype=float32)
    """
    a, b = map(as_value, promote_args_inexact("betaln", a, b))
    return _betaln(a, b)


def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Computes the beta function gamma(a) gamma(b) / gamma(a + b).

    Args:
      a: real array; integers are converted to the default float.
      b: real array, broadcast against a.

    Returns: array of floating dtype.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.beta(2.0, jnp.array([1.0, 3.0])).round(4)
      Array([0.5   , 0.0833], dtype=float32)
    """
    a, b = real_operands("beta", a, b)
    return _beta_sign(a, b) * lax.exp(_betaln(a, b))


# --- Pochhammer's symbol --------------------------------------------------------------------------


def _log_ratio(x: Array, y: Array, m: Array) -> Array:
    """Computes log(gamma(y) / gamma(x)) for positive x and y = x + m."""
    large = (x >= _LARGE) & (y >= _LARGE)
    rise = _log_rise(*[guarded(large, v, c) for v, c in ((x, _LARGE), (m, 0.0), (y, _LARGE))])
    return where(large, rise, lax.lgamma(y) - lax.lgamma(x))


@custom_jvp
def _poch(z: Array, m: Array) -> Array:
    end = z + m
    if not _any_negative(lax.min(z, end)):
        ratio = where(z == 0, 0.0, where(end == 0, math.inf, lax.exp(_log_ratio(z, end, m))))
        return where(m == 0, 1.0, ratio).astype(z.dtype)
    from_below, to_below = z < 0, end < 0
    both = from_below & to_below
    # gamma(x) = pi / (sin(pi x) gamma(1 - x)). If both gamma functions are reflected, the ratio is
    # gamma(1 - z) / gamma(1 - end).
    first = where(both, 1 - end, where(from_below, 1 - z, z))
    second = where(both, 1 - z, where(to_below, 1 - end, end))
    one = from_below ^ to_below
    ratio = _log_ratio(guarded(~one, first, 1.0), guarded(~one, second, 1.0), guarded(~one, m, 0.0))
    product = lax.lgamma(first) + lax.lgamma(second) - _LOG_PI
    size = where(one, where(from_below, product, -product), ratio)
    p, q = _fraction(z), _fraction(m)
    sine, end_sine = _sine(p), _sine_of_sum(p, q)
    size = size + where(from_below, lax.log(lax.abs(sine)), 0.0)
    size = size - where(to_below, lax.log(lax.abs(end_sine)), 0.0)
    negative = (from_below & (_is_odd(z) ^ (sine < 0))) ^ (
        to_below & (_is_odd(z) ^ _is_odd(m) ^ (end_sine < 0))
    )
    value = lax.exp(size)
    return _at_poles(z, m, where(negative, -value, value))


def _at_poles(z: Array, m: Array, value: Array) -> Array:
    """Replaces `value` = gamma(z + m) / gamma(z) by its limit at poles of the gamma functions."""
    end = z + m
    from_pole = is_pole_of_gamma(z)
    to_pole = (end <= 0) & (_sine_of_sum(_fraction(z), _fraction(m)) == 0)
    both = from_pole & to_pole
    flipped = lax.exp(_log_ratio(guarded(both, 1 - end, 1.0), guarded(both, 1 - z, 1.0), m))
    flipped = where(_is_odd(m), -flipped, flipped)
    value = where(from_pole, where(to_pole, flipped, 0.0), where(to_pole, math.inf, value))
    return where(m == 0, 1.0, value).astype(z.dtype)


@_poch.defjvp
def _poch_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (z, m), (dz, dm) = primals, tangents
    value = _poch(z, m)
    rate = lax.digamma(z + m)
    slope = lax.mul(dz, rate - lax.digamma(z)) + lax.mul(dm, rate)
    return value, value * slope


def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Computes the Pochhammer symbol (rising factorial) gamma(z + m) / gamma(z).

    Args:
      z: real array; integers are converted to the default float.
      m: real array, broadcast against z.

    Returns: array of floating dtype. Where both gamma functions have poles, the result is the limit
      of their ratio.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.poch(3.0, jnp.array([0.0, 1.0, 2.0])).round(3)
      Array([ 1.,  3., 12.], dtype=float32)
    """
    return _poch(*real_operands("poch", z, m))


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Computes the binomial coefficient: the number of ways to choose k of N elements.

    Args:
      N: real array; integers are converted to the default float.
      k: real array, broadcast against N.
      repetition: whether an element can be chosen more than once.

    Returns: array of floating dtype; 0 where N or k is negative, or k > N without
      repetition.

    Example:
      >>> jax.scipy.special.comb(5, jnp.array([0, 2, 6])).round(3)
      Array([ 1., 10.,  0.], dtype=float32)
    """
    n, j = map(as_value, promote_args_inexact("comb", N, k))
    if repetition:
        # There is one way to choose no elements out of none.
        return where((n == 0) & (j == 0), 1, comb(n + j - 1, j))
    outside = (j > n) | (n < 0) | (j < 0)
    n, j = where(outside, 0.0, n), where(outside, 0.0, j)
    known = concrete_value(n)
    if known is not None and np.all(np.asarray(known) < _FEW):
        total = lax.lgamma(n + 1) - lax.lgamma(j + 1) - lax.lgamma(n + 1 - j)
    else:
        # n! / (j! (n - j)!) = 1 / ((n + 1) B(j + 1, n - j + 1))
        total = -_betaln(j + 1, n - j + 1) - lax.log(n + 1)
    return where(outside, 0.0, lax.exp(total))
