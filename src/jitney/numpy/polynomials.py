"""Polynomials as arrays of coefficients, highest degree first: `polyval`, `polymul`, `roots`."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.trace import concrete_or_error, state
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.arithmetic import add, multiply
from jitney.numpy.creation import array, ones, zeros
from jitney.numpy.insert_delete import trim_zeros
from jitney.numpy.joining import atleast_1d, concatenate
from jitney.numpy.manipulation import broadcast_to
from jitney.numpy.ranges import arange
from jitney.numpy.reductions import all as all_true, prod, sum as sum_of
from jitney.numpy.selection import where
from jitney.numpy.signal import convolve
from jitney.numpy.triangular import diag
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.resharding import replicated_along
from jitney.primitives.array.shape import shape_of
from jitney.primitives.control.scan import scan
from jitney.primitives.elementwise import binary, unary
from jitney.primitives.elementwise.convert import as_value, convert

__all__ = [
    "poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval",
    "roots", "vander",
]  # fmt: skip


@partial(jit_when_traced, static_argnames=("unroll",))
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int | None = None) -> Array:
    """Evaluates the polynomial `p` at `x` by Horner's method.

    Args:
      p: the coefficients, along the first axis, highest degree first.
      x: the points at which to evaluate.
      unroll: the number of coefficients per iteration of the compiled loop; 16 by default.

    Example:
      >>> jnp.polyval(jnp.array([1.0, 0.0, -2.0]), 3.0)
      Array(7., dtype=float32)
    """
    promotion.check_arraylike("polyval", p, x)
    unroll = 16 if unroll is None else unroll
    p, x = (as_value(v) for v in promotion.promote_dtypes(p, x))
    if not p.ndim:
        raise ValueError("jnp.polyval: `p` must have an axis of coefficients, but it is a scalar")
    shape = np.broadcast_shapes(p.shape[1:], x.shape)
    out = zeros(shape, x.dtype)

    def horner(out: ArrayLike, coefficient: ArrayLike) -> tuple[Array, None]:
        return add(multiply(out, x), coefficient), None

    if p.shape[0] and explicit.is_explicit([get_aval(p), get_aval(x)]):
        # `p` is replicated along the axis of coefficients. Adding the first coefficient determines
        # the sharding of the result.
        whole = replicated_along(p, 0)
        out, _ = horner(out, whole[0])
        p = whole[1:]
    if state.trace is state.eval_trace and p.shape[0] <= unroll:  # too small to be worth compiling
        for k in range(p.shape[0]):
            out, _ = horner(out, p[k])
        return out
    return scan(horner, out, p, unroll=unroll)[0]


# --- sums and products ----------------------------------------------------------------------------


@jit_when_traced
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Adds two polynomials.

    Args:
      a1: the coefficients of the first polynomial, highest degree first.
      a2: the coefficients of the second polynomial, likewise; the degrees can differ.

    Example:
      >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([3, 0, 1]))
      Array([3, 1, 3], dtype=int32)
    """
    promotion.check_arraylike("polyadd", a1, a2)
    return _sum("polyadd", *(as_value(a) for a in promotion.promote_dtypes(a1, a2)))


def _sum(name: str, x: Array, y: Array) -> Array:
    if x.ndim == 0 or y.ndim == 0:
        raise IndexError(_without_axis(name, x, y))
    if y.shape[0] > x.shape[0]:
        x, y = y, x
    return x.at[x.shape[0] - y.shape[0] :].add(y)


@jit_when_traced
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Subtracts two polynomials.

    Args:
      a1: the coefficients of the first polynomial, highest degree first.
      a2: the coefficients of the second polynomial, likewise; the degrees can differ.

    Example:
      >>> jnp.polysub(jnp.array([3, 0, 1]), jnp.array([1, 2]))
      Array([ 3, -1, -1], dtype=int32)
    """
    promotion.check_arraylike("polysub", a1, a2)
    x, y = (as_value(a) for a in promotion.promote_dtypes(a1, a2))
    return _sum("polysub", x, unary.neg(y))


def _trimmed(p: Array) -> Array:
    """Returns `p` without leading zeros; at least one coefficient is kept."""
    out = trim_zeros(p, "f")
    return out if out.shape[0] else zeros((1,), p.dtype)


def _check_coefficients(name: str, *polynomials: Array) -> None:
    """Raises TypeError for scalars where arrays of coefficients are required."""
    if any(p.ndim == 0 for p in polynomials):
        raise TypeError(_without_axis(name, *polynomials))


def _without_axis(name: str, *polynomials: Array) -> str:
    shapes = " and ".join(str(p.shape) for p in polynomials)
    have = f"their shapes are {shapes}" if len(polynomials) > 1 else f"their shape is {shapes}"
    return (
        f"jnp.{name}: coefficients must have at least one axis, but {have}; pass a constant "
        "polynomial as an array of one element"
    )


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Multiplies two polynomials.

    Args:
      a1: the coefficients of the first polynomial, highest degree first.
      a2: the coefficients of the second polynomial, likewise.
      trim_leading_zeros: whether to remove leading zeros first, which requires concrete arrays.

    Example:
      >>> square = jnp.array([2.0, 0.0, 1.0])  # 2 x**2 + 1
      >>> jnp.polymul(square, jnp.array([1.0, -3.0]))
      Array([ 2., -6.,  1., -3.], dtype=float32)
    """
    promotion.check_arraylike("polymul", a1, a2)
    x, y = (as_value(a) for a in promotion.promote_dtypes_inexact(a1, a2))
    _check_coefficients("polymul", x, y)
    if trim_leading_zeros and (x.shape[0] > 1 or y.shape[0] > 1):
        x, y = _trimmed(x), _trimmed(y)
    x = x if x.shape[0] else zeros((1,), y.dtype)
    y = y if y.shape[0] else zeros((1,), x.dtype)
    return convolve(x, y, mode="full")


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Divides polynomial `u` by polynomial `v`; returns the quotient and the remainder.

    Args:
      u: the coefficients of the dividend, highest degree first.
      v: the coefficients of the divisor, likewise.
      trim_leading_zeros: whether to remove leading zeros of the remainder, which requires concrete
        arrays.

    Example:
      >>> cubic = jnp.array([1.0, 0.0, 0.0, 5.0])  # x**3 + 5
      >>> quotient, rest = jnp.polydiv(cubic, jnp.array([1.0, -2.0]))
      >>> quotient
      Array([1., 2., 4.], dtype=float32)
      >>> rest
      Array([ 0.,  0.,  0., 13.], dtype=float32)
    """
    promotion.check_arraylike("polydiv", u, v)
    x, y = (as_value(a) for a in promotion.promote_dtypes_inexact(u, v))
    _check_coefficients("polydiv", x, y)
    m, n = x.shape[0] - 1, y.shape[0] - 1
    scale = 1 / y[0]
    quotient = zeros((max(m - n + 1, 1),), x.dtype)
    for k in range(m - n + 1):
        d = scale * x[k]
        quotient = quotient.at[k].set(d)
        x = x.at[k : k + n + 1].add(-d * y)
    return quotient, trim_zeros(x, "f") if trim_leading_zeros else x


# --- calculus -------------------------------------------------------------------------------------


def _order(name: str, m: int) -> int:
    m = operator.index(concrete_or_error(operator.index, m, f"`m` of jnp.{name} must be static"))
    if m < 0:
        raise ValueError(f"jnp.{name}: `m` must be 0 or more, but it is {m}")
    return m


@partial(jit_when_traced, static_argnames=("m",))
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Differentiates a polynomial.

    Args:
      p: the coefficients, highest degree first.
      m: the order of the derivative.

    Example:
      >>> jnp.polyder(jnp.array([1.0, 2.0, 3.0]))
      Array([2., 2.], dtype=float32)
    """
    m = _order("polyder", m)
    (x,) = promotion.promote_dtypes_inexact(promotion.ensure_arraylike("polyder", p))
    _check_coefficients("polyder", x)
    if m == 0:
        return x
    count = max(x.shape[0] - m, 0)
    degrees = arange(m, m + count, dtype=x.dtype)
    factors = prod(expand_dims(degrees, (0,)) - expand_dims(arange(m, dtype=x.dtype), (1,)), axis=0)
    return x[:count] * factors[::-1]


@partial(jit_when_traced, static_argnames=("m",))
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Integrates a polynomial.

    Args:
      p: the coefficients, highest degree first.
      m: the number of integrations.
      k: the constants of integration, in the order of integrations; 0 by default.

    Example:
      >>> jnp.polyint(jnp.array([2.0, 2.0]), k=1.0)
      Array([1., 2., 1.], dtype=float32)
    """
    m = _order("polyint", m)
    k = 0 if k is None else k
    promotion.check_arraylike("polyint", p, k)
    x, constants = (as_value(a) for a in promotion.promote_dtypes_inexact(p, k))
    _check_coefficients("polyint", x)
    if m == 0:
        return x
    constants = atleast_1d(constants)
    if constants.shape[0] == 1:
        constants = broadcast_to(constants[0], (m,))
    if constants.shape != (m,):
        raise ValueError(
            f"jnp.polyint: `k` must be one constant, or one for each of {m} integrations, but it "
            f"has shape {constants.shape}"
        )
    degrees = arange(x.shape[0] + m, dtype=x.dtype)
    below = expand_dims(degrees, (0,)) - expand_dims(arange(m, dtype=x.dtype), (1,))
    factors = prod(_at_least_one(below), axis=0)[::-1]
    return concatenate([x, constants]) / factors


def _at_least_one(x: Array) -> Array:
    from jitney.numpy.arithmetic import maximum

    return maximum(1, x)


# --- roots ----------------------------------------------------------------------------------------


@jit_when_traced
def poly(seq_of_zeros: ArrayLike) -> Array:
    """Returns the polynomial with the given roots, or the characteristic polynomial of a matrix.

    Args:
      seq_of_zeros: the roots, as an array of rank 1, or a square matrix.

    Returns: coefficients of inexact dtype, highest degree first.

    Example:
      >>> jnp.poly(jnp.array([1.0, -1.0]))
      Array([ 1.,  0., -1.], dtype=float32)
    """
    (x,) = promotion.promote_dtypes_inexact(promotion.ensure_arraylike("poly", seq_of_zeros))
    if x.ndim == 0:  # a scalar is a single root
        x = expand_dims(x, (0,))
    shape = x.shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0] != 0:
        from jitney.numpy.decompositions import eigvals

        x = eigvals(x)
    if x.ndim != 1:
        raise ValueError(
            "jnp.poly: `seq_of_zeros` must be a vector of roots, or a square matrix with elements, "
            f"but it has shape {shape}"
        )
    if x.shape[0] == 0:
        return ones((), x.dtype)
    out = ones((1,), x.dtype)
    for k in range(x.shape[0]):
        out = convolve(out, array([1, -x[k]], dtype=x.dtype), mode="full")
    return out


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """Computes the roots of a polynomial as the eigenvalues of its companion matrix.

    Args:
      p: the coefficients, highest degree first.
      strip_zeros: whether to remove zeros at both ends first, which requires a concrete array.

    Returns: an array of rank 1 and complex dtype. If `strip_zeros` is False, its last elements are
      NaN, one for each leading zero of `p`.

    Example:
      >>> jnp.sort(jnp.roots(jnp.array([1.0, 0.0, -1.0])).real).round(2)
      Array([-1.,  1.], dtype=float32)
    """
    promotion.check_arraylike("roots", p)
    x = atleast_1d(promotion.promote_dtypes_inexact(p)[0])
    if x.ndim != 1:
        raise ValueError(f"jnp.roots: `p` must be a vector, but it has shape {x.shape}")
    complex_dtype = dtypes.result_type(x.dtype, np.dtype(np.complex64))
    if not strip_zeros:
        return _roots_with_zeros(x, complex_dtype)
    known = concrete_or_error(
        np.asarray,
        x,
        "The leading zeros of `p` determine the size of the result of jnp.roots, so it must be "
        "static; with strip_zeros=False it can be traced",
    )
    nonzero = np.flatnonzero(known)
    if not nonzero.size:
        return zeros((0,), complex_dtype)
    first, last = int(nonzero[0]), int(nonzero[-1])
    out = _roots(x[first : last + 1], complex_dtype)
    return concatenate([out, zeros((x.shape[0] - last - 1,), complex_dtype)])


def _roots(p: Array, dtype: np.dtype[Any]) -> Array:
    """Returns the roots of a polynomial whose first and last coefficients are not 0."""
    n = p.shape[0]
    if n < 2:
        return zeros((0,), dtype)
    from jitney.numpy.decompositions import eigvals

    companion = diag(ones((n - 2,), p.dtype), k=-1)
    companion = companion.at[0, :].set(-p[1:] / p[0])
    return eigvals(companion)


def _roots_with_zeros(p: Array, dtype: np.dtype[Any]) -> Array:
    """Returns the roots, with NaN for each leading zero of `p`."""
    n = p.shape[0]
    if n < 2:
        return zeros((0,), dtype)
    from jitney.numpy.flips import roll

    all_zero = all_true(p == 0)
    # Leading zeros are moved to the end, where each adds a root 0; as many zero roots are removed.
    leading = sum_of(_leading_zeros(p))
    rolled = roll(where(all_zero, 1, p), -leading)
    all_roots = _roots(rolled, dtype)
    from jitney.numpy.sorting import argsort

    order = argsort(abs(all_roots) == 0, stable=True)
    all_roots = all_roots[order]
    missing = arange(n - 1) >= n - 1 - leading
    return where(missing, complex(np.nan, np.nan), all_roots)


def _leading_zeros(p: Array) -> Array:
    from jitney.numpy.cumulative import cumsum

    return cumsum(p != 0) == 0


# --- fits -----------------------------------------------------------------------------------------


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]: ...


@partial(jit_when_traced, static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]:
    """Fits a polynomial of degree `deg` to points by least squares.

    Args:
      x: the coordinates of the points, an array of rank 1.
      y: the values at the points, of rank 1, or of rank 2 with one column per fit.
      deg: the degree of the polynomial.
      rcond: the relative tolerance: singular values below `rcond` times the largest one count as 0;
        by default, the number of points times eps.
      full: whether to return a tuple (p, residuals, rank, singular values, rcond).
      w: the weights of the points; they multiply the residuals before squaring.
      cov: whether to return a tuple (p, covariance matrix of p); with "unscaled", the matrix is not
        scaled by the variance of the residuals.

    Returns: the coefficients p, highest degree first, with a column for each fit if `y` is a
      matrix; or one of the tuples above.

    Example:
      >>> jnp.polyfit(jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0]), 1).round(2)
      Array([2., 1.], dtype=float32)
    """
    from jitney.numpy.linear_systems import lstsq

    promotion.check_arraylike("polyfit", x, y, *([] if w is None else [w]))
    deg = operator.index(
        concrete_or_error(operator.index, deg, "`deg` of jnp.polyfit must be static")
    )
    x, y = (as_value(a) for a in promotion.promote_dtypes_inexact(x, y))
    _check_points(deg, x, y)
    if rcond is None:
        rcond = x.shape[0] * float(dtypes.finfo(x.dtype).eps)
    left, right = vander(x, deg + 1), y
    if w is not None:
        w = convert(as_value(w), x.dtype)
        if w.shape != y.shape[:1]:
            raise TypeError(
                f"jnp.polyfit: `w` must have a weight for each element of `x`, but the shapes are "
                f"{w.shape} and {x.shape}"
            )
        left = left * expand_dims(w, (1,))
        right = right * (w if right.ndim == 1 else expand_dims(w, (1,)))
    scale = unary.sqrt(sum_of(left * left, axis=0))
    left = left / expand_dims(scale, (0,))
    c, residuals, rank, s = lstsq(left, right, rcond)
    c = c.T / expand_dims(scale, (0,)) if c.ndim == 2 else c / scale
    c = c.T if c.ndim == 2 else c
    if full:
        return c, residuals, rank, s, as_value(np.asarray(rcond, x.dtype))
    if not cov:
        return c
    base = _unscaled_covariance(left, scale)
    factor: Any = 1 if cov == "unscaled" else _variance(residuals, x.shape[0], deg)
    if y.ndim == 1:
        return c, base * (factor[0] if shape_of(factor) else factor)
    # One factor for each fit if there are several.
    factor = expand_dims(factor, (0, 1)) if shape_of(factor) else factor
    return c, expand_dims(base, (2,)) * factor


def _check_points(deg: int, x: Array, y: Array) -> None:
    """Raises an error unless the points (x, y) can be fitted by a polynomial of degree `deg`."""
    if deg < 0:
        raise ValueError(f"jnp.polyfit: `deg` must be 0 or more, but it is {deg}")
    if x.ndim != 1 or x.size == 0:
        raise TypeError(f"jnp.polyfit: `x` must be a nonempty vector, but it has shape {x.shape}")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError(
            f"jnp.polyfit: `y` must be a vector or a matrix, but it has shape {y.shape}"
        )
    if x.shape[0] != y.shape[0]:
        raise TypeError(
            f"jnp.polyfit: `y` must have a row for each element of `x`, but `x` has shape "
            f"{x.shape} and `y` has shape {y.shape}"
        )


def _unscaled_covariance(left: Array, scale: Array) -> Array:
    """Computes the covariance of the coefficients for residuals of variance 1.

    Args:
      left: the matrix of the fit, of shape (points, coefficients), with columns divided by `scale`.
      scale: the scale of each column.

    Returns: a matrix of shape (coefficients, coefficients).
    """
    from jitney.numpy.linear_systems import inv

    return inv(left.T @ left) / (expand_dims(scale, (1,)) * expand_dims(scale, (0,)))


def _variance(residuals: Array, n: int, deg: int) -> Array:
    """Estimates the variance of `n` points about each fitted polynomial of degree `deg`.

    Raises:
      ValueError: if there are not more points than coefficients.
    """
    if n <= deg + 1:
        raise ValueError(
            f"jnp.polyfit: {deg + 2} points or more are needed to scale the covariance for degree "
            f"{deg}, but {messages.there_are(n)}; use cov='unscaled' for fewer"
        )
    return residuals / (n - deg - 1)


@partial(jit_when_traced, static_argnames=("N", "increasing"))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Returns the Vandermonde matrix of powers of `x`, the highest first unless `increasing`.

    Args:
      x: an array of rank 1.
      N: the number of columns; by default, the number of rows.
      increasing: whether powers increase from left to right.

    Example:
      >>> jnp.vander(jnp.array([1, 2, 3]))
      Array([[1, 1, 1],
             [4, 2, 1],
             [9, 3, 1]], dtype=int32)
    """
    x = promotion.ensure_arraylike("vander", x)
    if x.ndim != 1:
        raise ValueError(f"jnp.vander: `x` must be a vector, but it has shape {x.shape}")
    count = x.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError(f"jnp.vander: `N`, the number of columns, must be 0 or more, not {count}")
    from jitney.primitives.array.creation import iota

    powers = iota(x.dtype, count)
    if not increasing:
        powers = binary.sub(convert(count - 1, x.dtype), powers)
    from jitney.numpy.arithmetic import power

    return power(expand_dims(x, (1,)), expand_dims(powers, (0,)))


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
