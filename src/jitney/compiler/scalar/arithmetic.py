"""Arithmetic, comparisons, choice and bits as LLVM code, for integers, booleans, f32 and f64.

Integer division and shifts have an answer for every operand, as in `compiler.numerics`: x / 0 is all
ones, x rem 0 is x, a shift past the width gives 0 or the sign.
"""

from __future__ import annotations

from collections.abc import Callable

from jitney.compiler.codegen.emit import Emitter
from jitney.compiler.codegen.values import BITS, Value

Emit = Callable[[Emitter, list[Value]], Value]

# --- floats -----------------------------------------------------------------------------------


def float_max(e: Emitter, x: list[Value]) -> Value:
    """The larger; NaN if either is NaN."""
    a, b = x
    if e.target.has_nan_minmax:
        return e.maximum(a, b)
    # a where a > b or a is NaN; otherwise b, which is NaN if either still is.
    return e.select(e.fcmp("uno", a, a), a, e.select(e.fcmp("ogt", a, b), a, b))


def float_min(e: Emitter, x: list[Value]) -> Value:
    """The smaller; NaN if either is NaN."""
    a, b = x
    if e.target.has_nan_minmax:
        return e.minimum(a, b)
    return e.select(e.fcmp("uno", a, a), a, e.select(e.fcmp("olt", a, b), a, b))


def float_sign(e: Emitter, x: list[Value]) -> Value:
    """-1, 0 or 1; zeros and NaN as they are."""
    (a,) = x
    one = e.copysign(e.const(1.0, a), a)
    return e.select(e.fcmp("ueq", a, e.const(0.0, a)), a, one)


def float_rem(e: Emitter, x: list[Value]) -> Value:
    """The exact remainder, with the sign of the dividend."""
    a, b = x
    kind = a.kind

    def lane(inner: Emitter, args: list[Value]) -> Value:
        return inner.emit(f"frem {args[0]!r}, {args[1].text}", kind)

    if a.lanes == 1:
        return lane(e, [a, b])
    result = a
    for i in range(a.lanes):
        value = lane(e, [e.extract(a, i), e.extract(b, i)])
        result = e.insert(result, value, i)
    return result


def round_away(e: Emitter, x: list[Value]) -> Value:
    """The nearest integer, halves away from zero."""
    (a,) = x
    whole = e.trunc_float(a)
    far = e.fcmp("oge", e.fabs(e.fsub(a, whole)), e.const(0.5, a))
    up = e.fadd(whole, e.copysign(e.const(1.0, a), a))
    return e.copysign(e.select(far, up, whole), a)


def is_finite(e: Emitter, x: list[Value]) -> Value:
    """Neither infinite nor NaN."""
    (a,) = x
    return e.fcmp("olt", e.fabs(a), e.const(float("inf"), a))


def rsqrt(e: Emitter, x: list[Value]) -> Value:
    """1 / sqrt(x), two roundings."""
    (a,) = x
    return e.fdiv(e.const(1.0, a), e.sqrt(a))


def nextafter(e: Emitter, x: list[Value]) -> Value:
    """The neighbour of the first operand towards the second."""
    a, b = x
    word, kind = e.bits(a), a.kind
    one = e.const(1, word)
    zero = e.fcmp("oeq", a, e.const(0.0, a))
    up, positive = e.fcmp("olt", a, b), e.fcmp("ogt", a, e.const(0.0, a))
    grows = e.not_(e.xor(up, positive))
    step = e.select(grows, e.add(word, one), e.sub(word, one))
    moved = e.bitcast(step, kind)
    tiny = e.copysign(e.bitcast(one, kind), b)
    moved = e.select(zero, tiny, moved)
    moved = e.select(e.fcmp("oeq", a, b), b, moved)
    return e.select(e.fcmp("uno", a, b), e.fadd(a, b), moved)


def total_order_key(e: Emitter, a: Value) -> Value:
    """Integers that compare as the total order of floats `a`."""
    if not e.is_float(a):
        return a
    word = e.bits(a)
    sign = e.ashr(word, e.const(BITS[a.kind] - 1, word))
    rest = e.lshr(sign, e.const(1, word))
    return e.xor(word, rest)


FLOAT: dict[str, Emit] = {
    "add": lambda e, x: e.fadd(*x),
    "sub": lambda e, x: e.fsub(*x),
    "mul": lambda e, x: e.fmul(*x),
    "div": lambda e, x: e.fdiv(*x),
    "rem": float_rem,
    "neg": lambda e, x: e.fneg(*x),
    "abs": lambda e, x: e.fabs(*x),
    "sqrt": lambda e, x: e.sqrt(*x),
    "rsqrt": rsqrt,
    "square": lambda e, x: e.fmul(x[0], x[0]),
    "floor": lambda e, x: e.floor(*x),
    "ceil": lambda e, x: e.ceil(*x),
    "round_even": lambda e, x: e.roundeven(*x),
    "round_away": round_away,
    "sign": float_sign,
    "max": float_max,
    "min": float_min,
    "clamp": lambda e, x: float_min(e, [float_max(e, [x[0], x[1]]), x[2]]),
    "is_finite": is_finite,
    "nextafter": nextafter,
    "eq": lambda e, x: e.fcmp("oeq", *x),
    "ne": lambda e, x: e.fcmp("une", *x),
    "lt": lambda e, x: e.fcmp("olt", *x),
    "le": lambda e, x: e.fcmp("ole", *x),
    "gt": lambda e, x: e.fcmp("ogt", *x),
    "ge": lambda e, x: e.fcmp("oge", *x),
    "eq_to": lambda e, x: e.icmp("eq", *[total_order_key(e, a) for a in x]),
    "lt_to": lambda e, x: e.icmp("slt", *[total_order_key(e, a) for a in x]),
    "le_to": lambda e, x: e.icmp("sle", *[total_order_key(e, a) for a in x]),
    "select": lambda e, x: e.select(*x),
}

# --- integers -----------------------------------------------------------------------------------


def _divide(signed: bool) -> Emit:
    def divide(e: Emitter, x: list[Value]) -> Value:
        a, b = x
        ones, one = e.const(-1, a), e.const(1, a)
        zero = e.icmp("eq", b, e.const(0, b))
        if not signed:
            return e.select(zero, ones, e.udiv(a, e.select(zero, one, b)))
        minus = e.icmp("eq", b, ones)
        quotient = e.sdiv(a, e.select(e.or_(zero, minus), one, b))
        negated = e.sub(e.const(0, a), a)
        return e.select(zero, ones, e.select(minus, negated, quotient))

    return divide


def _remainder(signed: bool) -> Emit:
    def remainder(e: Emitter, x: list[Value]) -> Value:
        a, b = x
        one = e.const(1, a)
        zero = e.icmp("eq", b, e.const(0, b))
        if not signed:
            return e.select(zero, a, e.urem(a, e.select(zero, one, b)))
        minus = e.icmp("eq", b, e.const(-1, b))
        rest = e.srem(a, e.select(e.or_(zero, minus), one, b))
        return e.select(zero, a, rest)

    return remainder


def _shift(kind: str) -> Emit:
    def shift(e: Emitter, x: list[Value]) -> Value:
        a, b = x
        width = BITS[a.kind]
        inside = e.icmp("ult", b, e.const(width, b))
        if kind == "ashr":
            return e.ashr(a, e.select(inside, b, e.const(width - 1, b)))
        amount = e.select(inside, b, e.const(0, b))
        moved = e.shl(a, amount) if kind == "shl" else e.lshr(a, amount)
        return e.select(inside, moved, e.const(0, a))

    return shift


def _high_product(signed: bool) -> Emit:
    def mulhi(e: Emitter, x: list[Value]) -> Value:
        a, b = x
        width = BITS[a.kind]
        wide = f"i{2 * width}"
        extend = e.sext if signed else e.zext
        product = e.mul(extend(a, wide), extend(b, wide))
        return e.trunc(e.lshr(product, e.const(width, product)), a.kind)

    return mulhi


def _signed_sign(e: Emitter, x: list[Value]) -> Value:
    (a,) = x
    zero = e.const(0, a)
    positive = e.zext(e.icmp("sgt", a, zero), a.kind)
    return e.select(e.icmp("slt", a, zero), e.const(-1, a), positive)


def _clz(e: Emitter, x: list[Value]) -> Value:
    (a,) = x
    name = f"llvm.ctlz.{_suffix(a)}"
    e.declarations.add(f"declare {a.type} @{name}({a.type}, i1)")
    return e.emit(f"call {a.type} @{name}({a!r}, i1 false)", a.kind, a.lanes)


def _suffix(a: Value) -> str:
    return a.kind if a.lanes == 1 else f"v{a.lanes}{a.kind}"


def _common(signed: bool) -> dict[str, Emit]:
    s = "s" if signed else "u"

    def extreme(name: str) -> Emit:
        return lambda e, x: e.intrinsic(f"llvm.{s}{name}", x)

    def compare(predicate: str) -> Emit:
        return lambda e, x: e.icmp(predicate, *x)

    return {
        "add": lambda e, x: e.add(*x),
        "sub": lambda e, x: e.sub(*x),
        "mul": lambda e, x: e.mul(*x),
        "div": _divide(signed),
        "rem": _remainder(signed),
        "neg": lambda e, x: e.sub(e.const(0, x[0]), x[0]),
        "square": lambda e, x: e.mul(x[0], x[0]),
        "max": extreme("max"),
        "min": extreme("min"),
        "clamp": lambda e, x: extreme("min")(e, [extreme("max")(e, [x[0], x[1]]), x[2]]),
        "and": lambda e, x: e.and_(*x),
        "or": lambda e, x: e.or_(*x),
        "xor": lambda e, x: e.xor(*x),
        "not": lambda e, x: e.not_(*x),
        "shift_left": _shift("shl"),
        "shift_right_logical": _shift("lshr"),
        "shift_right_arithmetic": _shift("ashr"),
        "population_count": lambda e, x: e.intrinsic("llvm.ctpop", x),
        "clz": _clz,
        "mulhi": _high_product(signed),
        "eq": compare("eq"),
        "ne": compare("ne"),
        "lt": compare(f"{s}lt"),
        "le": compare(f"{s}le"),
        "gt": compare(f"{s}gt"),
        "ge": compare(f"{s}ge"),
        "eq_to": compare("eq"),
        "lt_to": compare(f"{s}lt"),
        "le_to": compare(f"{s}le"),
        "select": lambda e, x: e.select(*x),
    }


SIGNED: dict[str, Emit] = {
    **_common(True),
    "abs": lambda e, x: e.intrinsic("llvm.smax", [x[0], e.sub(e.const(0, x[0]), x[0])]),
    "sign": _signed_sign,
}

UNSIGNED: dict[str, Emit] = {
    **_common(False),
    "abs": lambda e, x: x[0],
    "sign": lambda e, x: e.zext(e.icmp("ne", x[0], e.const(0, x[0])), x[0].kind),
}

# --- booleans -----------------------------------------------------------------------------------

BOOL: dict[str, Emit] = {
    "and": lambda e, x: e.and_(*x),
    "or": lambda e, x: e.or_(*x),
    "xor": lambda e, x: e.xor(*x),
    "not": lambda e, x: e.not_(*x),
    "add": lambda e, x: e.or_(*x),
    "mul": lambda e, x: e.and_(*x),
    "sub": lambda e, x: e.xor(*x),
    "max": lambda e, x: e.or_(*x),
    "min": lambda e, x: e.and_(*x),
    "clamp": lambda e, x: e.and_(e.or_(x[0], x[1]), x[2]),
    "eq": lambda e, x: e.icmp("eq", *x),
    "ne": lambda e, x: e.icmp("ne", *x),
    "lt": lambda e, x: e.icmp("ult", *x),
    "le": lambda e, x: e.icmp("ule", *x),
    "gt": lambda e, x: e.icmp("ugt", *x),
    "ge": lambda e, x: e.icmp("uge", *x),
    "eq_to": lambda e, x: e.icmp("eq", *x),
    "lt_to": lambda e, x: e.icmp("ult", *x),
    "le_to": lambda e, x: e.icmp("ule", *x),
    "select": lambda e, x: e.select(*x),
}
