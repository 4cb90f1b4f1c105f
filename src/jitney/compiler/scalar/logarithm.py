"""log, log2 and log1p.

The argument is split into x = m 2^n with m in [3/4, 3/2), so that log x = n ln 2 + log m. The
coefficients are minimax fits computed by `tools/minimax.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.polynomial import (
    BIAS,
    INF,
    INVALID,
    MANTISSA,
    exact_split,
    horner,
    quick_two_sum,
    split_exponent,
    two_sum,
)

# ln 2 as a sum of two positive terms, so that an infinite n results in an infinite sum. The first
# one has trailing zeros.
_LN2_HIGH = {"f32": 0.693115234375, "f64": 0.6931471803691238}
_LN2_LOW = {"f32": 3.1946184945309415e-05, "f64": 1.9082149292705877e-10}
# 1 / ln 2, rounded, and its rounding error
_LOG2E_HIGH = {"f32": 1.4426950216293335, "f64": 1.4426950408889634}
_LOG2E_LOW = {"f32": 1.925963033500011e-08, "f64": 2.0355273740931033e-17}

# (log(1 + f) - f + f^2 / 2) / f^3, f in [-1/4, 1/2]
_LOG32 = (
    0.3333345, -0.25000104, 0.19990818, -0.16646971,
    0.14478269, -0.13164257, 0.10470289, -0.04512484,
)  # fmt: skip

# (2 atanh(s) / s - 2) / s^2 in s^2, |s| <= 1/5
_LOG64 = (
    0.666666666666666, 0.4000000000005668, 0.28571428555825634, 0.2222222429702564,
    0.18181665827674282, 0.1539111396098079, 0.13173558596761764, 0.13843357267589157,
)  # fmt: skip


def _log_sum(e: Emitter, f: Value, n: Value) -> Value:
    """Returns log(1 + f) + n ln 2, f in [-1/4, 1/2]."""
    high, low = e.const(_LN2_HIGH[f.kind], f), e.const(_LN2_LOW[f.kind], f)
    remainder = _log_rest(e, f, lambda x: e.fma(n, low, x))
    return e.fma(n, high, e.fadd(f, remainder))


def _log_rest(e: Emitter, f: Value, add_term: Callable[[Value], Value]) -> Value:
    """Returns log(1 + f) - f, f in [-1/4, 1/2], with `add_term` applied to one of its terms."""
    half = e.const(-0.5, f)
    square = e.fmul(f, f)
    if f.kind == "f32":
        p = e.fma(horner(e, f, _LOG32), f, half)
        return add_term(e.fmul(p, square))
    # With s = f / (2 + f): log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + (2 atanh(s) / s - 2)).
    s = e.fdiv(f, e.fadd(f, e.const(2.0, f)))
    z = e.fmul(s, s)
    half_square = e.fmul(half, square)
    p = e.fma(horner(e, z, _LOG64), z, e.fneg(half_square))
    return e.fma(s, p, add_term(half_square))


def log(e: Emitter, x: Value) -> Value:
    """Returns the natural logarithm, within 1 ulp; -inf at 0, NaN for negative x."""
    m, n = split_exponent(e, x)
    result = _log_sum(e, e.fsub(m, e.const(1.0, x)), n)
    return result if exact_split(e, x) else log_specials(e, x, result)


def log2(e: Emitter, x: Value) -> Value:
    """Returns the logarithm to base 2, within 2 ulp, exact at powers of 2.

    It is -inf at 0, NaN for negative x.
    """
    m, n = split_exponent(e, x)
    f = e.fsub(m, e.const(1.0, x))
    high, low = e.const(_LOG2E_HIGH[x.kind], x), e.const(_LOG2E_LOW[x.kind], x)
    # n + (f + remainder) / ln 2. f is exact, so the accuracy depends on its product with 1 / ln 2.
    product = e.fmul(f, high)
    lost = e.fma(f, low, e.fma(f, high, e.fneg(product)))
    total, left = quick_two_sum(e, n, product)
    remainder = _log_rest(e, f, lambda x: x)
    return log_specials(e, x, e.fadd(total, e.fadd(left, e.fma(remainder, high, lost))))


def log_specials(e: Emitter, x: Value, result: Value) -> Value:
    """Returns `result`, the logarithm of x, corrected for x = 0, inf, NaN and x < 0."""
    zero = e.const(0.0, x)
    below = e.select(e.fcmp("oeq", x, zero), e.const(-INF, x), e.const(INVALID, x))
    result = e.select(e.fcmp("ogt", x, zero), result, below)
    return e.select(e.fcmp("ueq", x, e.const(INF, x)), x, result)


def log1p(e: Emitter, x: Value) -> Value:
    """Returns log(1 + x), within 2 ulp, even near 0."""
    one = e.const(1.0, x)
    total, lost = two_sum(e, one, x)
    m, n = split_exponent(e, total)
    # The rounding error of 1 + x, scaled like m. The bits of m and of the sum differ only in the
    # exponent.
    word = e.sub(e.bits(m), e.bits(total))
    word = e.add(word, e.const(BIAS[x.kind] << MANTISSA[x.kind], word))
    # 2^-n. If it would be subnormal, which is slow, the rounding error does not matter.
    least = e.const(1 << MANTISSA[x.kind], word)
    inverse = e.bitcast(e.intrinsic("llvm.smax", [word, least]), x.kind)
    f = e.fma(lost, inverse, e.fsub(m, one))
    result = _log_sum(e, f, n)
    # The rounding error is NaN for infinite and NaN sums and for -1, and -0.0 has become +0.0.
    result = e.copysign(result, x)
    result = e.select(e.fcmp("oeq", x, e.const(-1.0, x)), e.const(-INF, x), result)
    result = e.select(e.fcmp("ueq", x, e.const(INF, x)), x, result)
    return e.select(e.fcmp("olt", x, e.const(-1.0, x)), e.const(INVALID, x), result)
