"""The Hurwitz zeta function, and polygamma based on it. f32 is computed in f64, with fewer digits.

The Euler-Maclaurin formula (NIST Handbook of Mathematical Functions, 25.11.7) adds the first terms
of the sum, and replaces the others by the integral from w = q + n and a series of derivatives at w.
The series converges if s / w is small, and is negligible otherwise.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.exponential import exp
from jitney.compiler.scalar.gamma import digamma, lgamma
from jitney.compiler.scalar.logarithm import log
from jitney.compiler.scalar.polynomial import INF, NAN, two_sum
from jitney.compiler.scalar.powers import power

# The number of terms that are summed, and the number of derivatives.
_TERMS = {"f32": 4, "f64": 9}
_DERIVATIVES = {"f32": 5, "f64": 12}

# B(2j) / (2j)! for j = 1 to 12, where B are the Bernoulli numbers
_BERNOULLI = (
    0.08333333333333333, -0.001388888888888889, 3.306878306878307e-05, -8.267195767195768e-07,
    2.08767569878681e-08, -5.284190138687493e-10, 1.3382536530684679e-11, -3.3896802963225827e-13,
    8.586062056277845e-15, -2.174868698558062e-16, 5.50900282836023e-18, -1.3954464685812522e-19,
)  # fmt: skip


def zeta(e: Emitter, s: Value, q: Value) -> Value:
    """Returns the sum of (q + k)^-s over all k >= 0.

    It is NaN if s < 1, and infinite at poles and if s = q = 0. For q < 0, it is defined only for
    integer s.
    """
    if s.kind == "f32":
        return e.fptrunc(_zeta(e, e.fpext(s, "f64"), e.fpext(q, "f64"), "f32"), "f32")
    return _zeta(e, s, q, "f64")


def polygamma(e: Emitter, m: Value, x: Value) -> Value:
    """Returns the m-th derivative of digamma, for integer m >= 0; NaN for other m.

    It is (-1)^(m+1) m! zeta(m + 1, x) for m > 0.
    """
    if m.kind == "f32":
        return e.fptrunc(_polygamma(e, e.fpext(m, "f64"), e.fpext(x, "f64"), "f32"), "f32")
    return _polygamma(e, m, x, "f64")


def _polygamma(e: Emitter, m: Value, x: Value, kind: str) -> Value:
    zero, one = e.const(0.0, m), e.const(1.0, m)
    order = e.fadd(m, one)
    size = e.fmul(exp(e, lgamma(e, order)), _zeta(e, order, x, kind))
    value = e.select(_is_odd(e, m), size, e.fneg(size))

    def first(e: Emitter, xs: list[Value]) -> Value:
        return digamma(e, xs[0])

    value = e.where_any(f"polygamma.first.{kind}", e.fcmp("oeq", m, zero), value, [x], first)
    valid = e.and_(e.fcmp("oge", m, zero), e.fcmp("oeq", e.floor(m), m))
    return e.select(valid, value, e.const(NAN, m))


def _is_odd(e: Emitter, n: Value) -> Value:
    """Returns whether an integer-valued float is odd."""
    half = e.fmul(n, e.const(0.5, n))
    return e.fcmp("one", e.trunc_float(half), half)


def _zeta(e: Emitter, s: Value, q: Value, kind: str) -> Value:
    zero, one, inf = e.const(0.0, s), e.const(1.0, s), e.const(INF, s)
    s = e.at_most(s, 1e300)  # acts like infinity, except that 1^s is 1
    # Let q = f - m with 0 < f < 1. The terms with k >= m are those of f. The other m terms are
    # (-1)^s times those of 1 - f that are not terms of 1 - q.
    negative = e.fcmp("olt", q, zero)
    fraction = e.fsub(q, e.floor(q))
    result = _positive(e, s, e.select(negative, fraction, q), kind)

    def below(e: Emitter, xs: list[Value]) -> Value:
        s, q, f, upper = xs
        one = e.const(1.0, s)
        lower = _positive(e, s, e.fsub(one, f), kind)
        lower = e.fsub(lower, _positive(e, s, e.fsub(one, q), kind))
        return e.fadd(upper, e.select(_is_odd(e, s), e.fneg(lower), lower))

    whole = e.fcmp("oeq", e.trunc_float(s), s)
    result = e.where_any(f"zeta.below.{kind}", negative, result, [s, q, fraction, result], below)
    result = e.select(e.or_(whole, e.not_(negative)), result, e.const(NAN, s))
    pole = e.and_(e.fcmp("ole", q, zero), e.fcmp("oeq", e.trunc_float(q), q))
    result = e.select(e.fcmp("oeq", q, inf), zero, result)
    result = e.select(e.or_(pole, e.fcmp("oeq", s, one)), inf, result)
    origin = e.and_(e.fcmp("oeq", s, zero), e.fcmp("oeq", q, zero))
    small = e.and_(e.fcmp("olt", s, one), e.not_(origin))
    undefined = e.or_(small, e.fcmp("uno", s, q))
    return e.select(undefined, e.const(NAN, s), result)


def _positive(e: Emitter, s: Value, q: Value, kind: str) -> Value:
    """Returns zeta for s > 1 and q > 0."""

    def body(e: Emitter, xs: list[Value]) -> Value:
        s, q = xs
        result = _euler_maclaurin(e, s, q, kind)
        if kind == "f32":
            return result
        # q^-s underflows before the result does, but then the other terms are negligible.
        is_large = e.fcmp("oge", q, e.const(2.0**60, q))
        return e.where_any(f"zeta.integral.{kind}", is_large, result, xs, _integral)

    return e.outline(f"zeta.positive.{kind}", [s, q], s.kind, body)


def _integral(e: Emitter, xs: list[Value]) -> Value:
    """Returns the integral of x^-s from q to infinity, q^(1 - s) / (s - 1)."""
    s, q = xs
    order = e.fsub(s, e.const(1.0, s))
    return e.fdiv(power(e, q, e.fneg(order)), order)


def _euler_maclaurin(e: Emitter, s: Value, q: Value, kind: str) -> Value:
    one, terms = e.const(1.0, s), _TERMS[kind]
    w = e.fadd(q, e.const(float(terms), q))
    inverse = e.fdiv(one, w)
    # If s / w is larger than 60, all of this is less than e^-200 q^-s.
    slope = e.minnum(s, e.fmul(w, e.const(60.0, w)))
    count = _DERIVATIVES[kind]
    tail = e.const(_BERNOULLI[count - 1], s)
    for j in range(count - 1, 0, -1):
        first = e.fmul(e.fadd(slope, e.const(2.0 * j - 1, s)), inverse)
        second = e.fmul(e.fadd(slope, e.const(2.0 * j, s)), inverse)
        tail = e.fma(e.fmul(first, second), tail, e.const(_BERNOULLI[j - 1], s))
    tail = e.fma(e.fmul(slope, inverse), tail, e.const(0.5, s))
    order = e.fsub(s, one)
    # w^-s (w / (s - 1) + tail)
    total = e.fadd(tail, e.fdiv(w, order))
    total = e.fmul(total, _term(e, s, q, float(terms), kind))
    for k in range(terms - 1, -1, -1):
        total = e.fadd(total, _term(e, s, q, float(k), kind))
    return total


def _term(e: Emitter, s: Value, q: Value, k: float, kind: str) -> Value:
    """Returns (q + k)^-s; for f64, the sum q + k is exact."""

    def body(e: Emitter, xs: list[Value]) -> Value:
        rule = _power_of_sum if kind == "f64" else _few_digits
        return rule(e, xs[0], xs[1], xs[2])

    return e.outline(f"zeta.term.{kind}", [s, q, e.const(k, q)], s.kind, body)


def _few_digits(e: Emitter, s: Value, q: Value, k: Value) -> Value:
    return exp(e, e.fneg(e.fmul(s, log(e, e.fadd(q, k)))))


def _power_of_sum(e: Emitter, s: Value, q: Value, k: Value) -> Value:
    base, lost = two_sum(e, q, k)
    result = power(e, base, e.fneg(s))
    less = e.fmul(s, e.fdiv(lost, base))
    corrected = e.fsub(result, e.fmul(result, less))
    finite = e.fcmp("olt", e.fabs(less), e.const(1e-3, s))
    finite = e.and_(finite, e.fcmp("olt", result, e.const(INF, s)))
    return e.select(finite, corrected, result)
