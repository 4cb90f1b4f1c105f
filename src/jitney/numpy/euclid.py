"""Greatest common divisors by Euclid's algorithm."""

from __future__ import annotations

import numpy as np

from jitney.core.types import dtypes
from jitney.core.types.avals import shaped_array
from jitney.core.typing import Array
from jitney.numpy.selection import where
from jitney.primitives.elementwise import binary, compare
from jitney.primitives.elementwise.convert import convert, scalar_operand
from jitney.runtime.arrays import host_path


def _steps(dtype: np.dtype) -> int:
    """Returns the maximum number of divisions for `dtype`: that of adjacent Fibonacci numbers."""
    a, b, count = 1, 1, 0
    while b <= int(dtypes.iinfo(dtype).max):
        a, b, count = b, a + b, count + 1
    return count + 1


def gcd_of(x: Array, y: Array) -> Array:
    """Returns greatest common divisors of integers that share a shape and a dtype.

    Operands are read as magnitudes, so the smallest integer, whose absolute value overflows, is
    exact.
    """
    if x.dtype.kind == "V":  # integers of fewer than eight bits
        is_signed = dtypes.issubdtype(x.dtype, np.signedinteger)
        wide = np.dtype(np.int8 if is_signed else np.uint8)
        return convert(gcd_of(convert(x, wide), convert(y, wide)), x.dtype)
    a, b = host_path.host_data(x), host_path.host_data(y)
    if a is not None and b is not None:
        magnitudes = [
            v.view(v.dtype.str.replace("i", "u")) if v.dtype.kind == "i" else v for v in (a, b)
        ]
        out = np.gcd(*magnitudes).astype(x.dtype)
        return host_path.array_from_numpy(out, shaped_array(out.shape, x.dtype, _is_weak(x, y)))
    dtype, weak = x.dtype, _is_weak(x, y)
    magnitude = np.dtype(dtype.str.replace("i", "u"))
    x, y = convert(x, magnitude), convert(y, magnitude)
    zero = scalar_operand(0, magnitude, False)
    for _ in range(_steps(dtype)):
        nonzero = compare.ne(y, zero)
        x, y = where(nonzero, y, x), where(nonzero, binary.rem(x, where(nonzero, y, 1)), zero)
    return convert(x, dtype, weak)


def _is_weak(x: Array, y: Array) -> bool:
    """Returns whether the result is weakly typed: only that of weakly typed scalars is."""
    return x.aval.weak_type and y.aval.weak_type and not x.shape
