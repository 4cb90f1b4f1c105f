"""Bitwise operations on integers and booleans: `bitwise_and`, `left_shift` and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.functions import last_sections, one_operation, public
from jitney.numpy.promotion import promote_args
from jitney.numpy.unary_math import bitwise_invert, bitwise_not, invert
from jitney.primitives.elementwise import binary, convert

if TYPE_CHECKING:
    from jitney.numpy.functions import BinaryFunction

__all__ = [
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "invert", "left_shift", "right_shift",
]  # fmt: skip


_OPERANDS = """
    Args:
      x: integers or booleans.
      y: integers or booleans, broadcast against `x`.

    Returns: an array of the common dtype.

    Raises:
      TypeError: if an operand is neither integer nor boolean.
"""


def _bits(
    name: str, op: Callable[[Any, Any], Any], doc: str, example: str, printed: str
) -> BinaryFunction:
    """Returns a function of two integer or boolean operands; see `arithmetic.arithmetic`."""

    def function(x: ArrayLike, y: ArrayLike, /) -> Array:
        if isinstance(x, Array):
            aval = x.aval
            if isinstance(y, Array):
                if y.aval is aval and not aval.weak_type:
                    return op(x, y)
            elif type(y) is int and dtypes.issubdtype(aval.dtype, np.integer):
                return op(x, convert.scalar_operand(y, aval.dtype, aval.weak_type))
        return op(*promote_args(name, x, y))

    shown = last_sections(example, printed)
    return one_operation(public(function, name, f"{doc}\n{_OPERANDS}{shown}"))


bitwise_and = _bits(
    "bitwise_and", binary.bitwise_and, "Computes the bitwise AND; also written x & y.",
    "jnp.bitwise_and(jnp.array([6, 7]), 3)", "Array([2, 3], dtype=int32)",
)  # fmt: skip
bitwise_or = _bits(
    "bitwise_or", binary.bitwise_or, "Computes the bitwise OR; also written x | y.",
    "jnp.bitwise_or(jnp.array([6, 1]), 8)", "Array([14,  9], dtype=int32)",
)  # fmt: skip
bitwise_xor = _bits(
    "bitwise_xor", binary.bitwise_xor, "Computes the bitwise XOR; also written x ^ y.",
    "jnp.bitwise_xor(jnp.array([6, 7]), 3)", "Array([5, 4], dtype=int32)",
)  # fmt: skip


def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Shifts the bits of x left by y; also written x << y.

    Args:
      x: an integer array; booleans are converted to int32.
      y: the number of bits to shift by, broadcast against `x`.

    Returns: an array of the common integer dtype; 0 where `y` is at least the number of bits of
      that dtype.

    Example:
      >>> jnp.left_shift(jnp.array([1, 3]), 2)
      Array([ 4, 12], dtype=int32)
    """
    return binary.shift_left(*promotion.promote_args_numeric("left_shift", x, y))


def bitwise_left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Shifts the bits of x left by y; an alias of `left_shift`.

    Args:
      x: an integer array; booleans are converted to int32.
      y: the number of bits to shift by, broadcast against `x`.

    Returns: an array of the common integer dtype.
    """
    return binary.shift_left(*promotion.promote_args_numeric("bitwise_left_shift", x, y))


def right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Shifts the bits of x1 right by x2, repeating the sign bit; also written x1 >> x2.

    Args:
      x1: an integer array; booleans are converted to int32.
      x2: the number of bits to shift by, broadcast against `x1`.

    Returns: an array of the common integer dtype.

    Example:
      >>> jnp.right_shift(jnp.array([12, -8]), 2)
      Array([ 3, -2], dtype=int32)
    """
    return _right_shift("right_shift", x1, x2)


def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Shifts the bits of x1 right by x2; an alias of `right_shift`.

    Args:
      x1: an integer array; booleans are converted to int32.
      x2: the number of bits to shift by, broadcast against `x1`.

    Returns: an array of the common integer dtype.
    """
    return _right_shift("bitwise_right_shift", x1, x2)


def _right_shift(name: str, x1: ArrayLike, x2: ArrayLike) -> Array:
    x1, x2 = promotion.promote_args_numeric(name, x1, x2)
    if dtypes.issubdtype(promotion.dtype_of(x1), np.unsignedinteger):
        return binary.shift_right_logical(x1, x2)
    return binary.shift_right_arithmetic(x1, x2)


for _function in (left_shift, bitwise_left_shift, right_shift, bitwise_right_shift):
    _function.__module__ = "jax.numpy"
