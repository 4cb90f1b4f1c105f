"""The gamma function and related functions: factorials, digamma, zeta, Bernoulli numbers.

Ratios and products of gamma functions are in `gamma_ratios`.
"""

from __future__ import annotations

import math
import operator
from functools import partial

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.autodiff import jvp as differentiate
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.core.util import float_errors
from jitney.numpy.promotion import (
    dtype_of,
    is_complex,
    is_integer,
    promote_args_inexact,
)
from jitney.numpy.selection import where
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.special import complex_gamma
from jitney.scipy.special.support import (
    real_operands,
    strong,
)


def gammaln(x: ArrayLike) -> Array:
    """Computes log |gamma(x)|.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x; inf at 0 and at negative integers.

    Accuracy: within 0.6 ulp in float32, 4 in float64.

    Raises:
      TypeError: if x is complex; use `loggamma` instead.

    Example:
      >>> jax.scipy.special.gammaln(jnp.array([0.0, 1.0, 5.0]))
      Array([      inf, 0.       , 3.1780539], dtype=float32)
    """
    (x,) = promote_args_inexact("gammaln", x)
    return lax.lgamma(x)


def loggamma(x: ArrayLike) -> Array:
    """Computes the principal branch of the logarithm of gamma(x).

    Args:
      x: real or complex array; integers are converted to the default float.

    Returns: array of the shape and dtype of x; for real x, NaN where x <= 0. The complex function
      is analytic except on the negative real axis, whereas the imaginary part of log(gamma(x))
      jumps elsewhere, too.

    Example:
      >>> jax.scipy.special.loggamma(jnp.array([-0.5, 5.0]))
      Array([      nan, 3.1780539], dtype=float32)
    """
    (value,) = promote_args_inexact("loggamma", x)
    if is_complex(dtype_of(value)):
        return complex_gamma.log_gamma(as_value(value))
    result = lax.lgamma(value)
    return where(lax.gt(value, lax.full_like(value, 0)), result, jnp.nan)


@jit_when_traced
def gammasgn(x: ArrayLike) -> Array:
    """Computes the sign of gamma(x): 1 or -1, and NaN at negative integers and at -inf.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x; -1 for -0.0.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.gammasgn(jnp.array([-1.5, -1.0, -0.5, 2.0]))
      Array([ 1., nan, -1.,  1.], dtype=float32)
    """
    (x,) = real_operands("gammasgn", x)
    below = jnp.floor(x)
    negative = x < 0
    undefined = (negative & (x == below)) | (x != x)
    is_odd = below % 2 != 0
    minus = (negative & is_odd) | ((x == 0) & jnp.signbit(x))
    one = lax.full_like(x, 1)
    return lax.select(undefined, lax.full_like(x, jnp.nan), lax.select(minus, lax.neg(one), one))


def gamma(x: ArrayLike) -> Array:
    """Computes the gamma function.

    Args:
      x: real or complex array; integers are converted to the default float.

    Returns: array of the shape and dtype of x; NaN at negative integers, inf at 0, -inf at -0.

    Example:
      >>> jax.scipy.special.gamma(jnp.array([0.5, 1.0, 4.0])).round(4)
      Array([1.7725, 1.    , 6.    ], dtype=float32)
    """
    (value,) = promote_args_inexact("gamma", x)
    if is_complex(dtype_of(value)):
        return complex_gamma.gamma(as_value(value))
    return gammasgn(value) * lax.exp(lax.lgamma(value))


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """Computes the factorial n!, extended to non-integers as gamma(n + 1).

    Args:
      n: real array; integers are converted to the default float.
      exact: must be False.

    Returns: array of the shape of n; 0 for negative n.

    Raises:
      NotImplementedError: if `exact` is set.

    Example:
      >>> jax.scipy.special.factorial(jnp.array([-1, 0, 4])).round(3)
      Array([ 0.,  1., 24.], dtype=float32)
    """
    if exact:
        raise NotImplementedError(
            "factorial: exact=True is not supported, because arrays cannot hold integers of "
            "arbitrary size; use math.factorial"
        )
    value = as_value(promote_args_inexact("factorial", n)[0])
    return where(value < 0, 0, lax.exp(lax.lgamma(value + 1)))


def multigammaln(a: ArrayLike, d: ArrayLike) -> Array:
    """Computes the logarithm of the multivariate gamma function of dimension d.

    Args:
      a: real array, greater than (d - 1) / 2; integers are converted to the default float.
      d: dimension, static.

    Returns: array of the shape of a.

    Example:
      >>> jax.scipy.special.multigammaln(3.0, 1)
      Array(0.6931472, dtype=float32)
    """
    dimension = concrete_or_error(int, d, "`d` of multigammaln must be static")
    (value,) = promote_args_inexact("multigammaln", a)
    x = strong(as_value(value))
    halves = lax.full((dimension,), 0, x.dtype) + np.arange(dimension).astype(x.dtype) / 2
    terms = lax.lgamma(jnp.expand_dims(x, -1) - jnp.expand_dims(halves, tuple(range(x.ndim))))
    constant = 0.25 * dimension * (dimension - 1) * math.log(math.pi)
    return jnp.sum(terms, axis=-1) + constant


# --- incomplete functions -------------------------------------------------------------------------


def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Computes the regularized lower incomplete gamma function P(a, x).

    Args:
      a: non-negative real array.
      x: non-negative real array, broadcast against a.

    Returns: array of floating dtype, from 0 to 1; NaN for negative operands.

    Example:
      >>> jax.scipy.special.gammainc(1.0, jnp.array([0.0, jnp.inf]))
      Array([0., 1.], dtype=float32)
    """
    return lax.igamma(*promote_args_inexact("gammainc", a, x))


def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Computes the regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x).

    Args:
      a: non-negative real array.
      x: non-negative real array, broadcast against a.

    Returns: array of floating dtype, from 0 to 1; NaN for negative operands.

    Example:
      >>> jax.scipy.special.gammaincc(1.0, jnp.array([0.0, jnp.inf]))
      Array([1., 0.], dtype=float32)
    """
    return lax.igammac(*promote_args_inexact("gammaincc", a, x))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Computes the regularized incomplete beta function I_x(a, b).

    Args:
      a: non-negative real array.
      b: real array, broadcast against a.
      x: real array in [0, 1], broadcast against a. Derivatives exist with respect to x only.

    Returns: array of floating dtype, from 0 to 1.

    Example:
      >>> jax.scipy.special.betainc(1.0, 2.0, jnp.array([0.0, 0.5, 1.0]))
      Array([0.  , 0.75, 1.  ], dtype=float32)
    """
    return lax.betainc(*promote_args_inexact("betainc", a, b, x))


# --- derivatives of the logarithm, zeta -----------------------------------------------------------


def digamma(x: ArrayLike) -> Array:
    """Computes the digamma function, the derivative of log gamma(x).

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x; NaN at 0 and at negative integers.

    Accuracy: within 0.6 ulp in float32, 48 in float64.

    Example:
      >>> jax.scipy.special.digamma(jnp.array([1.0]))
      Array([-0.5772157], dtype=float32)
    """
    (x,) = promote_args_inexact("digamma", x)
    return lax.digamma(x)


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Computes the polygamma function, the n-th derivative of `digamma` at x.

    Args:
      n: non-negative integer array.
      x: real array, broadcast against n.

    Returns: array of floating dtype.

    Raises:
      ValueError: if n does not have an integer dtype.

    Example:
      >>> jax.scipy.special.polygamma(1, jnp.array([1.0, 2.0])).round(4)
      Array([1.6449, 0.6449], dtype=float32)
    """
    if not is_integer(dtype_of(n)):
        raise ValueError(
            f"polygamma: `n`, the order, must have an integer dtype, but it has {dtype_of(n)}"
        )
    return lax.polygamma(*promote_args_inexact("polygamma", n, x))


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Computes the Hurwitz zeta function, the sum of (k + q)**-x over k = 0, 1, ....

    Args:
      x: real array, greater than 1.
      q: real array, broadcast against x; required. For q = 1 the result is the Riemann zeta
        function.

    Returns: array of floating dtype; inf at x = 1, NaN for smaller x.

    Raises:
      NotImplementedError: if q is not given.

    Example:
      >>> jax.scipy.special.zeta(2.0, jnp.array([1.0, 2.0])).round(4)
      Array([1.6449, 0.6449], dtype=float32)
    """
    if q is None:
        raise NotImplementedError(
            "zeta: `q`, the second argument of the Hurwitz zeta function, is required; use "
            "zeta(x, 1.0) for the Riemann zeta function"
        )
    s, a = promote_args_inexact("zeta", x, q)
    return _zeta(as_value(s), as_value(a))


def _hurwitz(s: Array, a: Array) -> Array:
    return lax.zeta(s, a)


_hurwitz.__name__ = "zeta"  # the name in jaxprs
_zeta = custom_jvp(_hurwitz)


@_zeta.defjvp
def jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    """Computes the JVP of zeta."""
    s, a, ds, da = map(strong, (*primals, *tangents))
    by_order = differentiate(partial(_euler_maclaurin, a=a), (s,), (lax.full_like(s, 1),))[1]
    by_start = lax.neg(lax.mul(s, _zeta(lax.add(s, lax.full_like(s, 1)), a)))
    return _zeta(*primals), lax.mul(ds, by_order) + lax.mul(da, by_start)


def _euler_maclaurin(s: Array, a: Array) -> Array:
    """Computes zeta(s, a) by Euler-Maclaurin summation, for s > -20 or so.

    Source: Johansson, Rigorous high-precision computation of the Hurwitz zeta function and its
    derivatives, Numerical Algorithms 69 (2015), 253-270, equation 2.
    """
    count, order = 10, 9
    total = lax.full_like(s + a, 0)
    for k in range(count):
        total = total + lax.pow(a + k, -s)
    end = a + count
    power = lax.pow(end, -s)
    total = total + power * (end / (s - 1) + 0.5)
    factor = s / end
    bernoulli_numbers = _even_bernoulli(order)
    for j in range(1, order + 1):
        total = total + power * factor * (bernoulli_numbers[j - 1] / math.factorial(2 * j))
        factor = factor * ((s + (2 * j - 1)) * (s + 2 * j) / (end * end))
    return total


def _even_bernoulli(count: int) -> list[float]:
    """Returns B_2, B_4, ..., correctly rounded (inf past the largest float).

    They are computed from the tangent numbers, which are integers (Brent and Harvey, Fast
    computation of Bernoulli, tangent and secant numbers, 2013, section 6).
    """
    tangents = [0] + [math.factorial(k) for k in range(count)]
    for k in range(2, count + 1):
        for j in range(k, count + 1):
            tangents[j] = (j - k) * tangents[j - 1] + (j - k + 2) * tangents[j]
    numbers: list[float] = []
    for k in range(1, count + 1):
        sign = 1 if k % 2 else -1
        try:
            numbers.append(sign * (2 * k * tangents[k]) / (4**k * (4**k - 1)))
        except OverflowError:
            numbers.append(sign * math.inf)
    return numbers


def bernoulli(n: int) -> Array:
    """Computes the Bernoulli numbers B_0 to B_n, with B_1 = -1/2.

    Args:
      n: non-negative static integer.

    Returns: floating array [n + 1].

    Raises:
      ValueError: if n is negative.

    Example:
      >>> jax.scipy.special.bernoulli(4)
      Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333334],      dtype=float32)
    """
    last = operator.index(concrete_or_error(operator.index, n, "`n` of bernoulli must be static"))
    if last < 0:
        raise ValueError(f"bernoulli: `n`, the last index, must be 0 or more, but it is {last}")
    numbers = np.zeros(last + 1)
    numbers[0] = 1
    numbers[1:2] = -0.5
    numbers[2::2] = _even_bernoulli(last // 2)
    with float_errors.ignored():
        return jnp.asarray(numbers.astype(dtypes.canonicalize_dtype(np.dtype(float))))
