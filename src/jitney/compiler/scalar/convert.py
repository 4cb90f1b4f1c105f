"""Conversions between dtypes, and between 16-bit floats and f32, in which they are computed."""

from __future__ import annotations

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import BITS, FLOAT_KINDS, Value, is_signed, kind_of
from jitney.compiler.scalar_functions.declaration import HalfRule

HALF_KINDS = ("f16", "bf16")


def convert(e: Emitter, x: Value, old: np.dtype, new: np.dtype) -> Value | None:
    """Converts `x` from `old` to `new`; returns None if native code does not support both dtypes.

    Floats are truncated to integers and clamped into range, and NaN becomes 0. Integers wrap
    around. All values but 0 are converted to True.
    """
    kind = kind_of(new)
    if kind is None or kind_of(old) is None:
        return None
    if old == new:
        return x
    if x.kind in HALF_KINDS:
        x = widen(e, x)
        if kind == "f32":
            return x
    if kind == "i1":
        if x.kind in FLOAT_KINDS:
            return e.fcmp("une", x, e.const(0.0, x))
        return e.icmp("ne", x, e.const(0, x))
    if x.kind in FLOAT_KINDS:
        if kind not in FLOAT_KINDS:
            return e.fptosi_sat(x, kind) if is_signed(new) else e.fptoui_sat(x, kind)
        if kind in HALF_KINDS:
            return narrow(e, x, kind)
        return e.fpext(x, kind) if kind == "f64" else e.fptrunc(x, kind)
    if kind in FLOAT_KINDS:
        signed, wide = is_signed(old), "f32" if kind in HALF_KINDS else kind
        if BITS[x.kind] < 32:  # processors cannot convert vectors of bytes
            x = e.sext(x, "i32") if signed else e.zext(x, "i32")
            signed = True
        result = e.sitofp(x, wide) if signed else e.uitofp(x, wide)
        return narrow(e, result, kind) if kind in HALF_KINDS else result
    if BITS[kind] <= BITS[x.kind]:
        return e.trunc(x, kind)
    return e.sext(x, kind) if is_signed(old) else e.zext(x, kind)


def widen(e: Emitter, x: Value) -> Value:
    """Converts float16 and bfloat16 exactly to f32; other values are unchanged."""
    if x.kind == "bf16":
        word = e.zext(e.bits(x), "i32")
        return e.bitcast(e.shl(word, e.const(16, word)), "f32")
    if x.kind != "f16":
        return x
    if e.target.has_half_conversion:
        return e.fpext(x, "f32")
    # Exponent and mantissa are shifted to their positions in f32. A multiplication corrects the
    # bias and normalizes subnormal numbers. Infinity and NaN get the largest exponent.
    word = e.zext(e.bits(x), "i32")
    size = e.and_(word, e.const(0x7FFF, word))
    sign = e.shl(e.and_(word, e.const(0x8000, word)), e.const(16, word))
    moved = e.shl(size, e.const(13, word))
    value = e.bitcast(moved, "f32")
    value = e.bits(e.fmul(value, e.const(2.0**112, value)))
    special = e.icmp("uge", size, e.const(0x7C00, size))
    value = e.select(special, e.or_(moved, e.const(0x7F800000, moved)), value)
    return e.bitcast(e.or_(value, sign), "f32")


def narrow(e: Emitter, x: Value, kind: str) -> Value:
    """Rounds f32 or f64 to float16 or bfloat16, to nearest even.

    f64 is converted to bfloat16 through f32.
    """
    if kind == "bf16":
        return _narrow_bfloat(e, e.fptrunc(x, "f32") if x.kind == "f64" else x)
    if x.kind == "f64":
        if e.target.has_half_arithmetic:
            return e.fptrunc(x, "f16")
        x = _to_odd(e, x)
    if e.target.has_half_conversion:
        return e.fptrunc(x, "f16")
    word = e.bits(x)
    sign = e.and_(e.lshr(word, e.const(16, word)), e.const(0x8000, word))
    size = e.and_(word, e.const(0x7FFFFFFF, word))
    last = e.and_(e.lshr(size, e.const(13, size)), e.const(1, size))
    normal = e.add(e.add(size, e.const(0xFFF - (112 << 23), size)), last)
    normal = e.lshr(normal, e.const(13, size))
    # For subnormal results, adding 1/2 rounds to the last bit of the mantissa of the sum.
    value = e.bitcast(size, "f32")
    sum_word = e.bits(e.fadd(value, e.const(0.5, value)))
    small = e.sub(sum_word, e.const(0x3F000000, sum_word))
    result = e.select(e.icmp("ult", size, e.const(113 << 23, size)), small, normal)
    over = e.icmp("uge", size, e.const(0x477FF000, size))
    result = e.select(over, e.const(0x7C00, size), result)
    nan = e.icmp("ugt", size, e.const(0x7F800000, size))
    result = e.select(nan, e.const(0x7E00, size), result)
    return e.bitcast(e.trunc(e.or_(result, sign), "i16"), "f16")


def _narrow_bfloat(e: Emitter, x: Value) -> Value:
    # This uses integer operations, since the conversion instruction flushes subnormal numbers to 0.
    word = e.bits(x)
    last = e.and_(e.lshr(word, e.const(16, word)), e.const(1, word))
    rounded = e.add(e.add(word, e.const(0x7FFF, word)), last)
    quiet = e.or_(word, e.const(0x400000, word))
    result = e.select(e.is_nan(x), quiet, rounded)
    result = e.lshr(result, e.const(16, word))
    return e.bitcast(e.trunc(result, "i16"), "bf16")


def narrow_result(e: Emitter, half: HalfRule, x: Value, kind: str) -> Value:
    """Converts `x`, the f32 result of a function of widened values of `kind`, to `kind`.

    `half` is the field of the function's table row that classifies such results.
    """
    if kind != "bf16" or half not in ("closed", "basic"):
        return narrow(e, x, kind)
    word = e.bits(x if half == "closed" else round_to_bfloat16(e, x))
    return e.bitcast(e.trunc(e.lshr(word, e.const(16, word)), "i16"), "bf16")


def round_to_bfloat16(e: Emitter, x: Value) -> Value:
    """Rounds the f32 result of a "basic" function of bfloat16s to bfloat16, as f32.

    A NaN result of these functions is that of an operand or the processor's default NaN. The lower
    half of its word is 0, so rounding does not carry into the upper half. Other NaNs would require
    a check.
    """
    word = e.bits(x)
    last = e.and_(e.lshr(word, e.const(16, word)), e.const(1, word))
    rounded = e.add(e.add(word, e.const(0x7FFF, word)), last)
    return e.bitcast(e.and_(rounded, e.const(0xFFFF0000, word)), "f32")


def round_to_float16(e: Emitter, x: Value) -> Value:
    """Rounds to float16; the result is f32."""
    return widen(e, narrow(e, x, "f16"))


def _to_odd(e: Emitter, x: Value) -> Value:
    """Converts f64 to f32, rounding to odd if inexact, so that a second rounding is correct."""
    near = e.fptrunc(x, "f32")
    back = e.fpext(near, "f64")
    word = e.bits(near)
    above = e.zext(e.fcmp("ogt", e.fabs(back), e.fabs(x)), "i32")
    odd = e.or_(e.sub(word, above), e.const(1, word))
    return e.bitcast(e.select(e.fcmp("une", back, x), odd, word), "f32")
