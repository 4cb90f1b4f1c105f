"""Bitwise functions of integers and Booleans.

Shifts by the width or more return 0, but arithmetic right shifts return copies of the sign bit.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.scalar_functions.declaration import declare
from jitney.compiler.scalar_functions.ufuncs import by_ufunc


def _unsigned(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"uint{dtype.itemsize * 8}")


def _inside(y: np.ndarray) -> np.ndarray:
    return (
        y.view(_unsigned(y.dtype)) < y.dtype.itemsize * 8
        if y.ndim
        else (y.reshape(1).view(_unsigned(y.dtype)).reshape(()) < y.dtype.itemsize * 8)
    )


def _shift_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    inside = _inside(y)
    zero = np.zeros((), x.dtype)
    return np.where(inside, np.left_shift(x, np.where(inside, y, zero)), zero)


def _shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kind = _unsigned(x.dtype)
    inside = _inside(y)
    ux, uy = x.astype(kind), y.astype(kind)
    zero = np.zeros((), kind)
    return np.where(inside, np.right_shift(ux, np.where(inside, uy, zero)), zero).astype(x.dtype)


def _shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kind = np.dtype(f"int{x.dtype.itemsize * 8}")
    most = np.asarray(x.dtype.itemsize * 8 - 1, kind)
    amount = np.where(_inside(y), y.astype(kind), most)
    return np.right_shift(x.astype(kind), amount).astype(x.dtype)


def _population_count(x: np.ndarray) -> np.ndarray:
    return np.bitwise_count(x.astype(_unsigned(x.dtype))).astype(x.dtype)


def _clz(x: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    word = x.astype(_unsigned(x.dtype))
    shift = 1
    while shift < bits:
        word = word | (word >> np.asarray(shift, word.dtype))
        shift *= 2
    return (bits - np.bitwise_count(word).astype(np.int64)).astype(x.dtype)


def _mulhi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{'int' if x.dtype.kind == 'i' else 'uint'}{2 * bits}")
        return ((x.astype(wide) * y.astype(wide)) >> np.asarray(bits, wide)).astype(x.dtype)
    u, v = x.astype(np.uint64), y.astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    u0, u1, v0, v1 = u & low, u >> half, v & low, v >> half
    middle = u1 * v0 + ((u0 * v0) >> half)
    high = u1 * v1 + (middle >> half) + (((middle & low) + u0 * v1) >> half)
    if x.dtype.kind == "i":  # two's complement: remove what the sign bits added
        zero = np.uint64(0)
        high = high - np.where(x < 0, v, zero) - np.where(y < 0, u, zero)
    return high.astype(x.dtype)


declare("and", np.bitwise_and, operands=2, code="bits.and_")
declare("or", np.bitwise_or, operands=2, code="bits.or_")
declare("xor", by_ufunc(np.bitwise_xor, light=True), operands=2, code="bits.xor")
declare("not", np.invert, code="bits.not_")
declare("shift_left", _shift_left, operands=2, code="bits.shift_left")
declare("shift_right_logical", _shift_right_logical, operands=2, code="bits.shift_right_logical")
declare(
    "shift_right_arithmetic",
    _shift_right_arithmetic,
    operands=2,
    code="bits.shift_right_arithmetic",
)
declare("population_count", _population_count, code="bits.population_count")
declare("clz", _clz, code="bits.clz")
declare("mulhi", _mulhi, operands=2, code="bits.mulhi")
