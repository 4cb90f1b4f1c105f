"""pow, with all special cases of C99, and the logarithm of a sum of exponentials.

The coefficients are minimax fits computed by `tools/minimax.py`.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.exponential import exp, exp_of_sum
from jitney.compiler.scalar.logarithm import log1p
from jitney.compiler.scalar.polynomial import (
    INF,
    NAN,
    high_bits,
    horner,
    quick_two_sum,
    rounded_product,
    split_exponent,
    two_product,
    two_sum,
)

# log2(1 + f) / f, f in [-1/4, 1/2], and (2^r - 1) / r, by which f32 is computed in f64
_LOG2 = (
    1.4426950409106993, -0.7213475208332705, 0.4808983326168327, -0.36067365306069804,
    0.28854042922195844, -0.2404584430552272, 0.20605687932887662, -0.18000310978062328,
    0.16050147367618658, -0.14921023930114666, 0.13880951050329696, -0.10206759175305968,
    0.038004394363414344,
)  # fmt: skip
_EXP2 = (
    0.6931472083212082, 0.2402265127847375, 0.0555032381744705, 0.009618010822558018,
    0.0013401777090589254, 0.00015474624012763808,
)  # fmt: skip

# (2 atanh(s) / s - 2 - 2/3 s^2) / s^4 in s^2, |s| <= 1/5
_LOG64 = (
    0.3999999999999972, 0.2857142857157986, 0.2222222219080232, 0.1818182156580131,
    0.15384404662701018, 0.13341200705431722, 0.11591516793185923, 0.12576607065066817,
)  # fmt: skip
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
_LN2 = (0.6931471803691238, 1.9082149292705877e-10)


def power(e: Emitter, x: Value, y: Value) -> Value:
    """Returns x^y, within 1 ulp (f32) or 2 ulp (f64)."""
    size = e.fabs(x)
    zero, one = e.const(0.0, x), e.const(1.0, x)
    if x.kind == "f32":
        result = _power32(e, size, y)
    else:
        result = _power64(e, size, y)
    is_zero, is_inf = e.fcmp("oeq", size, zero), e.fcmp("oeq", size, e.const(INF, x))
    grows = e.xor(is_inf, e.fcmp("olt", y, zero))
    end = e.select(grows, e.const(INF, x), zero)
    result = e.select(e.or_(is_zero, is_inf), end, result)
    result = e.select(e.fcmp("oeq", size, one), one, result)
    # Negative bases: odd powers are negative, and the result is NaN if y is not an integer.
    half = e.fmul(y, e.const(0.5, y))
    whole = e.fcmp("oeq", e.trunc_float(y), y)
    odd = e.and_(whole, e.fcmp("one", e.trunc_float(half), half))
    word = e.bits(x)
    minus = e.and_(odd, e.icmp("slt", word, e.const(0, word)))
    result = e.select(minus, e.fneg(result), result)
    no_root = e.and_(e.fcmp("olt", x, zero), e.not_(e.or_(whole, is_inf)))
    no_number = e.or_(no_root, e.fcmp("uno", x, y))
    result = e.select(no_number, e.const(NAN, x), result)
    # 1 to any power, and any number to the power 0, is 1, even for NaN.
    trivial = e.or_(e.fcmp("oeq", x, one), e.fcmp("oeq", y, zero))
    return e.select(trivial, one, result)


_MAX_HALVES = 8


def constant_power(e: Emitter, x: Value, exponent: float) -> Value | None:
    """Returns x^exponent if the exponent is half of a small integer, else None.

    It is computed by products and a square root in doubled precision. If the exponent is negative,
    it is computed from 1/x, so that no intermediate value overflows unless the result does.

    Accuracy: within 1 ulp, or 1.5 ulp if x or the power is close to the smallest normal number.
    """
    halves = exponent * 2
    if abs(halves) not in range(_MAX_HALVES + 1):
        return None
    n = int(halves)
    if not e.target.has_fma and n not in (0, 1, 2, 4, -2):
        return None  # with low parts, it would be as slow as a general power
    if n == 0:
        return e.const(1.0, x)
    if n % 2:  # half-integer powers ignore the sign of -0 and -infinity
        x = e.fadd(x, e.const(0.0, x))
        x = e.select(e.fcmp("oeq", x, e.const(-INF, x)), e.const(INF, x), x)
    if n == -1:
        return _inverse_root(e, x)
    if n == 4:
        return e.fmul(x, x)
    if n == -2:
        return e.fdiv(e.const(1.0, x), x)
    base, base_low = (x, None) if n > 0 else _inverse(e, x)
    if n % 2 == 0:
        high, low = base, base_low
    else:
        high, low = e.sqrt(base), None
        if abs(n) > 1:
            # sqrt(b) = s + d / (2 s) with d = b - s^2; multiplied by b, which is about s^2, the
            # correction is d s / 2.
            lost = _difference_from_square(e, base, high)
            lost = lost if base_low is None else e.fadd(lost, base_low)
            correction = e.fmul(e.fmul(lost, e.const(0.5, x)), high)
            high, low = _times(e, high, None, base, base_low)
            low = e.fadd(low, correction)
    for _ in range((abs(n) - 1) // 2 - (n % 2)):
        high, low = _times(e, high, low, base, base_low)
    return high if low is None else _with_low(e, high, low)


def _with_low(e: Emitter, high: Value, low: Value) -> Value:
    """Returns high + low, or `high` if it is 0 or if an intermediate value was infinite."""
    finite = e.fcmp("oeq", e.fsub(low, low), e.const(0.0, low))
    counts = e.and_(finite, e.fcmp("one", high, e.const(0.0, high)))
    return e.select(counts, e.fadd(high, low), high)


def _times(
    e: Emitter, x: Value, x_low: Value | None, y: Value, y_low: Value | None
) -> tuple[Value, Value]:
    """Returns (x + x_low) * (y + y_low) as a (high, low) pair; None stands for a low part of 0."""
    high, low = two_product(e, x, y)
    if x_low is not None:
        low = e.fma(x_low, y, low)
    if y_low is not None:
        low = e.fma(x, y_low, low)
    return high, low


def _inverse(e: Emitter, x: Value) -> tuple[Value, Value]:
    """Returns 1 / x as (high, low) in doubled precision."""
    one = e.const(1.0, x)
    high = e.fdiv(one, x)
    product, lost = two_product(e, high, x)
    return high, e.fmul(high, e.fsub(e.fsub(one, product), lost))


def _difference_from_square(e: Emitter, x: Value, s: Value) -> Value:
    """Returns x - s^2."""
    product, lost = two_product(e, s, s)
    return e.fsub(e.fsub(x, product), lost)


def _inverse_root(e: Emitter, x: Value) -> Value:
    """Returns 1 / sqrt(x)."""
    s = e.sqrt(x)
    lost = _difference_from_square(e, x, s)
    q, low = _inverse(e, s)
    # 1 / sqrt(x) = q - d q^3 / 2, d = x - s^2
    relative = e.fmul(e.fmul(lost, q), q)
    return _with_low(e, q, e.fma(relative, e.fmul(q, e.const(-0.5, x)), low))


def _power32(e: Emitter, x: Value, y: Value) -> Value:
    """Returns x^y for positive finite x, computed in f64."""
    x, y = e.fpext(x, "f64"), e.fpext(y, "f64")
    m, n = split_exponent(e, x)
    f = e.fsub(m, e.const(1.0, x))
    logarithm = e.fma(f, horner(e, f, _LOG2), n)
    product = e.at_least(e.at_most(e.fmul(logarithm, y), 300.0), -300.0)
    shifted, n = rounded_product(e, product, 1.0)
    p = horner(e, e.fsub(product, n), (1.0, *_EXP2))
    # The range of f64 is sufficient for all relevant exponents; the conversion to f32 does the
    # rest.
    word = e.add(e.bits(p), high_bits(e, shifted, 52))
    return e.fptrunc(e.bitcast(word, "f64"), "f32")


def _power64(e: Emitter, x: Value, y: Value) -> Value:
    """Returns x^y for positive finite x, by a logarithm in doubled precision."""
    # For larger |y|, the power is 1, 0 or infinite.
    y = e.at_least(e.at_most(y, 2.0**66), -(2.0**66))
    high, low = _log_twice(e, x)
    product, lost = two_product(e, high, y)
    lost = e.fma(low, y, lost)
    return exp_of_sum(e, product, e.at_least(e.at_most(lost, 1e-10), -1e-10))


def _log_twice(e: Emitter, x: Value) -> tuple[Value, Value]:
    """Returns (high, low), whose sum is log x within 2^-63, for positive finite x."""
    m, n = split_exponent(e, x)
    one, two = e.const(1.0, x), e.const(2.0, x)
    f = e.fsub(m, one)
    # s = f / (2 + f), log m = 2 atanh s
    bottom, bottom_low = quick_two_sum(e, two, f)
    s = e.fdiv(f, bottom)
    product, lost = two_product(e, s, bottom)
    residual = e.fsub(e.fsub(e.fsub(f, product), lost), e.fmul(s, bottom_low))
    s_low = e.fdiv(residual, bottom)
    # z = s^2, p = 2/3 + z (...), each with high and low part
    z, z_low = two_product(e, s, s)
    z_low = e.fma(e.fadd(s, s), s_low, z_low)
    q = e.fmul(z, horner(e, z, _LOG64))
    p, p_low = quick_two_sum(e, e.const(_TWO_THIRDS[0], x), q)
    p_low = e.fadd(p_low, e.const(_TWO_THIRDS[1], x))
    # t = z p, u = s t
    t, t_low = two_product(e, z, p)
    t_low = e.fadd(t_low, e.fma(z, p_low, e.fmul(z_low, p)))
    u, u_low = two_product(e, s, t)
    u_low = e.fadd(u_low, e.fma(s, t_low, e.fmul(s_low, t)))
    # n ln 2 + 2 s + u
    high, sum_error = two_sum(e, e.fmul(n, e.const(_LN2[0], x)), e.fmul(s, two))
    high, u_error = two_sum(e, high, u)
    low = e.fma(s_low, two, e.fma(n, e.const(_LN2[1], x), u_low))
    low = e.fadd(low, e.fadd(sum_error, u_error))
    return quick_two_sum(e, high, low)


def log_add_exp(e: Emitter, x: Value, y: Value) -> Value:
    """Returns log(e^x + e^y) without overflow of the exponentials."""
    top = e.maximum(x, y)
    far = e.fneg(e.fabs(e.fsub(x, y)))
    result = e.fadd(top, log1p(e, exp(e, far)))
    # The difference of equal infinities is undefined.
    return e.select(e.fcmp("oeq", x, y), e.fadd(x, e.const(0.6931471805599453, x)), result)
