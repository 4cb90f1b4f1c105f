"""Real and imaginary parts, arguments and conjugates of complex arrays."""

from __future__ import annotations

from functools import partial

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.functions import UnaryFunction, public
from jitney.numpy.promotion import check_arraylike
from jitney.numpy.unary_math import degrees
from jitney.primitives.array import creation
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary, compare, convert, unary


def conjugate(x: ArrayLike, /) -> Array:
    """Computes the complex conjugate, elementwise; returns real arrays unchanged.

    Example:
      >>> z = jnp.array([3 + 4j, -1j])
      >>> (z * jnp.conjugate(z)).real  # the squared moduli
      Array([25.,  1.], dtype=float32)
    """
    check_arraylike("conjugate", x)
    return unary.conj(x) if promotion.is_complex(promotion.dtype_of(x)) else convert.as_value(x)


conj: UnaryFunction = public(lambda x, /: conjugate(x), "conj", conjugate.__doc__ or "")


def real(val: ArrayLike, /) -> Array:
    """Returns the real part, elementwise; returns real arrays unchanged.

    Example:
      >>> jnp.real(jnp.array([1 + 2j]))
      Array([1.], dtype=float32)
    """
    check_arraylike("real", val)
    return (
        unary.real(val) if promotion.is_complex(promotion.dtype_of(val)) else convert.as_value(val)
    )


def imag(val: ArrayLike, /) -> Array:
    """Returns the imaginary part, elementwise; zeros for real arrays.

    Example:
      >>> jnp.imag(jnp.array([1 + 2j]))
      Array([2.], dtype=float32)
    """
    check_arraylike("imag", val)
    return (
        unary.imag(val)
        if promotion.is_complex(promotion.dtype_of(val))
        else creation.full_like(val, 0)
    )


@partial(jit_when_traced, static_argnames=("deg",))
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Computes the argument of complex numbers, elementwise, in (-pi, pi].

    Args:
      z: an array. For real scalars and integers the result has the default float dtype.
      deg: whether to return degrees instead of radians.

    Example:
      >>> jnp.angle(jnp.array([1.0, 1j]), deg=True)
      Array([ 0., 90.], dtype=float32)
    """
    check_arraylike("angle", z)
    re, im = real(z), imag(z)
    is_real = not promotion.is_complex(promotion.dtype_of(z))
    if is_real and (shape_of(z) == () or not promotion.is_inexact(promotion.dtype_of(z))):
        dtype = dtypes.canonicalize_dtype(float)
        re, im = convert.convert(re, dtype), convert.convert(im, dtype)
    result = binary.atan2(im, re)
    return degrees(result) if deg else result


@jit_when_traced
def isreal(x: ArrayLike) -> Array:
    """Returns True where the imaginary part is zero.

    Example:
      >>> jnp.isreal(jnp.array([1.0, 1j]))
      Array([ True, False], dtype=bool)
    """
    part = imag(x)
    return compare.eq(part, promotion.scalar_like(part, 0))


@jit_when_traced
def iscomplex(x: ArrayLike) -> Array:
    """Returns True where the imaginary part is not zero.

    Example:
      >>> jnp.iscomplex(jnp.array([1.0, 1j]))
      Array([False,  True], dtype=bool)
    """
    part = imag(x)
    return compare.ne(part, promotion.scalar_like(part, 0))


for _function in (angle, conjugate, imag, iscomplex, isreal, real):
    _function.__module__ = "jax.numpy"
