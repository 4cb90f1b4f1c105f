"""The exponential and functions derived from it: exp, exp2, expm1, logistic, tanh, sinh, cosh.

The argument is reduced to x = n ln 2 + r, |r| <= ln 2 / 2, and a polynomial in r is multiplied by
2^n. The coefficients are minimax fits computed by `tools/minimax.py`.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.polynomial import horner, power_of_two, rounded_product, scaled

LOG2_E = 1.4426950408889634

# ln 2 as a sum of two terms. The first one has trailing zeros, so that its product with n is exact.
LN2_HIGH = {"f32": 0.693145751953125, "f64": 0.6931471803691238}
LN2_LOW = {"f32": 1.4286068203094173e-06, "f64": 1.9082149292705877e-10}

# exp x is 0 below the first and infinite above the second of these numbers.
_EXP_RANGE = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}
_EXP2_RANGE = {"f32": (-151.0, 129.0), "f64": (-1076.0, 1025.0)}

# (exp r - 1 - r) / r^2
_EXP = {
    "f32": (0.49999994, 0.16666515, 0.04166823, 0.008369383, 0.0013825436),
    "f64": (
        0.5000000000000011, 0.16666666666666427, 0.04166666666652666, 0.008333333333485252,
        0.0013888888944483177, 0.00019841269526603314, 2.4801492254553104e-05,
        2.7557568271886077e-06, 2.763054111557774e-07, 2.5005888992868985e-08,
    ),
}  # fmt: skip

# The same function, with minimal error relative to exp r - 1.
_EXPM1 = {
    "f32": (0.5, 0.16666667, 0.04166647, 0.00833319, 0.0013934572, 0.00019959903),
    "f64": (
        0.5, 0.16666666666666677, 0.041666666666666685, 0.008333333333321428,
        0.0013888888888872921, 0.00019841269886631237, 2.4801587350518728e-05,
        2.755724370266002e-06, 2.7557250302989724e-07, 2.510921427670937e-08,
        2.092233020919464e-09,
    ),
}  # fmt: skip

# (2^r - 1) / r
_EXP2 = {
    "f32": (0.6931472, 0.24022654, 0.055503562, 0.0096177375, 0.0013392713, 0.00015546454),
    "f64": (
        0.6931471805599453, 0.2402265069591014, 0.055504108664822964, 0.009618129107590708,
        0.0013333558146157143, 0.0001540353046175874, 1.5252734043128184e-05,
        1.3215432834817427e-06, 1.0177983439114628e-07, 7.074221902040993e-09,
        4.465797609406444e-10,
    ),
}  # fmt: skip

# (tanh x / x - 1) / x^2 in x^2, |x| <= 5/8
_TANH32 = (-0.3333328, 0.13331416, -0.05373794, 0.020634118, -0.005700092)

# (sinh x / x - 1) / x^2 in x^2, |x| <= 1
_SINH = {
    "f32": (0.16666667, 0.008333315, 0.00019841666, 2.789984e-06),
    "f64": (
        0.16666666666666669, 0.008333333333332969, 0.0001984126984153284,
        2.7557319129808467e-06, 2.505212694965428e-08, 1.6056993221614664e-10,
        7.766116394081623e-13,
    ),
}  # fmt: skip


def _reduced(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """Returns (shifted, n, r) with x = n ln 2 + r; see `rounded_product`."""
    shifted, n = rounded_product(e, x, LOG2_E)
    r = e.fma(n, e.const(-LN2_HIGH[x.kind], x), x)
    return shifted, n, e.fma(n, e.const(-LN2_LOW[x.kind], x), r)


def exp(e: Emitter, x: Value) -> Value:
    """Returns e^x, within 1 ulp."""
    low, high = _EXP_RANGE[x.kind]
    return exp_inside(e, e.at_least(e.at_most(x, high), low))


def exp_inside(e: Emitter, x: Value, offset: int = 0) -> Value:
    """Returns 2^offset e^x for x in, or close to, the range in which it is finite and not 0."""
    shifted, n, r = _reduced(e, x)
    return scaled(e, horner(e, r, (1.0, 1.0, *_EXP[x.kind])), shifted, n, offset)


def exp_of_sum(e: Emitter, x: Value, low: Value) -> Value:
    """Returns e^(x + low) for finite x and low below 1e-9."""
    least, most = _EXP_RANGE[x.kind]
    shifted, n, r = _reduced(e, e.at_least(e.at_most(x, most), least))
    p = horner(e, e.fadd(r, low), (1.0, 1.0, *_EXP[x.kind]))
    return scaled(e, p, shifted, n)


def exp2(e: Emitter, x: Value) -> Value:
    """Returns 2^x, within 1 ulp; exact for integers."""
    low, high = _EXP2_RANGE[x.kind]
    x = e.at_least(e.at_most(x, high), low)
    shifted, n = rounded_product(e, x, 1.0)
    p = horner(e, e.fsub(x, n), (1.0, *_EXP2[x.kind]))
    return scaled(e, p, shifted, n)


def _expm1_inside(e: Emitter, x: Value) -> Value:
    """Returns e^x - 1 for x such that e^x is normal; the result for -0.0 is +0.0."""
    shifted, _, r = _reduced(e, x)
    p = e.fma(e.fmul(r, r), horner(e, r, _EXPM1[x.kind]), r)
    # Half of the power of two is used, since the power itself overflows for the largest x.
    half = power_of_two(e, shifted, -1)
    p = e.fma(half, p, e.fsub(half, e.const(0.5, x)))
    return e.fadd(p, p)


def expm1(e: Emitter, x: Value) -> Value:
    """Returns e^x - 1, within 2 ulp, even near 0."""
    low = {"f32": -20.0, "f64": -40.0}[x.kind]
    inside = e.at_least(e.at_most(x, _EXP_RANGE[x.kind][1]), low)
    near_zero = e.fcmp("olt", e.fabs(x), e.const(2.0 ** -{"f32": 25, "f64": 54}[x.kind], x))
    return e.select(near_zero, x, _expm1_inside(e, inside))


def logistic(e: Emitter, x: Value) -> Value:
    """Returns 1 / (1 + e^-x), within 2 ulp, even if it is close to 0."""
    # e^-|x| cannot overflow.
    size = e.at_least(e.fneg(e.fabs(x)), _EXP_RANGE[x.kind][0])
    power = exp_inside(e, size)
    one = e.const(1.0, x)
    top = e.select(e.fcmp("olt", x, e.const(0.0, x)), power, one)
    return e.fdiv(top, e.fadd(one, power))


def tanh(e: Emitter, x: Value) -> Value:
    """Returns the hyperbolic tangent, within 2 ulp."""
    if x.kind == "f32":
        return _tanh32(e, x)
    twice = e.fmul(e.fabs(x), e.const(-2.0, x))
    t = _expm1_inside(e, e.at_least(twice, -40.0))
    result = e.fdiv(e.fneg(t), e.fadd(t, e.const(2.0, x)))
    near_zero = e.fcmp("olt", e.fabs(x), e.const(2.0**-28, x))
    return e.select(near_zero, x, e.copysign(result, x))


def _tanh32(e: Emitter, x: Value) -> Value:
    one, size = e.const(1.0, x), e.fabs(x)
    power = exp_inside(e, e.at_most(e.fadd(size, size), 20.0))
    big = e.fsub(one, e.fdiv(e.const(2.0, x), e.fadd(power, one)))
    z = e.fmul(x, x)
    small = e.fma(e.fmul(size, z), horner(e, z, _TANH32), size)
    near = e.fcmp("olt", size, e.const(0.625, x))
    return e.copysign(e.select(near, small, big), x)


def _half_exp(e: Emitter, size: Value) -> Value:
    """Returns e^x / 2 for x >= 0, which overflows at a larger x than e^x."""
    high = _EXP_RANGE[size.kind][1] + 1.0
    return exp_inside(e, e.at_most(size, high), -1)


def sinh(e: Emitter, x: Value) -> Value:
    """Returns the hyperbolic sine, within 2 ulp."""
    size = e.fabs(x)
    half = _half_exp(e, size)
    big = e.fsub(half, e.fdiv(e.const(0.25, x), half))
    z = e.fmul(x, x)
    small = e.fma(e.fmul(x, z), horner(e, z, _SINH[x.kind]), x)
    near = e.fcmp("olt", size, e.const(1.0, x))
    # This restores the sign of -0.0, for which the sum above is +0.0.
    return e.copysign(e.select(near, small, big), x)


def cosh(e: Emitter, x: Value) -> Value:
    """Returns the hyperbolic cosine, within 2 ulp."""
    half = _half_exp(e, e.fabs(x))
    return e.fadd(half, e.fdiv(e.const(0.25, x), half))
