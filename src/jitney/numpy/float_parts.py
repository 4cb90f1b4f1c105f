"""Functions on the parts of floats: `frexp`, `ldexp`, `modf`, `copysign`, `spacing`."""

from __future__ import annotations

import numpy as np

from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike
from jitney.numpy import promotion
from jitney.numpy.creation import zeros_like
from jitney.numpy.float_classes import isinf, isnan, signbit
from jitney.numpy.selection import where
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary, compare, unary
from jitney.primitives.elementwise.convert import bitcast_convert_type, convert

__all__ = ["copysign", "frexp", "ldexp", "modf", "spacing"]

_INT32 = np.dtype(np.int32)


@jit_when_traced
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Returns |x1| with the sign of x2, elementwise.

    Args:
      x1: a real array; integers are promoted to the default float.
      x2: a real array, broadcast against `x1`; zeros and NaN have signs as well.

    Returns: an array of a float dtype.

    Raises:
      TypeError: if an operand is complex.

    Example:
      >>> jnp.copysign(jnp.array([1.0, -2.0]), -1.0)
      Array([-1., -2.], dtype=float32)
    """
    x1, x2 = promotion.promote_args_inexact("copysign", x1, x2)
    if promotion.is_complex(promotion.dtype_of(x1)):
        raise TypeError(
            f"jnp.copysign: operands must be real, but they promote to {promotion.dtype_of(x1)}"
        )
    return where(signbit(x2), unary.neg(unary.abs(x1)), unary.abs(x1))


@jit_when_traced
def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Splits x into its fractional and integral parts, both with the sign of x.

    Args:
      x: a real array; integers are promoted to the default float.
      out: must be None.

    Returns: two arrays of a float dtype: the fractional and the integral parts.

    Example:
      >>> jnp.modf(jnp.array([1.5, -2.25]))
      (Array([ 0.5 , -0.25], dtype=float32), Array([ 1., -2.], dtype=float32))
    """
    promotion.check_no_out("modf", out)
    (x,) = promotion.promote_args_inexact("modf", x)
    integral = where(
        compare.ge(x, promotion.strong_scalar_like(x, 0)), unary.floor(x), unary.ceil(x)
    )
    return binary.sub(x, integral), integral


@jit_when_traced
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Splits x into mantissa m and exponent e with x = m * 2**e and 0.5 <= |m| < 1.

    Args:
      x: a real array; integers are promoted to the default float.

    Returns: the mantissas, of a float dtype, and the exponents, of dtype int32. For zeros,
      infinities and NaN, these are `x` and 0.

    Raises:
      TypeError: if `x` is complex.

    Example:
      >>> jnp.frexp(jnp.array([8.0, 0.75]))
      (Array([0.5 , 0.75], dtype=float32), Array([4, 0], dtype=int32))
    """
    promotion.check_arraylike("frexp", x)
    (value,) = promotion.promote_dtypes_inexact(promotion.ensure_arraylike("frexp", x))
    if promotion.is_complex(value.dtype):
        raise TypeError(
            f"jnp.frexp: `x` must be real, but it is {value.dtype}; use its real and imaginary "
            "parts separately"
        )
    return _frexp(value)


@custom_jvp
def _frexp(x: Array) -> tuple[Array, Array]:
    info = dtypes.finfo(x.dtype)
    bits, mantissa_bits = dtypes.itemsize_bits(x.dtype), int(info.nmant)
    exponent_bits = bits - mantissa_bits - 1
    bias = 2 ** (exponent_bits - 1) - 1
    # Subnormal operands are scaled to normal ones first.
    small = compare.lt(unary.abs(x), promotion.strong_scalar_like(x, info.smallest_normal))
    scaled = where(small, binary.mul(x, promotion.strong_scalar_like(x, 2.0**mantissa_bits)), x)
    shift = where(small, np.int32(-mantissa_bits), np.int32(0))
    pattern = bitcast_convert_type(scaled, np.dtype(f"int{bits}"))
    exponent = binary.shift_right_arithmetic(
        pattern, promotion.strong_scalar_like(pattern, mantissa_bits)
    )
    exponent = binary.bitwise_and(
        exponent, promotion.strong_scalar_like(pattern, 2**exponent_bits - 1)
    )
    exponent = binary.sub(exponent, promotion.strong_scalar_like(pattern, bias))
    exponent = convert(binary.add(exponent, promotion.strong_scalar_like(pattern, 1)), _INT32)
    exponent = binary.add(shift, exponent)
    field = (2**exponent_bits - 1) << mantissa_bits
    pattern = binary.bitwise_and(pattern, promotion.strong_scalar_like(pattern, ~field))
    pattern = binary.bitwise_or(
        pattern, promotion.strong_scalar_like(pattern, (bias - 1) << mantissa_bits)
    )
    mantissa = bitcast_convert_type(pattern, x.dtype)
    special = binary.bitwise_or(isinf(x), isnan(x))
    special = binary.bitwise_or(special, compare.eq(x, promotion.strong_scalar_like(x, 0)))
    exponent = where(special, zeros_like(exponent), exponent)
    return where(special, x, mantissa), exponent


@_frexp.defjvp
def _frexp_jvp(
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[tuple[Array, Array], tuple[Array, np.ndarray]]:
    (x,), (dx,) = primals, tangents
    mantissa, exponent = _frexp(x)
    scale = binary.pow(promotion.strong_scalar_like(x, 2), convert(unary.neg(exponent), x.dtype))
    nothing = np.zeros(np.shape(exponent), dtypes.float0)
    return (mantissa, exponent), (binary.mul(dx, scale), nothing)


@jit_when_traced
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes x1 * 2**x2, elementwise; the inverse of `frexp`.

    Args:
      x1: a real array; integers are promoted to the default float.
      x2: an integer array, broadcast against `x1`.

    Returns: an array of a float dtype.

    Raises:
      ValueError: if `x1` is complex, or the dtype of `x2` is neither integer nor boolean.

    Example:
      >>> jnp.ldexp(1.5, jnp.arange(-1, 3))
      Array([0.75, 1.5 , 3.  , 6.  ], dtype=float32)
    """
    promotion.check_arraylike("ldexp", x1, x2)
    kind = promotion.dtype_of(x2)
    is_whole = promotion.is_integer(kind) or kind == np.bool_
    if not is_whole or promotion.is_complex(promotion.dtype_of(x1)):
        raise ValueError(
            "jnp.ldexp: `x1` must be real and `x2` must have an integer or boolean dtype, but they "
            f"have dtypes {promotion.dtype_of(x1)} and {kind}"
        )
    dtype = promotion.to_inexact(promotion.dtype_of(x1))
    x1, x2 = convert(x1, dtype), convert(x2, dtype)
    x1, x2 = promotion.stretched("ldexp", x1, x2)
    mantissa, exponent = frexp(x1)
    total = binary.add(convert(exponent, dtype), x2)
    # For the largest results, 2**exponent itself overflows, so one factor of 2 moves to the
    # mantissa.
    positive = compare.gt(total, promotion.strong_scalar_like(total, 0))
    mantissa = where(
        positive, binary.mul(mantissa, promotion.strong_scalar_like(mantissa, 2)), mantissa
    )
    positive = compare.gt(total, promotion.strong_scalar_like(total, 0))
    power = where(positive, binary.sub(total, promotion.strong_scalar_like(total, 1)), total)
    scaled = binary.mul(mantissa, binary.pow(promotion.strong_scalar_like(power, 2), power))
    special = binary.bitwise_or(isinf(x1), compare.eq(x1, promotion.strong_scalar_like(x1, 0)))
    return where(special, _with_slope(x1, x2), scaled)


@custom_jvp
def _with_slope(x1: Array, x2: Array) -> Array:
    """Returns `x1`, which is zero or infinite, with the derivative of x1 * 2**x2."""
    return x1


@_with_slope.defjvp
def _with_slope_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    x1, x2 = primals
    return x1, binary.mul(tangents[0], binary.pow(promotion.strong_scalar_like(x2, 2), x2))


def spacing(x: ArrayLike, /) -> Array:
    """Computes the distance from x to the adjacent float away from zero (for float16, above x).

    Args:
      x: a real array; integers are promoted to the default float.

    Returns: an array of a float dtype, with the sign of `x` except for float16.

    Raises:
      ValueError: if `x` is complex.

    Example:
      >>> jnp.spacing(jnp.array([1.0, 1024.0]))
      Array([1.1920929e-07, 1.2207031e-04], dtype=float32)
    """
    (operand,) = promotion.promote_args_inexact("spacing", x)
    x = promotion.ensure_arraylike("spacing", operand)
    if promotion.is_complex(x.dtype):
        raise ValueError(f"jnp.spacing: `x` must be real, but it is {x.dtype}")
    upward = promotion.strong_scalar_like(x, np.inf)
    away: ArrayLike = upward if x.dtype == np.float16 else copysign(upward, x)
    if shape_of(away) != x.shape:
        away = promotion.broadcast_arrays(away, x)[0]
    distance = binary.sub(binary.nextafter(x, away), x)
    least = promotion.strong_scalar_like(x, dtypes.finfo(x.dtype).smallest_subnormal)
    none = compare.eq(distance, promotion.strong_scalar_like(x, 0))
    return where(none, least if x.dtype == np.float16 else copysign(least, x), distance)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
