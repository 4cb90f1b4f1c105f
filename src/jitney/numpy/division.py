"""Division with remainder: `floor_divide`, `remainder`, `divmod` and `fmod`."""

from __future__ import annotations

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.functions import BinaryFunction, public
from jitney.numpy.promotion import promote_args_numeric
from jitney.numpy.selection import where
from jitney.primitives.array import creation
from jitney.primitives.elementwise import binary, compare, convert, select, unary

_BOOL = np.dtype(bool)


def zero_like(x: ArrayLike) -> ArrayLike:
    """Returns 0 as a scalar of the type of `x`."""
    return promotion.scalar_like(x, 0)


@jit_when_traced
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes the largest integer not greater than x1 / x2, elementwise; also written x1 // x2.

    Args:
      x1: dividends; booleans are converted to int32.
      x2: divisors, broadcast against `x1`.

    Returns: an array of the common dtype: integers for integer operands, floats for float operands.

    Raises:
      TypeError: if an operand is complex.

    The result of dividing an integer by zero is unspecified; no error is raised.

    Example:
      >>> jnp.floor_divide(jnp.array([7, -7]), 2)
      Array([ 3, -4], dtype=int32)
    """
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    dtype = promotion.dtype_of(x1)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return binary.div(x1, x2)
    if promotion.is_integer(dtype):
        q = binary.div(x1, x2)
        differ = compare.ne(unary.sign(x1), unary.sign(x2))
        inexact = compare.ne(binary.rem(x1, x2), zero_like(x1))
        differ, inexact = (promotion.as_type(p, _BOOL, False) for p in (differ, inexact))
        below = binary.bitwise_and(differ, inexact)
        return where(below, binary.sub(q, convert.scalar_operand(1, *promotion.type_of(q))), q)
    if promotion.is_complex(dtype):
        raise TypeError(
            f"jnp.floor_divide: operands must be real, but they promote to {dtype}, and complex "
            "numbers cannot be rounded down"
        )
    return _float_divmod(x1, x2)[0]


@jit_when_traced
def divmod(x1: ArrayLike, x2: ArrayLike, /) -> tuple[Array, Array]:
    """Computes quotients and remainders: (floor_divide(x1, x2), remainder(x1, x2)).

    Args:
      x1: dividends.
      x2: divisors, broadcast against `x1`.

    Returns: two arrays of the common dtype.

    Example:
      >>> jnp.divmod(jnp.array([7, -7]), 3)
      (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if promotion.is_integer(promotion.dtype_of(x1)):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


def _float_divmod(x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    mod = binary.rem(x1, x2)
    by_zero = compare.eq(x2, zero_like(x2))
    div = binary.div(where(by_zero, x1, binary.sub(x1, mod)), x2)
    inexact = compare.ne(mod, zero_like(mod))
    differ = compare.ne(unary.sign(x2), unary.sign(mod))
    adjust = binary.bitwise_and(inexact, differ)
    mod = select.select(adjust, binary.add(mod, x2), mod)
    div = select.select(
        adjust, binary.sub(div, convert.scalar_operand(1, *promotion.type_of(div))), div
    )
    return select.round(div), mod


@jit_when_traced
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes the remainder x1 - x2 * floor(x1 / x2), with the sign of x2; also written x1 % x2.

    Args:
      x1: dividends; booleans are converted to int32.
      x2: divisors, broadcast against `x1`.

    Returns: the remainders, of the common dtype. If the divisor is zero, the remainder is 0 for
      integers and NaN for floats.

    Example:
      >>> jnp.remainder(jnp.array([7, -7]), 3)
      Array([1, 2], dtype=int32)
      >>> jnp.fmod(jnp.array([7, -7]), 3)
      Array([ 1, -1], dtype=int32)
    """
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    if promotion.is_integer(promotion.dtype_of(x1)):
        x2 = _guard_zero(x2)
    mod = binary.rem(x1, x2)
    inexact = compare.ne(mod, zero_like(mod))
    differ = compare.ne(compare.lt(mod, zero_like(mod)), compare.lt(x2, zero_like(x2)))
    return select.select(binary.bitwise_and(differ, inexact), binary.add(mod, x2), mod)


def _guard_zero(x: ArrayLike) -> ArrayLike:
    """Returns `x` with 0 replaced by 1."""
    is_zero = compare.eq(x, zero_like(x))
    return where(
        is_zero,
        creation.full_like(x, 1) if promotion.shape_of(x) else promotion.scalar_like(x, 1),
        x,
    )


mod: BinaryFunction = public(lambda x1, x2, /: remainder(x1, x2), "mod", remainder.__doc__ or "")


@jit_when_traced
def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes the remainder of x1 / x2 with the sign of x1, elementwise.

    Args:
      x1: dividends; booleans are converted to int32.
      x2: divisors, broadcast against `x1`.

    Returns: the remainders, of the common dtype. The results of `remainder` have the sign of x2
      instead.

    Example:
      >>> jnp.fmod(jnp.array([7.5, -7.5]), 2)
      Array([ 1.5, -1.5], dtype=float32)
    """
    promotion.check_arraylike("fmod", x1, x2)
    if promotion.is_integer(dtypes.result_type(x1, x2)):
        x2 = _guard_zero(convert.as_value(x2))
    return binary.rem(*promote_args_numeric("fmod", x1, x2))


for _function in (divmod, floor_divide, fmod, remainder):
    _function.__module__ = "jax.numpy"
