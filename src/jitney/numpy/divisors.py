"""Greatest common divisors, by NumPy or as a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.core.types import dtypes
from jitney.core.types.avals import shaped_array
from jitney.core.typing import Array
from jitney.numpy.selection import where
from jitney.primitives.control.fori_loop import fori_loop
from jitney.primitives.elementwise import binary, unary
from jitney.primitives.elementwise.convert import convert
from jitney.runtime.arrays import host_path


def gcd_of(x: Array, y: Array) -> Array:
    """Returns greatest common divisors of integers that share a shape and a dtype.

    Magnitudes are unsigned integers, so results are exact even for the smallest integer, whose
    absolute value overflows, unless the result itself is that value: then it wraps around.
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
    return convert(_binary_gcd(convert(x, magnitude), convert(y, magnitude)), dtype, weak)


def _binary_gcd(x: Array, y: Array) -> Array:
    """Returns greatest common divisors of unsigned integers by Stein's binary algorithm.

    Euclid's algorithm needs integer divisions, for which processors have no vector instruction.
    Here, the first operand is always odd. A step halves the second operand if it is even. If both
    are odd, the smaller one becomes the first operand, and half of their difference, which is even,
    becomes the second one. The product of the operands loses at least one bit per step, so there
    are at most as many steps as both operands together have bits. The number of steps is fixed: a
    test for the end would combine all elements, including those on other devices.

    Source: Stein, Computational problems associated with Racah algebra, J. Comput. Phys. 1 (1967).
    """

    def step(_: Any, operands: tuple[Array, Array]) -> tuple[Array, Array]:
        a, b = operands
        is_odd = (b & 1) != 0
        low, high = binary.min(a, b), binary.max(a, b)
        return where(is_odd, low, a), where(is_odd, high - low, b) >> 1

    twos = _trailing_zeros(x | y)  # of the result
    odd = where(x == 0, 1, x)
    odd = odd >> _trailing_zeros(odd)
    odd, _ = fori_loop(0, 16 * x.dtype.itemsize, step, (odd, y))
    return where(x == 0, y, where(y == 0, x, odd << twos))


def _trailing_zeros(x: Array) -> Array:
    """Returns the number of zeros below the lowest bit that is set, in the dtype of `x`."""
    return unary.population_count(~x & (x - 1))


def _is_weak(x: Array, y: Array) -> bool:
    """Returns whether both operands are weakly typed scalars, so that the result is one, too."""
    return x.aval.weak_type and y.aval.weak_type and not x.shape
