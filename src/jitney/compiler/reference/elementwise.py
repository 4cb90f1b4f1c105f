"""Elementwise operations with parameters: powers, clamping, bitcasts and reduced precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.reference import scalar
from jitney.compiler.scalar_functions.casts import bitcast
from jitney.core.types import dtypes

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike


def integer_pow(x: np.ndarray, y: int) -> np.ndarray:
    """Returns x to the integer power `y`, by the same chain of squarings as compiled code."""
    n, base, result = abs(y), x, None
    while n:
        if n & 1:
            result = base if result is None else base * result
        n >>= 1
        if n:
            base = base * base
    one = np.ones((), x.dtype)
    if result is None:
        return np.broadcast_to(one, x.shape)
    return scalar.function("div")(one, result) if y < 0 else np.asarray(result)


def select_n(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    """Returns cases[which] elementwise; `which` is clamped into range."""
    if which.dtype == np.bool_:
        return np.where(which, cases[-1], cases[0])
    result = cases[0]
    for i, case in enumerate(cases[1:], start=1):
        result = np.where(which >= np.asarray(i, which.dtype), case, result)
    return result


def clamp(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Returns min(max(x, low), high); NaN in any operand is propagated.

    Complex numbers are compared by their real parts.
    """
    if x.dtype.kind == "c":
        x = np.where(np.real(x) <= np.real(low), low, x)
        return np.where(np.real(x) <= np.real(high), x, high)
    # For 0-d arrays, NumPy returns scalars, which lose 4-bit dtypes.
    return np.asarray(scalar.function("clamp")(low, x, high), x.dtype)


def bitcast_bits(x: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Reinterprets the bits of `x` as `dtype`, least significant part of wider elements first.

    Elements narrower than a byte have their logical width, not that of the byte they occupy in
    memory.
    """
    dtype = np.dtype(dtype)
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    if x.dtype == dtype or min(old, new) >= 8:
        return bitcast(x, dtype)
    word = bitcast(x, f"uint{max(old, 8)}")
    if old < 8:
        word = word & np.uint8(2**old - 1)
    if old < new:
        word = word.astype(f"uint{max(new, 8)}")
        offsets = (old * np.arange(new // old)).astype(word.dtype)
        word = np.bitwise_or.reduce(word << offsets, axis=-1)
    elif old > new:
        word = word[..., None] >> (new * np.arange(old // new)).astype(word.dtype)
    if new < 8:
        word = (word & np.asarray(2**new - 1, word.dtype)).astype(np.uint8)
    return bitcast(np.asarray(word), dtype)


def reduce_precision(x: np.ndarray, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """Returns x rounded to nearest even in a float format of the given widths.

    The result is infinity on overflow, and a signed zero on underflow of the narrower exponent.
    """
    info = dtypes.finfo(x.dtype)
    bits = x.dtype.itemsize * 8
    kind = np.dtype(f"uint{bits}")
    nmant, nexp = info.nmant, info.nexp
    word = x.view(kind) if x.ndim else x.reshape(1).view(kind).reshape(())

    def const(value: int) -> np.ndarray:
        return np.asarray(value, kind)

    sign = word & const(1 << (bits - 1))
    out = word & const((1 << (bits - 1)) - 1)
    if mantissa_bits < nmant:
        drop = nmant - mantissa_bits
        last = (out >> const(drop)) & const(1)
        out = (out + const((1 << (drop - 1)) - 1) + last) & const(
            ~((1 << drop) - 1) & (2**bits - 1)
        )
    if exponent_bits < nexp:
        bias = (1 << (nexp - 1)) - 1
        new_bias = (1 << (exponent_bits - 1)) - 1
        largest = ((bias + new_bias) << nmant) | ((1 << nmant) - 1)
        smallest = (bias - new_bias + 1) << nmant
        infinity = ((1 << nexp) - 1) << nmant
        out = np.where(out > const(largest), const(infinity), out)
        out = np.where(out < const(smallest), const(0), out)
    result = (
        (out | sign).astype(kind).view(x.dtype)
        if x.ndim
        else (np.asarray(out | sign, kind).reshape(1).view(x.dtype).reshape(()))
    )
    return np.where(np.isnan(x), x, result)
