"""Operations on bits of integers and truth values: `bitwise_and`, `left_shift` and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.core import dtypes
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.promotion import promote_args
from jitney.numpy.unary_math import bitwise_invert, bitwise_not, invert, public
from jitney.primitives.elementwise import binary, convert

__all__ = [
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "invert", "left_shift", "right_shift",
]  # fmt: skip


def _bits(name: str, op: Callable[[Any, Any], Any], doc: str) -> Callable[[Any, Any], Any]:
    """A function of two operands of one integer or boolean dtype, by the lax function `op`."""

    def function(x: ArrayLike, y: ArrayLike, /) -> Array:
        if isinstance(x, Array):
            aval = x.aval
            if isinstance(y, Array):
                if y.aval is aval and not aval.weak_type:
                    return op(x, y)
            elif type(y) is int and dtypes.issubdtype(aval.dtype, np.integer):
                return op(x, convert.scalar_operand(y, aval.dtype, aval.weak_type))
        return op(*promote_args(name, x, y))

    return public(function, name, doc)


bitwise_and = _bits("bitwise_and", binary.bitwise_and, "The bits set in both x and y.")
bitwise_or = _bits("bitwise_or", binary.bitwise_or, "The bits set in x or y.")
bitwise_xor = _bits("bitwise_xor", binary.bitwise_xor, "The bits set in one of x and y only.")


def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x shifted left by y bits."""
    return binary.shift_left(*promotion.promote_args_numeric("left_shift", x, y))


def bitwise_left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x shifted left by y bits."""
    return binary.shift_left(*promotion.promote_args_numeric("bitwise_left_shift", x, y))


def right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 shifted right by x2 bits; the sign bit is repeated."""
    return _right_shift("right_shift", x1, x2)


def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 shifted right by x2 bits; the sign bit is repeated."""
    return _right_shift("bitwise_right_shift", x1, x2)


def _right_shift(name: str, x1: ArrayLike, x2: ArrayLike) -> Array:
    x1, x2 = promotion.promote_args_numeric(name, x1, x2)
    if dtypes.issubdtype(promotion.dtype_of(x1), np.unsignedinteger):
        return binary.shift_right_logical(x1, x2)
    return binary.shift_right_arithmetic(x1, x2)


for _function in (left_shift, bitwise_left_shift, right_shift, bitwise_right_shift):
    _function.__module__ = "jax.numpy"
