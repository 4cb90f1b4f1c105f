"""Float functions, exact or almost exact: signs, rounding, remainders, roots, total order."""

from __future__ import annotations

import math
import struct

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import BITS, Value, constant, is_constant
from jitney.compiler.scalar.polynomial import BIAS, INF, MANTISSA, int_kind

# The exponent bits of the kinds of which bit patterns are manipulated.
_INF_BITS = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}


def sign(e: Emitter, x: Value) -> Value:
    """Returns 1 with the sign of x, or x itself if it is zero or NaN."""
    one = e.copysign(e.const(1.0, x), x)
    return e.select(e.fcmp("ueq", x, e.const(0.0, x)), x, one)


def maximum(e: Emitter, a: Value, b: Value) -> Value:
    """Returns the maximum; NaN if either operand is NaN; -0 is less than 0."""
    if is_constant(a):
        a, b = b, a
    bound = _number(b)
    if bound is None or e.target.has_nan_minmax:
        return e.maximum(a, b)
    # A comparison with a constant other than NaN propagates a NaN in `a`. Of two zeros, +0 is the
    # maximum.
    is_zero = bound == 0 and math.copysign(1, bound) > 0
    return e.select(e.fcmp("oge" if is_zero else "ogt", b, a), b, a)


def minimum(e: Emitter, a: Value, b: Value) -> Value:
    """Returns the minimum; NaN if either operand is NaN; -0 is less than 0."""
    if is_constant(a):
        a, b = b, a
    bound = _number(b)
    if bound is None or e.target.has_nan_minmax:
        return e.minimum(a, b)
    is_minus_zero = bound == 0 and math.copysign(1, bound) < 0
    return e.select(e.fcmp("ole" if is_minus_zero else "olt", b, a), b, a)


def _number(x: Value) -> float | None:
    """Returns the value of `x` in every lane if it is a constant other than NaN, else None."""
    if not is_constant(x) or x.kind not in ("f32", "f64"):
        return None
    bits = x.text.removeprefix("splat (").removesuffix(")").split()[-1]
    (value,) = struct.unpack(">d", bytes.fromhex(bits.removeprefix("0x")))
    return None if math.isnan(value) else value


def is_finite(e: Emitter, x: Value) -> Value:
    """Returns whether x is neither infinite nor NaN."""
    return e.fcmp("olt", e.fabs(x), e.const(INF, x))


def round_away(e: Emitter, x: Value) -> Value:
    """Returns the nearest integer, with ties away from zero."""
    below_half = {"f32": 0.49999997, "f64": 0.49999999999999994}[x.kind]
    return e.trunc_float(e.fadd(x, e.copysign(e.const(below_half, x), x)))


def rsqrt(e: Emitter, x: Value) -> Value:
    """Returns 1 / sqrt(x), within 1 ulp."""
    return e.fdiv(e.const(1.0, x), e.sqrt(x))


def cbrt(e: Emitter, x: Value) -> Value:
    """Returns the cube root, within 1 ulp."""
    kind = x.kind
    size = e.fabs(x)
    # The smallest numbers are multiplied by a cube.
    cube = {"f32": 24, "f64": 54}[kind]
    tiny = e.fcmp("olt", size, e.const(2.0 ** (8 - BIAS[kind]), x))
    raised = e.select(tiny, e.fmul(size, e.const(2.0**cube, x)), size)
    # Dividing the bits by three divides the exponent by three, and approximates the root within 4
    # %.
    word = e.bits(raised)
    third = e.udiv(word, e.const(3, word)) if kind == "f32" else _third64(e, word)
    # Two thirds of the bias, minus a constant that balances the error.
    offset = {"f32": 709958130, "f64": 0x2A9F7893782DA1CE}[kind]
    t = e.bitcast(e.add(third, e.const(offset, third)), kind)
    # Each Halley step triples the number of correct bits. Terms are scaled by 1/8, since cubes may
    # overflow.
    eighth = e.fmul(raised, e.const(0.125, x))

    def step(t: Value) -> Value:
        half = e.fmul(t, e.const(0.5, x))
        cubed = e.fmul(e.fmul(half, half), half)
        change = e.fdiv(e.fsub(eighth, cubed), e.fadd(e.fadd(cubed, cubed), eighth))
        return e.fma(t, change, t)

    t = step(step(t))
    if kind == "f64":
        # The residual of the last step is exact if t has a third of the bits.
        word = e.bits(t)
        rounded = e.add(word, e.const(1 << 30, word))
        t = e.bitcast(e.and_(rounded, e.const(-(1 << 31), word)), kind)
        quotient = e.fdiv(raised, e.fmul(t, t))
        change = e.fdiv(e.fsub(quotient, t), e.fadd(e.fadd(t, t), quotient))
        t = e.fma(t, change, t)
    t = e.select(tiny, e.fmul(t, e.const(2.0 ** -(cube // 3), x)), t)
    special = e.or_(e.fcmp("ueq", size, e.const(INF, x)), e.fcmp("oeq", x, e.const(0.0, x)))
    return e.select(special, x, e.copysign(t, x))


def _third64(e: Emitter, word: Value) -> Value:
    # The upper half contains the exponent; the lower half would only refine an estimate.
    high = e.trunc(e.lshr(word, e.const(32, word)), "i32")
    third = e.zext(e.udiv(high, e.const(3, high)), "i64")
    return e.shl(third, e.const(32, word))


def rem(e: Emitter, x: Value, y: Value) -> Value:
    """Returns x - y trunc(x / y), exactly; NaN for y = 0 and for infinite x."""

    def library(e: Emitter, xs: list[Value]) -> Value:
        return e.emit(f"frem {xs[0]!r}, {xs[1].text}", x.kind)

    if x.kind == "f64" and not e.target.has_fma:
        return e.emit(f"frem {x!r}, {y.text}", x.kind, x.lanes)
    a, b = e.fabs(x), e.fabs(y)
    if e.target.has_fma:
        q, u, v = e.fdiv(a, b), a, b
        limit = 2.0 ** (MANTISSA[x.kind] - 1)
    else:
        u, v = e.fpext(a, "f64"), e.fpext(b, "f64")
        q, limit = e.fdiv(u, v), 2.0**28
    whole = e.trunc_float(q)
    remainder = e.fma(e.fneg(whole), v, u)
    # The quotient may have been rounded up to the next integer.
    remainder = e.select(
        e.fcmp("olt", remainder, e.const(0.0, remainder)), e.fadd(remainder, v), remainder
    )
    remainder = remainder if remainder.kind == x.kind else e.fptrunc(remainder, x.kind)
    usual = e.copysign(e.select(e.fcmp("olt", a, b), a, remainder), x)
    rare = e.fcmp("uge", q, e.const(limit, q))
    return e.where_rare("jitney.rem", rare, usual, [x, y], library)


def nextafter(e: Emitter, x: Value, y: Value) -> Value:
    """Returns the next float after x toward y, y if they are equal, or NaN if either is NaN."""
    kind = x.kind
    a, b = e.bits(x), e.bits(y)
    infinite = e.const(_INF_BITS[kind], a)
    top = 1 << (BITS[kind] - 1)
    size = e.const(top - 1, a)
    u, v = e.and_(a, size), e.and_(b, size)
    zero, one = e.const(0, a), e.const(1, a)
    # The step is away from 0 if y has the same sign and a larger magnitude.
    same_sign = e.icmp("sge", e.xor(a, b), zero)
    outward = e.and_(same_sign, e.icmp("ult", u, v))
    step = e.select(outward, e.add(a, one), e.sub(a, one))
    from_zero = e.or_(e.and_(b, e.const(top, b)), one)
    step = e.select(e.icmp("eq", u, zero), from_zero, step)
    both_zero = e.icmp("eq", e.or_(u, v), zero)
    step = e.select(e.or_(both_zero, e.icmp("eq", a, b)), b, step)
    nan = e.or_(e.icmp("ugt", u, infinite), e.icmp("ugt", v, infinite))
    quiet = e.const(_INF_BITS[kind] + (_INF_BITS[kind] & -_INF_BITS[kind]) // 2, a)
    return e.bitcast(e.select(nan, quiet, step), kind)


def ordered_bits(e: Emitter, x: Value) -> Value:
    """Returns signed integers in the total order of floats: -NaN < -inf < -0 < 0 < inf < NaN."""
    word = e.bits(x)
    width = BITS[x.kind]
    negative = e.ashr(word, e.const(width - 1, word))
    return e.xor(word, e.lshr(negative, e.const(1, word)))


def flip_sign(e: Emitter, x: Value) -> Value:
    """Returns -x for 16-bit kinds, which are represented by their bits."""
    word = e.bits(x)
    return e.bitcast(e.xor(word, e.const(1 << (BITS[x.kind] - 1), word)), x.kind)


def clear_sign(e: Emitter, x: Value) -> Value:
    """Returns |x| for 16-bit kinds, which are represented by their bits."""
    word = e.bits(x)
    return e.bitcast(e.and_(word, e.const((1 << (BITS[x.kind] - 1)) - 1, word)), x.kind)


def zero_of(x: Value) -> Value:
    """Returns 0 in the integer kind of `x`."""
    return constant(0, int_kind(x), x.lanes)
