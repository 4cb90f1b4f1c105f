"""Building blocks of math functions: polynomials, rounding by a magic number, powers of two.

The functions in this module, and in the modules of math functions, work on `f32` and `f64` values
with any number of lanes. They handle all IEEE 754 special cases unless stated otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import BITS, Value, constant

INF = float("inf")
NAN = float("nan")
# The result outside of a domain: the default NaN of x86 processors, as in NumPy's functions. Its
# sign determines its position in `top_k`.
INVALID = -NAN

# The explicit bits of the mantissa, and the exponent bias.
MANTISSA = {"f32": 23, "f64": 52}
BIAS = {"f32": 127, "f64": 1023}


def horner(e: Emitter, x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluates a polynomial in x; the coefficients start with the constant term.

    It uses Horner's rule, which has the fewest operations. Kernels have many elements in flight, so
    latency matters less.
    """
    result = e.const(coefficients[-1], x)
    for c in reversed(coefficients[:-1]):
        result = e.fma(result, x, e.const(c, x))
    return result


def magic(kind: str) -> float:
    """Returns a constant whose sum with x has round(x) in its low bits, |x| < 2^(mantissa - 2)."""
    return 1.5 * 2.0 ** MANTISSA[kind]


def rounded_product(e: Emitter, x: Value, factor: float) -> tuple[Value, Value]:
    """Returns (shifted, n), where n = round(x * factor) is a float, and shifted = n + magic.

    The low bits of `shifted` contain n as an integer.
    """
    offset = e.const(magic(x.kind), x)
    shifted = e.fma(x, e.const(factor, x), offset)
    return shifted, e.fsub(shifted, offset)


def int_kind(x: Value) -> str:
    """Returns the integer kind as wide as `x`."""
    return f"i{BITS[x.kind]}"


def high_bits(e: Emitter, shifted: Value, left: int) -> Value:
    """Returns the low bits of `shifted`, shifted left by `left` bits: n << left."""
    word = e.bits(shifted)
    return e.shl(word, e.const(left, word))


def power_of_two(e: Emitter, shifted: Value, offset: int = 0) -> Value:
    """Returns 2^(n + offset) for the n in `shifted`; it must be a normal number."""
    mantissa, kind = MANTISSA[shifted.kind], shifted.kind
    word = high_bits(e, shifted, mantissa)
    return e.bitcast(e.add(word, e.const((BIAS[kind] + offset) << mantissa, word)), kind)


def _has_scalef(e: Emitter, x: Value) -> bool:
    return (
        "avx512f" in e.target.features
        and "avx512vl" in e.target.features
        and BITS[x.kind] * x.lanes in (128, 256, 512)
    )


def _avx512(e: Emitter, name: str, x: Value, args: list[Value]) -> Value:
    """Emits a call of a masked AVX-512 intrinsic with all lanes active."""
    width = BITS[x.kind] * x.lanes
    mask_bits = "i8" if x.lanes <= 8 else "i16"
    extra = [constant(4, "i32")] if width == 512 else []
    suffix = "ps" if x.kind == "f32" else "pd"
    args = [*args, constant(-1, mask_bits), *extra]
    full = f"llvm.x86.avx512.mask.{name}.{suffix}.{width}"
    return e.intrinsic(full, args, x.kind, x.lanes, overload=())


def scaled(e: Emitter, x: Value, shifted: Value, n: Value, offset: int = 0) -> Value:
    """Returns x * 2^(n + offset), rounded once, for x in [1/2, 2).

    Results can overflow to infinity and underflow to 0. `shifted` and `n` are results of
    `rounded_product`. n + offset must be in [-190, 130] for f32 and in [-1086, 1026] for f64, and
    |offset| must be at most 64.
    """
    if _has_scalef(e, x):
        if offset:
            n = e.fadd(n, e.const(float(offset), n))
        return _avx512(e, "scalef", x, [x, n, x])
    # The power is split into two factors, of which the first leaves the product normal.
    # Multiplications propagate NaN.
    mantissa, kind = MANTISSA[x.kind], x.kind
    low = e.fcmp("olt", n, e.const(0.0, n))
    word = high_bits(e, shifted, mantissa)
    up = e.const((BIAS[kind] + 64 + offset) << mantissa, word)
    down = e.const((BIAS[kind] - 2 + offset) << mantissa, word)
    first = e.bitcast(e.add(word, e.select(low, up, down)), kind)
    second = e.select(low, e.const(2.0**-64, x), e.const(4.0, x))
    return e.fmul(e.fmul(x, first), second)


def split_exponent(e: Emitter, x: Value) -> tuple[Value, Value]:
    """Returns floats (m, n) with x = m * 2^n and m in [3/4, 3/2), for x > 0, including subnormal x.

    On targets with instructions for it (`exact_split`), n is -inf if x is 0, n is inf and m is
    finite if x is inf, and m is NaN if x is negative or NaN. On other targets, m and n are
    arbitrary in these cases.
    """
    if _has_scalef(e, x):
        # Immediate: mantissa in [3/4, 3/2) (3), NaN for negative operands (2 << 2).
        m = _avx512(e, "getmant", x, [x, constant(3 | 2 << 2, "i32"), x])
        n = e.fsub(_avx512(e, "getexp", x, [x, x]), _avx512(e, "getexp", x, [m, m]))
        return m, n
    mantissa, kind = MANTISSA[x.kind], x.kind
    tiny = e.fcmp("olt", x, e.const(2.0 ** (1 - BIAS[kind]), x))
    raised = e.fmul(x, e.const(2.0**mantissa * 4, x))
    word = e.bits(e.select(tiny, raised, x))
    base = (BIAS[kind] << mantissa) - (1 << (mantissa - 1))
    word = e.sub(word, e.const(base, word))
    n = e.ashr(word, e.const(mantissa, word))
    m = e.add(e.sub(word, e.shl(n, e.const(mantissa, n))), e.const(base, word))
    power = e.sitofp(n, kind)
    shift = e.select(tiny, e.const(float(mantissa + 2), x), e.const(0.0, x))
    return e.bitcast(m, kind), e.fsub(power, shift)


def exact_split(e: Emitter, x: Value) -> bool:
    """Returns whether `split_exponent` handles zeros, infinities and NaN."""
    return _has_scalef(e, x)


def two_sum(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """Returns (s, t) with s = a + b rounded, and s + t = a + b exactly."""
    s = e.fadd(a, b)
    b_virtual = e.fsub(s, a)
    return s, e.fadd(e.fsub(a, e.fsub(s, b_virtual)), e.fsub(b, b_virtual))


def quick_two_sum(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """Returns the same as `two_sum` if |a| >= |b| or a = 0."""
    s = e.fadd(a, b)
    return s, e.fadd(e.fsub(a, s), b)


def two_product(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """Returns (p, q) with p = a * b rounded, and p + q = a * b exactly.

    The sum is not exact if the product overflows or if the product or q underflows.
    """
    p = e.fmul(a, b)
    if e.target.has_fma:
        return p, e.fma(a, b, e.fneg(p))
    # Dekker's algorithm: products of halves of the mantissa are exact.
    a1, a0 = _halves(e, a)
    b1, b0 = _halves(e, b)
    error = e.fsub(e.fmul(a1, b1), p)
    error = e.fadd(e.fadd(error, e.fmul(a1, b0)), e.fmul(a0, b1))
    return p, e.fadd(error, e.fmul(a0, b0))


def _halves(e: Emitter, a: Value) -> tuple[Value, Value]:
    factor = {"f32": 4097.0, "f64": 134217729.0}[a.kind]
    wide = e.fmul(a, e.const(factor, a))
    high = e.fsub(wide, e.fsub(wide, a))
    return high, e.fsub(a, high)
