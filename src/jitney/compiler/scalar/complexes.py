"""Scalar functions of complex numbers, as pairs of values.

complex64 is computed in f64, the range and precision of which make the textbook formulas safe. The
formulas for complex128 avoid spurious overflow. Principal branches and branch cuts are those of
C99.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar import exponential, inverse_trigonometric, logarithm, trigonometric
from jitney.compiler.scalar.code import Code, Rule, named
from jitney.compiler.scalar.polynomial import INF, two_product, two_sum
from jitney.compiler.scalar_functions.declaration import ComplexFunction, Part

Pair: TypeAlias = tuple[Value, Value]
Operand: TypeAlias = Value | Pair
_LN2 = 0.6931471805599453

# --- arithmetic ---------------------------------------------------------------------------------


def _mul(e: Emitter, x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = x, y
    re = e.fsub(e.fmul(a, c), e.fmul(b, d))
    return re, e.fadd(e.fmul(a, d), e.fmul(b, c))


def _scale(e: Emitter, x: Pair, factor: Value) -> Pair:
    return e.fmul(x[0], factor), e.fmul(x[1], factor)


def div(e: Emitter, x: Pair, y: Pair) -> Pair:
    """Returns x / y."""
    (a, b), (c, d) = x, y
    # Smith's algorithm factors out the larger component of the divisor, so that its square cannot
    # overflow.
    steep = e.fcmp("olt", e.fabs(c), e.fabs(d))
    big, small = e.select(steep, d, c), e.select(steep, c, d)
    ratio = e.fdiv(small, big)
    bottom = e.fma(small, ratio, big)
    u, v = e.select(steep, b, a), e.select(steep, a, b)
    re = e.fdiv(e.fma(v, ratio, u), bottom)
    im = e.fma(e.fneg(u), ratio, v)
    im = e.fdiv(e.select(steep, e.fneg(im), im), bottom)
    return _at_the_edges(e, x, y, (re, im))


def narrow_div(e: Emitter, x: Pair, y: Pair) -> Pair:
    """Returns the quotient of numbers with components in the range of f32.

    Products and squares of such components cannot overflow.
    """
    (a, b), (c, d) = x, y
    factor = e.fdiv(e.const(1.0, c), e.fma(c, c, e.fmul(d, d)))
    re = e.fmul(e.fma(a, c, e.fmul(b, d)), factor)
    im = e.fmul(e.fsub(e.fmul(b, c), e.fmul(a, d)), factor)
    return _at_the_edges(e, x, y, (re, im))


def _at_the_edges(e: Emitter, x: Pair, y: Pair, quotient: Pair) -> Pair:
    """Returns x / y if y is 0 or if either number is infinite, and `quotient` otherwise."""
    (a, b), (c, d) = x, y
    re, im = quotient
    # Division by zero: infinite in the direction of the dividend.
    zero = e.fcmp("oeq", e.fadd(e.fabs(c), e.fabs(d)), e.const(0.0, c))
    infinite = e.copysign(e.const(INF, c), c)
    re = e.select(zero, e.fmul(infinite, a), re)
    im = e.select(zero, e.fmul(infinite, b), im)
    # Finite / infinite is zero; infinite / finite is infinite.
    x_inf, y_inf = is_infinite(e, x), is_infinite(e, y)
    zeroed = e.and_(y_inf, _is_finite(e, x))
    a1, b1, c1, d1 = (_boxed(e, part, x_inf) for part in (a, b, c, d))
    a1, b1 = e.select(zeroed, a, a1), e.select(zeroed, b, b1)
    c2, d2 = _boxed(e, c, y_inf), _boxed(e, d, y_inf)
    c1, d1 = e.select(zeroed, c2, c), e.select(zeroed, d2, d)
    special = e.or_(zeroed, e.and_(x_inf, _is_finite(e, y)))
    special = e.and_(special, e.not_(zero))
    scale = e.select(zeroed, e.const(0.0, a), e.const(INF, a))
    re1 = e.fmul(scale, e.fma(a1, c1, e.fmul(b1, d1)))
    im1 = e.fmul(scale, e.fsub(e.fmul(b1, c1), e.fmul(a1, d1)))
    return e.select(special, re1, re), e.select(special, im1, im)


def _boxed(e: Emitter, part: Value, infinite: Value) -> Value:
    """Returns `part`, a component of a number, made finite if the number is infinite.

    The component then becomes 1 if it is infinite, and otherwise 0; it keeps its sign.
    """
    one = e.fcmp("oeq", e.fabs(part), e.const(INF, part))
    size = e.select(one, e.const(1.0, part), e.const(0.0, part))
    return e.select(infinite, e.copysign(size, part), part)


def is_infinite(e: Emitter, x: Pair) -> Value:
    """Returns whether either component is infinite."""
    inf = e.const(INF, x[0])
    return e.or_(*[e.fcmp("oeq", e.fabs(v), inf) for v in x])


def _is_finite(e: Emitter, x: Pair) -> Value:
    inf = e.const(INF, x[0])
    return e.and_(*[e.fcmp("olt", e.fabs(v), inf) for v in x])


def absolute(e: Emitter, x: Pair) -> Value:
    """Returns |x|."""
    a, b = e.fabs(x[0]), e.fabs(x[1])
    less = e.fcmp("olt", a, b)
    big, small = e.select(less, b, a), e.select(less, a, b)
    ratio = e.fdiv(small, big)
    size = e.fmul(big, e.sqrt(e.fma(ratio, ratio, e.const(1.0, a))))
    size = e.select(e.fcmp("oeq", small, e.const(0.0, a)), big, size)
    return e.select(is_infinite(e, x), e.const(INF, a), size)


def narrow_absolute(e: Emitter, x: Pair) -> Value:
    """Returns |x| for components in the range of f32."""
    size = e.sqrt(e.fma(x[0], x[0], e.fmul(x[1], x[1])))
    return e.select(is_infinite(e, x), e.const(INF, size), size)


def sign(e: Emitter, x: Pair) -> Pair:
    """Returns x / |x|, or 0 if x is 0."""
    size = absolute(e, x)
    zero = e.const(0.0, size)
    none = e.fcmp("oeq", size, zero)
    re, im = (e.select(none, zero, e.fdiv(v, size)) for v in x)
    return re, im


def _reciprocal(e: Emitter, x: Pair) -> Pair:
    return div(e, (e.const(1.0, x[0]), e.const(0.0, x[0])), x)


# --- roots, exponentials, logarithms --------------------------------------------------------------


def sqrt(e: Emitter, x: Pair) -> Pair:
    """Returns the square root; the negative real axis is its branch cut."""
    re, im = x
    zero, half = e.const(0.0, re), e.const(0.5, re)
    # x is scaled to the middle of the range, so that the modulus does not overflow and no precision
    # of a subnormal component is lost.
    size = e.fadd(e.fabs(re), e.fabs(im))
    large = e.fcmp("ogt", size, e.const(2.0**1000, re))
    small = e.fcmp("olt", size, e.const(2.0**-960, re))
    one = e.const(1.0, re)
    factor = e.select(large, e.const(2.0**-60, re), e.select(small, e.const(2.0**100, re), one))
    back = e.select(large, e.const(2.0**30, re), e.select(small, e.const(2.0**-50, re), one))
    a, b = _scale(e, x, factor)
    t = e.sqrt(e.fmul(e.fadd(e.fabs(a), absolute(e, (a, b))), half))
    other = e.fdiv(e.fmul(e.fabs(b), half), t)
    right = e.fcmp("oge", re, zero)
    u = e.fmul(e.select(right, t, other), back)
    v = e.copysign(e.fmul(e.select(right, other, t), back), im)
    none = e.fcmp("oeq", size, zero)
    u, v = e.select(none, zero, u), e.select(none, im, v)
    # Infinities as in C99.
    inf = e.const(INF, re)
    im_inf = e.fcmp("oeq", e.fabs(im), inf)
    re_inf = e.fcmp("oeq", e.fabs(re), inf)
    flat = e.and_(re_inf, e.not_(im_inf))
    finite_im = e.fcmp("oeq", im, im)
    side = e.select(finite_im, zero, im)
    u = e.select(flat, e.select(right, inf, side), u)
    v = e.select(flat, e.copysign(e.select(right, side, inf), im), v)
    return e.select(im_inf, inf, u), e.select(im_inf, im, v)


def exp(e: Emitter, x: Pair) -> Pair:
    """Returns e^x."""
    re, im = x
    zero = e.const(0.0, re)
    # The exponential is applied as two factors, since it may overflow if its product with the sine
    # does not.
    half = exponential.exp(e, e.fmul(re, e.const(0.5, re)))
    u = e.fmul(e.fmul(half, trigonometric.cos(e, im)), half)
    v = e.fmul(e.fmul(half, trigonometric.sin(e, im)), half)
    # If the exponential is 0, so is the result, for any angle.
    gone = e.fcmp("oeq", re, e.const(-INF, re))
    real = e.fcmp("oeq", im, zero)
    u = e.select(gone, zero, e.select(real, e.fmul(half, half), u))
    return u, e.select(gone, zero, e.select(real, im, v))


def expm1(e: Emitter, x: Pair) -> Pair:
    """Returns e^x - 1."""
    re, im = x
    sine = trigonometric.sin(e, e.fmul(im, e.const(0.5, im)))
    less = e.fmul(e.fmul(sine, sine), e.const(-2.0, im))
    u = e.fma(exponential.expm1(e, re), trigonometric.cos(e, im), less)
    real = e.fcmp("oeq", im, e.const(0.0, im))
    gone = e.fcmp("oeq", re, e.const(-INF, re))
    u = e.select(gone, e.const(-1.0, re), e.select(real, exponential.expm1(e, re), u))
    return e.fadd(u, e.const(0.0, re)), exp(e, x)[1]  # never -0, like a difference from 1


def log(e: Emitter, x: Pair) -> Pair:
    """Returns the principal logarithm; the negative real axis is its branch cut."""
    re, im = x
    a, b = e.fabs(re), e.fabs(im)
    less = e.fcmp("olt", a, b)
    big, small = e.select(less, b, a), e.select(less, a, b)
    one, half = e.const(1.0, re), e.const(0.5, re)
    # Near the unit circle, the real part is small and is computed from |x|^2 - 1.
    excess = e.fma(small, small, e.fmul(e.fsub(big, one), e.fadd(big, one)))
    near = e.fmul(half, logarithm.log1p(e, excess))
    is_near = e.and_(e.fcmp("ogt", big, half), e.fcmp("olt", big, e.const(2.0, re)))
    ratio = e.fdiv(small, big)
    square = e.select(e.fcmp("oeq", small, e.const(0.0, re)), small, e.fmul(ratio, ratio))
    far = e.fma(half, logarithm.log1p(e, square), logarithm.log(e, big))
    far = e.select(is_infinite(e, x), e.const(INF, re), far)
    return e.select(is_near, near, far), inverse_trigonometric.atan2(e, im, re)


def log2(e: Emitter, x: Pair) -> Pair:
    """Returns the principal logarithm to base 2."""
    return _scale(e, log(e, x), e.const(1 / _LN2, x[0]))


def log1p(e: Emitter, x: Pair) -> Pair:
    """Returns the logarithm of 1 + x."""
    re, im = x
    one = e.const(1.0, re)
    moved = e.fadd(re, one)
    size = e.fadd(e.fabs(re), e.fabs(im))
    # If 1 + x is exact, its logarithm is as accurate, and the excess may be near -1.
    is_near = e.and_(e.fcmp("olt", size, one), e.fcmp("ogt", re, e.const(-0.5, re)))
    # |1 + x|^2 - 1 = 2 re + re^2 + im^2, in which terms may cancel.
    total, error = two_product(e, re, re)
    for term, low in ((e.fadd(re, re), None), two_product(e, im, im)):
        total, lost = two_sum(e, total, term)
        error = e.fadd(error, lost if low is None else e.fadd(lost, low))
    excess = e.fadd(total, error)
    near = e.fmul(e.const(0.5, re), logarithm.log1p(e, excess))
    far, angle = log(e, (moved, im))
    return e.select(is_near, near, far), angle


def power(e: Emitter, x: Pair, y: Pair) -> Pair:
    """Returns x^y = exp(y log x)."""
    u, v = exp(e, _mul(e, y, log(e, x)))
    zero, one = e.const(0.0, u), e.const(1.0, u)
    base = e.and_(e.fcmp("oeq", x[0], zero), e.fcmp("oeq", x[1], zero))
    grows = e.and_(e.fcmp("ogt", y[0], zero), e.fcmp("oeq", y[1], zero))
    none = e.and_(base, grows)
    trivial = e.and_(e.fcmp("oeq", y[0], zero), e.fcmp("oeq", y[1], zero))
    u = e.select(trivial, one, e.select(none, zero, u))
    return u, e.select(e.or_(none, trivial), zero, v)


def logistic(e: Emitter, x: Pair) -> Pair:
    """Returns 1 / (1 + exp(-x))."""
    u, v = exp(e, (e.fneg(x[0]), e.fneg(x[1])))
    return _reciprocal(e, (e.fadd(u, e.const(1.0, u)), v))


# --- circular and hyperbolic ----------------------------------------------------------------------


def sinh(e: Emitter, x: Pair) -> Pair:
    """Returns the hyperbolic sine."""
    re, im = x
    u = e.fmul(exponential.sinh(e, re), trigonometric.cos(e, im))
    v = e.fmul(exponential.cosh(e, re), trigonometric.sin(e, im))
    real = e.fcmp("oeq", im, e.const(0.0, im))
    imaginary = e.fcmp("oeq", re, e.const(0.0, re))
    return e.select(imaginary, re, u), e.select(real, im, v)


def cosh(e: Emitter, x: Pair) -> Pair:
    """Returns the hyperbolic cosine."""
    re, im = x
    u = e.fmul(exponential.cosh(e, re), trigonometric.cos(e, im))
    v = e.fmul(exponential.sinh(e, re), trigonometric.sin(e, im))
    zero = e.const(0.0, re)
    axis = e.or_(e.fcmp("oeq", im, zero), e.fcmp("oeq", re, zero))
    # On the axes it is zero, with the sign of the product.
    return u, e.select(axis, e.fmul(e.copysign(zero, re), e.copysign(e.const(1.0, re), im)), v)


def tanh(e: Emitter, x: Pair) -> Pair:
    """Returns the hyperbolic tangent."""
    re, im = x
    one, zero = e.const(1.0, re), e.const(0.0, re)
    # Kahan's formula, which uses the tangent of the imaginary part.
    bounded = e.at_least(e.at_most(re, 300.0), -300.0)
    s = exponential.sinh(e, bounded)
    t = trigonometric.tan(e, im)
    beta = e.fma(t, t, one)
    rho = e.sqrt(e.fma(s, s, one))
    bottom = e.fma(e.fmul(beta, s), s, one)
    u = e.fdiv(e.fmul(e.fmul(beta, rho), s), bottom)
    v = e.fdiv(t, bottom)
    far = e.fcmp("ogt", e.fabs(re), e.const(22.0, re))
    sine, cosine = trigonometric.sin(e, im), trigonometric.cos(e, im)
    decay = exponential.exp(e, e.fmul(e.fabs(re), e.const(-2.0, re)))
    tail = e.fmul(e.fmul(e.fmul(sine, cosine), e.const(4.0, re)), decay)
    infinite = e.fcmp("oeq", e.fabs(re), e.const(INF, re))
    # If the angle is not finite, the result is 1 at infinity, else NaN.
    no_angle = e.and_(infinite, e.fcmp("uno", sine, sine))
    tail = e.select(no_angle, e.copysign(zero, im), tail)
    limit = e.select(infinite, one, e.fadd(one, e.fsub(im, im)))
    u = e.select(far, e.copysign(limit, re), u)
    v = e.select(far, tail, v)
    # Zero components stay zero, even if the other one is NaN.
    return e.select(e.fcmp("oeq", re, zero), re, u), e.select(e.fcmp("oeq", im, zero), im, v)


def rotated(rule: Callable[[Emitter, Pair], Pair]) -> Callable[[Emitter, Pair], Pair]:
    """Returns f(x) = -i g(i x), the circular function of a hyperbolic function g = `rule`."""

    def circle(e: Emitter, x: Pair) -> Pair:
        u, v = rule(e, (e.fneg(x[1]), x[0]))
        return v, e.fneg(u)

    return circle


def cos(e: Emitter, x: Pair) -> Pair:
    """Returns the cosine, cosh(i x)."""
    return cosh(e, (e.fneg(x[1]), x[0]))


sin, tan = rotated(sinh), rotated(tanh)


def rsqrt(e: Emitter, x: Pair) -> Pair:
    """Returns 1 / sqrt(x)."""
    return _reciprocal(e, sqrt(e, x))


def exp2(e: Emitter, x: Pair) -> Pair:
    """Returns 2^x."""
    return exp(e, _scale(e, x, e.const(_LN2, x[0])))


# --- parts --------------------------------------------------------------------------------------


def evaluate(e: Emitter, fn: ComplexFunction, args: Sequence[Value]) -> tuple[Value, ...]:
    """Returns the components of a complex function, or its real result, given those of operands."""
    kind = args[0].kind
    if kind == "f64":
        wide, rule = args, named(fn.code)
    else:
        wide, rule = [e.fpext(x, "f64") for x in args], named(fn.narrow_code or fn.code)
    assert not isinstance(rule, Code)
    result = rule(e, *zip(wide[::2], wide[1::2], strict=True))
    parts = (result,) if isinstance(result, Value) else result
    return parts if kind == "f64" else tuple([e.fptrunc(x, kind) for x in parts])


def rule_of(part: Part) -> Rule:
    """Returns the rule of the table row that computes component `part`."""

    def rule(e: Emitter, *args: Value) -> Value:
        return evaluate(e, part.of, args)[part.which]

    return rule
