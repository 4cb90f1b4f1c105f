"""The regularized incomplete beta function. f32 is computed in f64, but with fewer digits.

It is evaluated by a continued fraction (NIST Handbook of Mathematical Functions, 8.17.22) in x if x
is below the mean of the distribution, and otherwise in 1 - x. The prefactor is computed as in
DiDonato and Morris ("Algorithm 708", 1992), with Stirling's series if a and b are large, so that no
terms cancel.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant
from jitney.compiler.scalar.exponential import exp
from jitney.compiler.scalar.gamma import lgamma, log1p_less, stirling_rest
from jitney.compiler.scalar.logarithm import log, log1p
from jitney.compiler.scalar.polynomial import INF, NAN

_TWO_PI = 6.283185307179586
_STIRLING = 12.0  # the smallest argument for Stirling's series
_TOLERANCE = {"f32": 2.0**-28, "f64": 2.0**-51}
_LARGE = 2.0**100
_MOST_STEPS = 20_000.0


def betainc(e: Emitter, a: Value, b: Value, x: Value) -> Value:
    """Returns I_x(a, b); NaN if a < 0, b < 0 or x is outside [0, 1]."""
    if a.kind == "f32":
        wide = [e.fpext(v, "f64") for v in (a, b, x)]
        return e.fptrunc(_regularized(e, wide[0], wide[1], wide[2], "f32"), "f32")
    return _regularized(e, a, b, x, "f64")


def _regularized(e: Emitter, a: Value, b: Value, x: Value, kind: str) -> Value:
    zero, one, inf = e.const(0.0, a), e.const(1.0, a), e.const(INF, a)
    defined = e.and_(e.fcmp("oge", a, zero), e.fcmp("oge", b, zero))
    defined = e.and_(defined, e.and_(e.fcmp("oge", x, zero), e.fcmp("ole", x, one)))
    # The distribution is concentrated at 1 if a = inf or b = 0, and at 0 if b = inf or a = 0.
    at_one = e.or_(e.fcmp("oeq", a, inf), e.fcmp("oeq", b, zero))
    at_zero = e.or_(e.fcmp("oeq", b, inf), e.fcmp("oeq", a, zero))
    inside = e.and_(e.fcmp("ogt", x, zero), e.fcmp("olt", x, one))
    inner = e.and_(e.and_(defined, inside), e.not_(e.or_(at_one, at_zero)))
    safe = [e.select(inner, v, other) for v, other in ((a, one), (b, one), (x, e.const(0.5, a)))]

    def body(e: Emitter, xs: list[Value]) -> Value:
        return _inner(e, xs[0], xs[1], xs[2], kind)

    result = e.outline(f"betainc.{kind}", safe, a.kind, body)
    edge = e.select(inside, e.select(at_one, zero, one), x)
    defined = e.and_(defined, e.not_(e.and_(at_one, at_zero)))
    return e.select(inner, result, e.select(defined, edge, e.const(NAN, a)))


def _inner(e: Emitter, a: Value, b: Value, x: Value, kind: str) -> Value:
    """Returns I_x(a, b) for positive, finite a and b, and 0 < x < 1."""
    one = e.const(1.0, a)
    y = e.fsub(one, x)
    log_x, log_y = log(e, x), log1p(e, e.fneg(x))
    mean = e.fdiv(e.fadd(a, one), e.fadd(e.fadd(a, b), e.const(2.0, a)))
    # If b is small and x is not near 1, the complement is so close to 1 that digits would be lost.
    keeps = e.and_(e.fcmp("olt", b, e.const(0.1, a)), e.fcmp("olt", x, e.const(0.99, a)))
    swaps = e.and_(e.fcmp("ogt", x, mean), e.not_(keeps))
    a, b = e.select(swaps, b, a), e.select(swaps, a, b)
    x, y = e.select(swaps, y, x), e.select(swaps, x, y)
    log_x, log_y = e.select(swaps, log_y, log_x), e.select(swaps, log_x, log_y)
    twelve = e.const(_STIRLING, a)
    is_large = e.and_(e.fcmp("oge", a, twelve), e.fcmp("oge", b, twelve))

    def of_small(e: Emitter, xs: list[Value]) -> Value:
        return _log_power(e, xs[0], xs[1], xs[2], xs[3])

    def of_large(e: Emitter, xs: list[Value]) -> Value:
        return _log_power_of_large(e, xs[0], xs[1], xs[2], xs[3])

    safe = [e.select(is_large, one, v) for v in (a, b)]
    exponent = e.where_any(
        f"betainc.small.{kind}", e.not_(is_large), one, [*safe, log_x, log_y], of_small
    )
    safe = [e.select(is_large, v, twelve) for v in (a, b)]
    exponent = e.where_any(f"betainc.large.{kind}", is_large, exponent, [*safe, x, y], of_large)
    result = e.fmul(exp(e, exponent), _fraction(e, a, b, x, kind))
    # The result is not negative, but rounding can make the difference negative.
    other = e.maxnum(e.fsub(one, result), e.const(0.0, a))
    return e.select(swaps, other, result)


def _log_power(e: Emitter, a: Value, b: Value, log_x: Value, log_y: Value) -> Value:
    """Returns log(x^a y^b / (a B(a, b))) if at least one of a, b is small."""
    one, half = e.const(1.0, a), e.const(0.5, a)
    least, most = e.minnum(a, b), e.maxnum(a, b)
    total = e.fadd(a, b)
    # log(gamma(most + least) / gamma(most)), by the remainders of Stirling's series if `most` is
    # large
    is_large = e.fcmp("oge", most, e.const(_STIRLING, a))
    l = e.select(is_large, most, e.const(_STIRLING, a))  # noqa: E741
    ratio = e.fmul(e.fsub(l, half), log1p(e, e.fdiv(least, l)))
    ratio = e.fma(least, e.fsub(log(e, e.fadd(l, least)), one), ratio)
    ratio = e.fadd(ratio, e.fsub(stirling_rest(e, e.fadd(l, least)), stirling_rest(e, l)))
    plain = e.fsub(lgamma(e, total), lgamma(e, most))
    ratio = e.select(is_large, ratio, plain)
    power = e.fma(a, log_x, e.fmul(b, log_y))
    # a gamma(a) = gamma(a + 1), which avoids cancellation for small a
    log_scaled_gamma = e.fadd(lgamma(e, least), log(e, a))
    return e.fadd(power, e.fsub(ratio, log_scaled_gamma))


def _log_power_of_large(e: Emitter, a: Value, b: Value, x: Value, y: Value) -> Value:
    """Returns log(x^a y^b / (a B(a, b))) for large a and b."""
    total = e.fadd(a, b)
    off = e.fsub(e.fmul(b, x), e.fmul(a, y))  # (a + b) x - a
    exponent = e.fmul(a, log1p_less(e, e.fdiv(e.fmul(x, total), a), e.fdiv(off, a)))
    other = log1p_less(e, e.fdiv(e.fmul(y, total), b), e.fneg(e.fdiv(off, b)))
    exponent = e.fma(b, other, exponent)
    correction = e.fsub(stirling_rest(e, total), stirling_rest(e, a))
    exponent = e.fadd(exponent, e.fsub(correction, stirling_rest(e, b)))
    size = e.fdiv(e.fdiv(b, e.fmul(total, e.const(_TWO_PI, a))), a)
    return e.fma(e.const(0.5, a), log(e, size), exponent)


def _fraction(e: Emitter, a: Value, b: Value, x: Value, kind: str) -> Value:
    """Returns 1 / (1 + d1 / (1 + d2 / (1 + ...))), two steps per iteration."""
    zero, one, tolerance = e.const(0.0, a), e.const(1.0, a), e.const(_TOLERANCE[kind], a)

    def step(state: list[Value]) -> tuple[list[Value], Value]:
        active, m, top0, bottom0, top, bottom, before, before_that = state
        place = e.fma(m, e.const(2.0, a), a)  # a + 2 m
        for odd in (True, False):
            if odd:
                up = e.fneg(e.fmul(e.fadd(a, m), e.fadd(e.fadd(a, b), m)))
                down = e.fmul(place, e.fadd(place, one))
            else:
                m = e.fadd(m, one)
                place = e.fadd(place, e.const(2.0, a))
                up = e.fmul(m, e.fsub(b, m))
                down = e.fmul(e.fsub(place, one), place)
            d = e.fmul(e.fdiv(up, down), x)
            top0, top = top, e.fma(d, top0, top)
            bottom0, bottom = bottom, e.fma(d, bottom0, bottom)
        value = e.select(active, e.fdiv(top, bottom), before)
        change = e.fabs(e.fsub(value, before))
        change = e.fadd(change, e.fabs(e.fsub(value, before_that)))
        has_changed = e.fcmp("ogt", change, e.fabs(e.fmul(value, tolerance)))
        active = e.and_(has_changed, e.fcmp("olt", m, e.const(_MOST_STEPS, a)))
        large = e.fcmp("ogt", e.fabs(top), e.const(_LARGE, a))
        small = e.fcmp("olt", e.fabs(top), e.const(1 / _LARGE, a))
        scale = e.select(large, e.const(1 / _LARGE, a), one)
        scale = e.select(small, e.const(_LARGE, a), scale)
        scaled = [e.fmul(v, scale) for v in (top0, bottom0, top, bottom)]
        return [active, m, *scaled, value, before], e.any(active)

    start = [constant(True, "i1", a.lanes), zero, zero, one, one, one, one, zero]
    return e.repeat(start, step)[6]
