"""Conversions between dtypes, and of 16-bit floats, which are computed in f32."""

from __future__ import annotations

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import BITS, FLOAT_KINDS, Value, is_signed, kind_of
from jitney.compiler.scalar_functions.declaration import HalfRule

HALF_KINDS = ("f16", "bf16")


def convert(e: Emitter, x: Value, old: np.dtype, new: np.dtype) -> Value | None:
    """Returns `x` of dtype `old` as `new`; None if native code lacks one of them.

    Floats are truncated to integers and clamped into range, NaN becomes 0; integers wrap;
    everything but 0 is True.
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
        if BITS[x.kind] < 32:  # processors have no conversion of vectors of bytes
            x = e.sext(x, "i32") if signed else e.zext(x, "i32")
            signed = True
        result = e.sitofp(x, wide) if signed else e.uitofp(x, wide)
        return narrow(e, result, kind) if kind in HALF_KINDS else result
    if BITS[kind] <= BITS[x.kind]:
        return e.trunc(x, kind)
    return e.sext(x, kind) if is_signed(old) else e.zext(x, kind)


def widen(e: Emitter, x: Value) -> Value:
    """Returns float16 and bfloat16 as f32, exactly; other values unchanged."""
    if x.kind == "bf16":
        word = e.zext(e.bits(x), "i32")
        return e.bitcast(e.shl(word, e.const(16, word)), "f32")
    if x.kind != "f16":
        return x
    if e.target.has_half_conversion:
        return e.fpext(x, "f32")
    # Exponent and mantissa move to their positions in f32; a multiplication corrects the bias, and
    # normalizes subnormal numbers. Infinity and NaN get the largest exponent.
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
    """Returns f32 or f64 rounded to float16 or bfloat16, to nearest even.

    Conversion of f64 to bfloat16 goes through f32.
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
    # Adding 1/2 rounds a subnormal result to the last bit of the sum's mantissa.
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
    # In integers: the instruction for it flushes subnormal numbers to 0.
    word = e.bits(x)
    last = e.and_(e.lshr(word, e.const(16, word)), e.const(1, word))
    rounded = e.add(e.add(word, e.const(0x7FFF, word)), last)
    quiet = e.or_(word, e.const(0x400000, word))
    result = e.select(e.is_nan(x), quiet, rounded)
    result = e.lshr(result, e.const(16, word))
    return e.bitcast(e.trunc(result, "i16"), "bf16")


def narrow_result(e: Emitter, half: HalfRule, x: Value, kind: str) -> Value:
    """Returns `x`, the f32 result of a function of widened values of `kind`, as `kind`.

    `half` is the class of such results in the function's row.
    """
    if kind != "bf16" or half not in ("closed", "basic"):
        return narrow(e, x, kind)
    word = e.bits(x if half == "closed" else round_to_bfloat16(e, x))
    return e.bitcast(e.trunc(e.lshr(word, e.const(16, word)), "i16"), "bf16")


def round_to_bfloat16(e: Emitter, x: Value) -> Value:
    """Returns the nearest bfloat16, as f32, of the f32 result of a "basic" function of bfloat16s.

    A NaN of these functions is an operand's or the processor's own. The lower half of its word is
    0, so adding to it does not carry into the upper half. Other NaN would need a check.
    """
    word = e.bits(x)
    last = e.and_(e.lshr(word, e.const(16, word)), e.const(1, word))
    rounded = e.add(e.add(word, e.const(0x7FFF, word)), last)
    return e.bitcast(e.and_(rounded, e.const(0xFFFF0000, word)), "f32")


def round_to_float16(e: Emitter, x: Value) -> Value:
    """Returns the nearest float16, as f32."""
    return widen(e, narrow(e, x, "f16"))


def _to_odd(e: Emitter, x: Value) -> Value:
    """Returns f64 as f32, rounded to odd if inexact, so that a second rounding is correct."""
    near = e.fptrunc(x, "f32")
    back = e.fpext(near, "f64")
    word = e.bits(near)
    above = e.zext(e.fcmp("ogt", e.fabs(back), e.fabs(x)), "i32")
    odd = e.or_(e.sub(word, above), e.const(1, word))
    return e.bitcast(e.select(e.fcmp("une", back, x), odd, word), "f32")
