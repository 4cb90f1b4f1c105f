"""Integer functions that are total: cases that are undefined in C are defined as in JAX."""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import BITS, Value, constant, is_constant


def constant_of(value: Value) -> int:
    """Returns the value in every lane of an integer constant."""
    return int(value.text.removeprefix("splat (").removesuffix(")").split()[-1])


def mul(e: Emitter, a: Value, b: Value) -> Value:
    """Returns a * b, wrapping."""
    if a.lanes == 1 or a.kind != "i8":
        return e.mul(a, b)
    # Processors cannot multiply vectors of bytes, and LLVM is slow to find a replacement.
    return e.trunc(e.mul(e.zext(a, "i16"), e.zext(b, "i16")), "i8")


def div(e: Emitter, a: Value, b: Value, signed: bool) -> Value:
    """Returns a / b rounded toward 0.

    a / 0 is -1, which has all bits set; the minimum divided by -1 is the minimum.
    """
    if is_constant(b) and constant_of(b) not in (0, -1):
        return e.sdiv(a, b) if signed else e.udiv(a, b)
    zero, one = e.const(0, b), e.const(1, b)
    by_zero = e.icmp("eq", b, zero)
    if not signed:
        quotient = _quotient(e, a, e.select(by_zero, one, b), signed)
        return e.select(by_zero, e.const(-1, b), quotient)
    by_minus_one = e.icmp("eq", b, e.const(-1, b))
    safe = e.select(e.or_(by_zero, by_minus_one), one, b)
    quotient = _quotient(e, a, safe, signed)
    quotient = e.select(by_minus_one, e.sub(zero, a), quotient)
    return e.select(by_zero, e.const(-1, b), quotient)


def _quotient(e: Emitter, a: Value, b: Value, signed: bool) -> Value:
    if a.lanes == 1 or BITS[a.kind] > 32:
        return e.sdiv(a, b) if signed else e.udiv(a, b)
    # Processors can only divide vectors of floats, which have enough bits for an exact quotient.
    wide = "f64" if BITS[a.kind] == 32 else "f32"
    if signed:
        return e.fptosi(e.fdiv(e.sitofp(a, wide), e.sitofp(b, wide)), a.kind)
    return e.fptoui(e.fdiv(e.uitofp(a, wide), e.uitofp(b, wide)), a.kind)


def rem(e: Emitter, a: Value, b: Value, signed: bool) -> Value:
    """Returns the remainder a - b * (a / b), which has the sign of a; a if b = 0."""
    if is_constant(b) and constant_of(b) not in (0, -1):
        return e.srem(a, b) if signed else e.urem(a, b)
    return e.sub(a, mul(e, div(e, a, b, signed), b))


def shift_left(e: Emitter, a: Value, b: Value) -> Value:
    """Returns a << b with unsigned b; 0 if b is at least the width."""
    if _is_inside(b):
        return e.shl(a, b)
    return e.select(_inside(e, b), e.shl(a, b), e.const(0, a))


def shift_right_logical(e: Emitter, a: Value, b: Value) -> Value:
    """Returns the logical shift a >> b with unsigned b; 0 if b is at least the width."""
    if _is_inside(b):
        return e.lshr(a, b)
    return e.select(_inside(e, b), e.lshr(a, b), e.const(0, a))


def shift_right_arithmetic(e: Emitter, a: Value, b: Value) -> Value:
    """Returns the arithmetic shift a >> b with unsigned b.

    All bits are the sign bit if b is at least the width.
    """
    if _is_inside(b):
        return e.ashr(a, b)
    return e.ashr(a, e.select(_inside(e, b), b, e.const(BITS[b.kind] - 1, b)))


def _is_inside(b: Value) -> bool:
    """Returns whether the shift distance `b` is known to be less than the width."""
    return is_constant(b) and 0 <= constant_of(b) < BITS[b.kind]


def _inside(e: Emitter, b: Value) -> Value:
    return e.icmp("ult", b, e.const(BITS[b.kind], b))


def sign(e: Emitter, a: Value, signed: bool) -> Value:
    """Returns the sign of a as -1, 0 or 1."""
    zero = e.const(0, a)
    if not signed:
        return e.zext(e.icmp("ne", a, zero), a.kind)
    positive = e.zext(e.icmp("sgt", a, zero), a.kind)
    return e.or_(e.ashr(a, e.const(BITS[a.kind] - 1, a)), positive)


def mulhi(e: Emitter, a: Value, b: Value, signed: bool) -> Value:
    """Returns the upper half of the double-width product."""
    wide = f"i{2 * BITS[a.kind]}"
    extend = e.sext if signed else e.zext
    product = e.mul(extend(a, wide), extend(b, wide))
    return e.trunc(e.lshr(product, e.const(BITS[a.kind], product)), a.kind)


def population_count(e: Emitter, a: Value) -> Value:
    """Returns the number of bits set."""
    return e.intrinsic("llvm.ctpop", [a])


def clz(e: Emitter, a: Value) -> Value:
    """Returns the number of zero bits above the highest set bit; the width if a is 0."""
    return e.intrinsic("llvm.ctlz", [a, constant(0, "i1")])


def absolute(e: Emitter, a: Value) -> Value:
    """Returns |a|; the result for the minimum is the minimum."""
    return e.intrinsic("llvm.abs", [a, constant(0, "i1")])
