"""lgamma and digamma, and helpers of other special functions. f32 is computed in f64.

The coefficients are minimax fits computed by `tools/minimax.py`.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.logarithm import log
from jitney.compiler.scalar.polynomial import INF, NAN, horner
from jitney.compiler.scalar.trigonometric import circular_of_half_turns

_PI = 3.141592653589793
_LOG_PI = 1.1447298858494002
_HALF_LOG_TWO_PI = 0.9189385332046728

# lgamma(1 + u) / (u (u - 1)), u in [-1/4, 2]; the coefficients are positive, so nothing cancels
_NEAR_TOP = (
    0.5772156649015329, 1.803436518452477, 2.1928268085008593, 1.3109880258271938,
    0.4009138030864728, 0.05918813116730755, 0.003535160766538804, 5.330258945214783e-05,
)  # fmt: skip
_NEAR_BOTTOM = (
    1.0, 3.5492589885351475, 5.0377239282171535, 3.655421914339789, 1.4393614950974314,
    0.30149947049620396, 0.030625004986677112, 0.0012181367186057579, 1.0800644116011225e-05,
)  # fmt: skip

# lgamma(3 + u), u in [0, 9]
_MIDDLE_TOP = (
    0.6931471805599453, 1.6039472201457683, 1.3622075046575735, 0.559262190879832,
    0.12092466190336344, 0.013840902483720828, 0.0007902010855990827, 1.9375647517205253e-05,
    1.407768022160492e-07,
)  # fmt: skip
_MIDDLE_BOTTOM = (
    1.0, 0.9827103162953559, 0.37208661111219493, 0.06858462342572574, 0.006415283935493121,
    0.00028923790728455426, 5.357382942805158e-06, 2.6377720764642654e-08,
    -1.1476361926523401e-11,
)  # fmt: skip

# (lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)) x in x^-2, x >= 12
_FAR = (
    0.08333333333333327, -0.0027777777773620557, 0.0007936503167578888,
    -0.0005950451997169843, 0.000809654859024241,
)  # fmt: skip

# (log x - 1 / (2 x) - digamma(x)) x^2 in x^-2, x >= 10
_DIGAMMA = (
    0.08333333333333276, -0.008333333332213139, 0.003968253237770457, -0.004166446823205172,
    0.007542062157782994, -0.01850575767945529,
)  # fmt: skip


def lgamma(e: Emitter, x: Value) -> Value:
    """Returns log |gamma(x)|; infinite at poles.

    Accuracy: within 4 ulp for x > 0; for x < 0, the error is at most 1e-15 times (1 + |result|).
    """
    if x.kind == "f32":
        return e.fptrunc(lgamma(e, e.fpext(x, "f64")), "f32")
    size = e.fabs(x)
    above = e.fcmp("ogt", x, e.const(-0.25, x))
    result = _lgamma_of_size(e, size, e.select(above, x, size))

    def mirrored(e: Emitter, xs: list[Value]) -> Value:
        # log(pi / |x sin(pi x)|) - lgamma(|x|)
        x, size, result = xs
        sine, cosine, quadrant = circular_of_half_turns(e, x)
        odd = e.icmp("ne", e.and_(quadrant, e.const(1, quadrant)), e.const(0, quadrant))
        wave = e.fabs(e.select(odd, cosine, sine))
        return e.fsub(e.fsub(e.const(_LOG_PI, x), log(e, e.fmul(size, wave))), result)

    below = e.fcmp("ole", x, e.const(-0.25, x))
    result = e.where_any("lgamma.mirrored", below, result, [x, size, result], mirrored)
    pole = e.and_(e.fcmp("ole", x, e.const(0.0, x)), e.fcmp("oeq", e.trunc_float(x), x))
    pole = e.or_(pole, e.fcmp("oeq", size, e.const(INF, x)))
    return e.select(pole, e.const(INF, x), result)


def _lgamma_of_size(e: Emitter, size: Value, x: Value) -> Value:
    """Returns log |gamma(x)| for x > -1/4 and |x| = size.

    Operands are selected before the division, which is expensive, so that there is only one.
    """
    one, log_size = e.const(1.0, x), log(e, size)
    is_small = e.fcmp("olt", size, e.const(0.75, x))  # lgamma(1 + x) - log |x|
    is_near = e.fcmp("olt", size, e.const(3.0, x))
    u = e.select(is_small, x, e.fsub(size, one))
    v = e.fsub(size, e.const(3.0, x))
    top = e.select(is_near, horner(e, u, _NEAR_TOP), horner(e, v, _MIDDLE_TOP))
    bottom = e.select(is_near, horner(e, u, _NEAR_BOTTOM), horner(e, v, _MIDDLE_BOTTOM))
    middle = e.fdiv(top, bottom)
    near = _with_roots(e, u, middle)
    correction = e.fadd(stirling_rest(e, size), e.const(_HALF_LOG_TWO_PI - 0.5, x))
    far = e.fma(e.fsub(size, e.const(0.5, x)), e.fsub(log_size, one), correction)
    result = e.select(e.fcmp("olt", size, e.const(12.0, x)), middle, far)
    near = e.select(is_small, e.fsub(near, log_size), near)
    return e.select(is_near, near, result)


def log_gamma_near_1(e: Emitter, u: Value) -> Value:
    """Returns lgamma(1 + u) for u in [-1/4, 2]."""
    ratio = e.fdiv(horner(e, u, _NEAR_TOP), horner(e, u, _NEAR_BOTTOM))
    return _with_roots(e, u, ratio)


def _with_roots(e: Emitter, u: Value, ratio: Value) -> Value:
    """Returns u (u - 1) ratio, which is exactly 0 at u = 1, and +0.0 at u = 0."""
    result = e.fmul(e.fmul(u, e.fsub(u, e.const(1.0, u))), ratio)
    return e.fadd(result, e.const(0.0, u))


def stirling_rest(e: Emitter, x: Value) -> Value:
    """Returns lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2) for x >= 12."""
    inverse = e.fdiv(e.const(1.0, x), x)
    return e.fmul(inverse, horner(e, e.fmul(inverse, inverse), _FAR))


def log1p_less(e: Emitter, y: Value, mu: Value) -> Value:
    """Returns log(y) - mu, where mu = y - 1 can be more accurate than y."""
    s = e.fdiv(mu, e.fadd(mu, e.const(2.0, y)))
    square = e.fmul(s, s)
    series = horner(e, square, [2.0 / (2 * k + 3) for k in range(12)])
    close = e.fma(e.fmul(s, square), series, e.fneg(e.fmul(mu, s)))
    far = e.fsub(log(e, y), mu)
    return e.select(e.fcmp("olt", e.fabs(mu), e.const(0.35, y)), close, far)


def digamma(e: Emitter, x: Value) -> Value:
    """Returns the derivative of lgamma; -inf at 0, NaN at other poles.

    Accuracy: the error is at most 2e-15 times (1 + |result|).
    """
    if x.kind == "f32":
        return e.fptrunc(digamma(e, e.fpext(x, "f64")), "f32")
    zero, one = e.const(0.0, x), e.const(1.0, x)
    # digamma(x) = digamma(1 - x) - pi / tan(pi x)
    negative = e.fcmp("olt", x, zero)
    y = e.select(negative, e.fsub(one, x), x)
    # digamma(y) = digamma(y + 10) - sum of 1 / (y + k), evaluated as a single fraction
    low = e.fcmp("olt", y, e.const(10.0, x))
    start = e.select(low, y, one)
    top, bottom = one, start
    for k in range(1, 10):
        factor = e.fadd(start, e.const(float(k), x))
        top = e.fma(top, factor, bottom)
        bottom = e.fmul(bottom, factor)
    shift = e.select(low, e.fdiv(top, bottom), zero)
    y = e.select(low, e.fadd(y, e.const(10.0, x)), y)
    inverse = e.fdiv(one, y)
    z = e.fmul(inverse, inverse)
    correction = e.fma(inverse, e.const(0.5, x), e.fmul(z, horner(e, z, _DIGAMMA)))
    result = e.fsub(e.fsub(log(e, y), correction), shift)

    def mirrored(e: Emitter, xs: list[Value]) -> Value:
        x, result = xs
        sine, cosine, quadrant = circular_of_half_turns(e, x)
        odd = e.icmp("ne", e.and_(quadrant, e.const(1, quadrant)), e.const(0, quadrant))
        cotangent = e.fdiv(e.select(odd, e.fneg(sine), cosine), e.select(odd, cosine, sine))
        return e.fma(e.const(-_PI, x), cotangent, result)

    result = e.where_any("digamma.mirrored", negative, result, [x, result], mirrored)
    pole = e.and_(e.fcmp("ole", x, zero), e.fcmp("oeq", e.trunc_float(x), x))
    at_pole = e.select(e.fcmp("oeq", x, zero), e.const(-INF, x), e.const(NAN, x))
    return e.select(pole, at_pole, result)
