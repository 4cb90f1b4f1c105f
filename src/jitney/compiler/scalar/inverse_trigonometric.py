"""Inverse circular and hyperbolic functions.

The coefficients are minimax fits computed by `tools/minimax.py`.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.logarithm import log1p
from jitney.compiler.scalar.polynomial import INF, INVALID, NAN, horner

_HALF_PI = {"f32": (1.5707964, -4.3711388e-08), "f64": (1.5707963267948966, 6.123233995736766e-17)}

# (atan q / q - 1) / q^2 in q^2, |q| <= 1
_ATAN = {
    "f32": (
        -0.333333, 0.19998534, -0.14264102, 0.109515056, -0.08401576, 0.057927046,
        -0.031148667, 0.010899502, -0.0017903509,
    ),
    "f64": (
        -0.33333333333333065, 0.1999999999995108, -0.14285714282556788, 0.11111111006555645,
        -0.09090906995507593, 0.07692279759121823, -0.06666403447385257, 0.05880524393715244,
        -0.05253504069695662, 0.04722275116216861, -0.04219060011297528, 0.036639565363561,
        -0.0299002445741732, 0.021980523597773045, -0.013896571602287265, 0.007193734395787629,
        -0.0028835180934049767, 0.0008308350826056706, -0.0001520569321461359,
        1.3214801884959115e-05,
    ),
}  # fmt: skip

# (asin s / s - 1) / s^2 in s^2, |s| <= 1/2
_ASIN = {
    "f32": (0.16666752, 0.0749531, 0.045469023, 0.024185477, 0.042157054),
    "f64": (
        0.1666666666666676, 0.07499999999970873, 0.0446428571745516, 0.030381942710376083,
        0.022372214920620224, 0.017351613135485208, 0.013980807883835357, 0.011399010526275915,
        0.010779727123094393, 0.0037083116731043324, 0.021702992752049025,
        -0.0209929782230667, 0.03262494083820192,
    ),
}  # fmt: skip


def atan(e: Emitter, x: Value) -> Value:
    """Returns the arc tangent, within 2 ulp."""
    one, size = e.const(1.0, x), e.fabs(x)
    steep = e.fcmp("ogt", size, one)
    q = e.select(steep, e.fdiv(one, size), size)
    return e.copysign(_atan_of_ratio(e, q, steep), x)


def _atan_of_ratio(e: Emitter, q: Value, steep: Value) -> Value:
    """Returns atan q for q in [0, 1], or pi / 2 - atan q where `steep` is true."""
    z = e.fmul(q, q)
    p = e.fmul(e.fmul(q, z), horner(e, z, _ATAN[q.kind]))
    flat = e.fadd(q, p)
    high, low = _HALF_PI[q.kind]
    away = e.fsub(e.const(high, q), e.fsub(flat, e.const(low, q)))
    return e.select(steep, away, flat)


def atan2(e: Emitter, y: Value, x: Value) -> Value:
    """Returns the angle of the point (x, y), within 2 ulp; special cases are those of C's atan2."""
    a, b = e.fabs(x), e.fabs(y)
    steep = e.fcmp("ogt", b, a)
    low, high = e.select(steep, a, b), e.select(steep, b, a)
    # 0 / 0 is replaced by 0, inf / inf by 1.
    zero, one = e.const(0.0, x), e.const(1.0, x)
    q = e.fdiv(low, high)
    q = e.select(e.fcmp("oeq", high, zero), zero, q)
    q = e.select(e.fcmp("oeq", low, e.const(INF, x)), one, q)
    angle = _atan_of_ratio(e, q, steep)
    word = e.bits(x)
    behind = e.icmp("slt", word, e.const(0, word))
    # pi - angle, with pi as a sum of two terms.
    half, half_low = _HALF_PI[x.kind]
    back = e.fsub(e.const(2 * half, x), e.fsub(angle, e.const(2 * half_low, x)))
    angle = e.select(behind, back, angle)
    angle = e.select(e.fcmp("uno", x, y), e.const(NAN, x), angle)
    return e.copysign(angle, y)


def asin(e: Emitter, x: Value) -> Value:
    """Returns the arc sine, within 2.5 ulp; NaN outside [-1, 1]."""
    size, half = e.fabs(x), e.const(0.5, x)
    steep = e.fcmp("ogt", size, half)
    s, z = _asin_argument(e, x, size, steep)
    p = e.fmul(e.fmul(s, z), horner(e, z, _ASIN[x.kind]))
    flat = e.fadd(s, p)
    # pi / 2 - 2 asin(sqrt((1 - x) / 2))
    high, low = _HALF_PI[x.kind]
    away = e.fsub(e.const(high, x), e.fsub(e.fadd(flat, flat), e.const(low, x)))
    result = e.copysign(e.select(steep, away, flat), x)
    return e.select(e.fcmp("ogt", size, e.const(1.0, x)), e.const(INVALID, x), result)


def acos(e: Emitter, x: Value) -> Value:
    """Returns the arc cosine, within 2 ulp; NaN outside [-1, 1]."""
    size, half = e.fabs(x), e.const(0.5, x)
    steep = e.fcmp("ogt", size, half)
    s, z = _asin_argument(e, x, size, steep)
    p = e.fmul(e.fmul(s, z), horner(e, z, _ASIN[x.kind]))
    # Near 0: pi / 2 - asin x. Near 1: 2 asin(s). Near -1: pi - 2 asin(s).
    high, low = _HALF_PI[x.kind]
    signed = e.copysign(e.fadd(s, p), x)
    near = e.fsub(e.const(high, x), e.fsub(signed, e.const(low, x)))
    twice = e.fadd(s, p)
    twice = e.fadd(twice, twice)
    back = e.fsub(e.const(2 * high, x), e.fsub(twice, e.const(2 * low, x)))
    negative = e.fcmp("olt", x, e.const(0.0, x))
    return e.select(steep, e.select(negative, back, twice), near)


def _asin_argument(e: Emitter, x: Value, size: Value, steep: Value) -> tuple[Value, Value]:
    """Returns (s, s^2), where s = |x|, or s = sqrt((1 - |x|) / 2) where `steep` is true."""
    half = e.const(0.5, x)
    z = e.select(steep, e.fma(size, e.const(-0.5, x), half), e.fmul(x, x))
    return e.select(steep, e.sqrt(z), size), z


def asinh(e: Emitter, x: Value) -> Value:
    """Returns the inverse hyperbolic sine, within 3 ulp."""
    one, size = e.const(1.0, x), e.fabs(x)
    # log(|x| + sqrt(x^2 + 1)); the root is replaced by |x| for large x, since the square overflows.
    limit = e.const({"f32": 1e9, "f64": 1e18}[x.kind], x)
    large = e.fcmp("ogt", size, limit)
    square = e.fmul(size, size)
    root = e.sqrt(e.fma(size, size, one))
    # sqrt(x^2 + 1) - 1, without cancellation
    excess = e.fdiv(square, e.fadd(root, one))
    near = log1p(e, e.select(large, size, e.fadd(size, excess)))
    result = e.select(large, e.fadd(near, e.const(0.6931471805599453, x)), near)
    return e.copysign(result, x)


def acosh(e: Emitter, x: Value) -> Value:
    """Returns the inverse hyperbolic cosine, within 3 ulp; NaN below 1."""
    one = e.const(1.0, x)
    limit = e.const({"f32": 1e5, "f64": 1e10}[x.kind], x)
    large = e.fcmp("ogt", x, limit)
    t = e.fsub(x, one)
    # log(1 + t + sqrt(2 t + t^2))
    root = e.sqrt(e.fma(t, t, e.fadd(t, t)))
    near = log1p(e, e.select(large, t, e.fadd(t, root)))
    result = e.select(large, e.fadd(near, e.const(0.6931471805599453, x)), near)
    return e.select(e.fcmp("olt", x, one), e.const(INVALID, x), result)


def atanh(e: Emitter, x: Value) -> Value:
    """Returns the inverse hyperbolic tangent, within 3 ulp; infinite at -1 and 1, NaN outside."""
    one, size = e.const(1.0, x), e.fabs(x)
    # log((1 + x) / (1 - x)) / 2 = log(1 + 2 x / (1 - x)) / 2
    ratio = e.fdiv(e.fadd(size, size), e.fsub(one, size))
    result = e.fmul(log1p(e, ratio), e.const(0.5, x))
    return e.select(e.fcmp("ogt", size, one), e.const(INVALID, x), e.copysign(result, x))
