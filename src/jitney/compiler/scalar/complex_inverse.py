"""Inverse circular and hyperbolic functions of complex numbers, as pairs of values.

They are computed by Kahan's formulas ("Branch cuts for complex elementary functions", 1987), in
which no terms cancel: square roots of 1 - z and 1 + z, with one branch cut each, followed by real
functions. Beyond 2^54 they are logarithms and angles. Branch cuts, signs of zeros, and infinities
are those of C99. The error of each component is a few ulp.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar import inverse_trigonometric as real, logarithm
from jitney.compiler.scalar.complexes import Pair, absolute, div, is_infinite, log, rotated, sqrt
from jitney.compiler.scalar.polynomial import INF

_LN2 = 0.6931471805599453
_HALF_PI = 1.5707963267948966
_FAR = 2.0**54


def _sides(e: Emitter, x: Pair) -> tuple[Pair, Pair]:
    """Returns the square roots of 1 - x and of 1 + x."""
    re, im = x
    one = e.const(1.0, re)
    return sqrt(e, (e.fsub(one, re), e.fneg(im))), sqrt(e, (e.fadd(one, re), im))


def _is_far(e: Emitter, x: Pair) -> Value:
    size = e.fadd(e.fabs(x[0]), e.fabs(x[1]))
    return e.or_(e.fcmp("ogt", size, e.const(_FAR, size)), is_infinite(e, x))


def _twice_log(e: Emitter, x: Pair) -> Value:
    """Returns log |2 x|."""
    return e.fadd(log(e, x)[0], e.const(_LN2, x[0]))


def asin(e: Emitter, x: Pair) -> Pair:
    """Returns the inverse sine, with branch cuts on the real axis beyond -1 and 1."""
    re, im = x
    (a, b), (c, d) = _sides(e, x)
    u = real.atan2(e, re, e.fsub(e.fmul(a, c), e.fmul(b, d)))
    v = real.asinh(e, e.fsub(e.fmul(a, d), e.fmul(b, c)))
    far = _is_far(e, x)
    angle = e.copysign(real.atan2(e, e.fabs(re), e.fabs(im)), re)
    u = e.select(far, angle, u)
    v = e.select(far, e.copysign(_twice_log(e, x), im), v)
    return e.select(e.fcmp("oeq", re, e.const(0.0, re)), re, u), v


def acos(e: Emitter, x: Pair) -> Pair:
    """Returns the inverse cosine, with branch cuts on the real axis beyond -1 and 1."""
    re, im = x
    (a, b), (c, d) = _sides(e, x)
    angle = real.atan2(e, a, c)
    u = e.fadd(angle, angle)
    v = real.asinh(e, e.fsub(e.fmul(c, b), e.fmul(d, a)))
    far = _is_far(e, x)
    u = e.select(far, real.atan2(e, e.fabs(im), re), u)
    v = e.select(far, e.copysign(_twice_log(e, x), e.fneg(im)), v)
    return e.select(e.fcmp("oeq", re, e.const(0.0, re)), e.const(_HALF_PI, re), u), v


def acosh(e: Emitter, x: Pair) -> Pair:
    """Returns the inverse hyperbolic cosine, with a branch cut on the real axis below 1."""
    re, im = x
    one = e.const(1.0, re)
    a, b = sqrt(e, (e.fsub(re, one), im))
    c, d = sqrt(e, (e.fadd(re, one), im))
    u = real.asinh(e, e.fadd(e.fmul(a, c), e.fmul(b, d)))
    angle = real.atan2(e, b, c)
    v = e.fadd(angle, angle)
    far = _is_far(e, x)
    u = e.select(far, _twice_log(e, x), u)
    v = e.select(far, real.atan2(e, im, re), v)
    right = e.copysign(e.const(_HALF_PI, im), im)
    return u, e.select(e.fcmp("oeq", re, e.const(0.0, re)), right, v)


def atanh(e: Emitter, x: Pair) -> Pair:
    """Returns the inverse hyperbolic tangent, with branch cuts on the real axis beyond -1 and 1."""
    re, im = x
    one, zero = e.const(1.0, re), e.const(0.0, re)
    a, b = e.fabs(re), e.fabs(im)
    one_minus_a = e.fsub(one, a)
    square = e.fma(one_minus_a, one_minus_a, e.fmul(b, b))
    u = logarithm.log1p(e, e.fdiv(e.fmul(e.const(4.0, a), a), square))
    u = e.fmul(e.const(0.25, a), u)
    # Beyond 1, the square of b may underflow, although it is the dominant term there.
    height = e.sqrt(e.fma(b, b, e.const(4.0, b)))
    over_one = e.fmul(e.const(0.5, b), logarithm.log(e, e.fdiv(height, b)))
    u = e.select(e.fcmp("oeq", a, one), over_one, u)
    v = real.atan2(e, e.fadd(b, b), e.fsub(e.fmul(one_minus_a, e.fadd(one, a)), e.fmul(b, b)))
    v = e.fmul(e.const(0.5, v), v)
    far = _is_far(e, x)
    small = e.fabs(div(e, (one, zero), x)[0])
    small = e.select(e.fcmp("oeq", absolute(e, x), e.const(INF, re)), zero, small)
    u = e.select(far, small, u)
    v = e.select(far, e.const(_HALF_PI, v), v)
    # On the imaginary axis the result is imaginary, even for NaN; on the real axis between -1 and 1
    # it is real.
    u = e.select(e.fcmp("oeq", re, zero), a, u)
    unknown = e.and_(far, e.fcmp("uno", im, im))
    v = e.select(unknown, im, v)
    return e.copysign(u, re), e.copysign(v, im)


asinh, atan = rotated(asin), rotated(atanh)
