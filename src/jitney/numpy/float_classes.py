"""Classification of floats (finite, infinite, NaN, signed) and `nan_to_num`."""

from __future__ import annotations

from functools import partial

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.promotion import check_arraylike
from jitney.numpy.selection import where
from jitney.primitives.array import creation
from jitney.primitives.elementwise import binary, compare, convert, unary


def isnan(x: ArrayLike, /) -> Array:
    """Returns True where x is NaN.

    Example:
      >>> jnp.isnan(jnp.array([1.0, jnp.nan]))
      Array([False,  True], dtype=bool)
    """
    check_arraylike("isnan", x)
    return compare.ne(x, x)


def isfinite(x: ArrayLike, /) -> Array:
    """Returns True where x is neither infinite nor NaN.

    Example:
      >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """
    check_arraylike("isfinite", x)
    dtype = promotion.dtype_of(x)
    if promotion.is_floating(dtype):
        return unary.is_finite(x)
    if promotion.is_complex(dtype):
        return binary.bitwise_and(unary.is_finite(unary.real(x)), unary.is_finite(unary.imag(x)))
    return creation.full_like(x, True, dtype=np.bool_)


@jit_when_traced
def isinf(x: ArrayLike, /) -> Array:
    """Returns True where x is infinite, or, for complex x, where either of its parts is.

    Example:
      >>> jnp.isinf(jnp.array([1.0, -jnp.inf, jnp.nan]))
      Array([False,  True, False], dtype=bool)
    """
    check_arraylike("isinf", x)
    dtype = promotion.dtype_of(x)
    if promotion.is_floating(dtype):
        return compare.eq(unary.abs(x), promotion.strong_scalar_like(x, np.inf))
    if promotion.is_complex(dtype):
        re, im = unary.real(x), unary.imag(x)
        return binary.bitwise_or(
            compare.eq(unary.abs(re), promotion.strong_scalar_like(re, np.inf)),
            compare.eq(unary.abs(im), promotion.strong_scalar_like(im, np.inf)),
        )
    return creation.full_like(x, False, dtype=np.bool_)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Returns True where x is +inf.

    Args:
      x: a real array.
      out: must be None.

    Raises:
      ValueError: if `x` is complex.

    Example:
      >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf]))
      Array([ True, False], dtype=bool)
    """
    return _is_infinity("isposinf", x, np.inf, out)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Returns True where x is -inf.

    Args:
      x: a real array.
      out: must be None.

    Raises:
      ValueError: if `x` is complex.

    Example:
      >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf]))
      Array([False,  True], dtype=bool)
    """
    return _is_infinity("isneginf", x, -np.inf, out)


def _is_infinity(name: str, x: ArrayLike, infinity: float, out: None) -> Array:
    promotion.check_no_out(name, out)
    check_arraylike(name, x)
    dtype = promotion.dtype_of(x)
    if promotion.is_complex(dtype):
        raise ValueError(
            f"jnp.{name}: `x` must be real, but it is {dtype}, and complex infinities have no sign"
        )
    if promotion.is_floating(dtype):
        return compare.eq(x, promotion.strong_scalar_like(x, infinity))
    return creation.full_like(x, False, dtype=np.bool_)


@jit_when_traced
def signbit(x: ArrayLike, /) -> Array:
    """Returns True where the sign bit is set: for negative x, -0.0 and NaN with that bit.

    Raises:
      ValueError: if `x` is complex.

    Example:
      >>> jnp.signbit(jnp.array([-0.0, 0.0, -1.0]))
      Array([ True, False,  True], dtype=bool)
    """
    check_arraylike("signbit", x)
    dtype = promotion.dtype_of(x)
    if promotion.is_integer(dtype):
        return convert.convert(compare.lt(x, promotion.scalar_like(x, 0)), np.dtype(bool))
    if dtype == np.bool_:
        return creation.full_like(x, False, dtype=np.bool_)
    if not promotion.is_floating(dtype):
        raise ValueError(
            f"jnp.signbit: `x` must be of a float dtype, but it is {dtypes.long_name(dtype)}"
        )
    bits = dtypes.itemsize_bits(dtype)
    as_int = convert.bitcast_convert_type(x, np.dtype(f"int{bits}"))
    shifted = binary.shift_right_arithmetic(as_int, promotion.scalar_like(as_int, bits - 1))
    return convert.convert(shifted, np.dtype(bool))


@partial(jit_when_traced, static_argnames=("copy",))
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Replaces NaN and infinities by finite values.

    Args:
      x: an array; integers and booleans are returned unchanged.
      copy: has no effect.
      nan: the value that replaces NaN.
      posinf: the value that replaces inf; the largest finite value by default.
      neginf: the value that replaces -inf; the lowest finite value by default.

    Example:
      >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan]), nan=-1.0)
      Array([ 1., -1.], dtype=float32)
    """
    del copy
    x = promotion.ensure_arraylike("nan_to_num", x)
    dtype = promotion.dtype_of(x)
    if not promotion.is_inexact(dtype):
        return x
    if promotion.is_complex(dtype):
        return binary.complex(
            nan_to_num(unary.real(x), nan=nan, posinf=posinf, neginf=neginf),
            nan_to_num(unary.imag(x), nan=nan, posinf=posinf, neginf=neginf),
        )
    info = dtypes.finfo(dtype)
    greatest: ArrayLike = info.max if posinf is None else posinf
    least: ArrayLike = info.min if neginf is None else neginf
    out = where(isnan(x), promotion.as_type(nan, dtype, False), x)
    for infinity, finite in ((np.inf, greatest), (-np.inf, least)):
        is_it = compare.eq(out, promotion.scalar_like(out, infinity))
        out = where(is_it, promotion.as_type(finite, dtype, False), out)
    return out


for _function in (isfinite, isinf, isnan, isneginf, isposinf, nan_to_num, signbit):
    _function.__module__ = "jax.numpy"
