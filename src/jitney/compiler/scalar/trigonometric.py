"""sin, cos and tan, accurate for all finite arguments.

Moderate arguments are reduced in vector registers to x = n pi + r, with pi as a sum of three or
four terms (Cody and Waite). Lanes with larger arguments call, one by one, a scalar function that
multiplies by the relevant bits of 2 / pi (Payne and Hanek). The coefficients are minimax fits
computed by `tools/minimax.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant
from jitney.compiler.scalar.polynomial import (
    MANTISSA,
    high_bits,
    horner,
    int_kind,
    magic,
    rounded_product,
    two_product,
    two_sum,
)

_PI = 3.141592653589793
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17)

# pi / 2 as a sum of terms, which also represents pi if doubled. With fused multiply-add, the terms
# have full mantissas; otherwise they have trailing zeros, so that products with n are exact.
_PARTS_FUSED = {
    "f32": (1.570796251296997, 7.549789415861596e-08, 5.390302953474238e-15),
    "f64": (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32),
}
_PARTS = {
    "f32": (1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.5633440682570896e-12),
    "f64": (
        1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32,
    ),
}  # fmt: skip

# The largest |x| for which reduction by this sum is accurate.
_LIMIT_FUSED = {"f32": 1e5, "f64": 3e7}
_LIMIT = {"f32": 1e4, "f64": 1e6}

# (sin r / r - 1) / r^2 in r^2, |r| <= pi / 2
_SIN = {
    "f32": (-0.1666666, 0.008333069, -0.0001980977, 2.6060602e-06),
    "f64": (
        -0.16666666666666666, 0.008333333333333207, -0.00019841269841212487,
        2.7557319211572345e-06, -2.505210690479988e-08, 1.6058941025774133e-10,
        -7.643020068413922e-13, 2.7214274958932688e-15,
    ),
}  # fmt: skip

# The same, and (cos r - 1 + r^2 / 2) / r^4, in r^2, |r| <= pi / 4
_SIN_QUARTER = (
    -0.1666666666666663, 0.00833333333332189, -0.00019841269829420926,
    2.75573135658638e-06, -2.505073935163024e-08, 1.5895752703815336e-10,
)  # fmt: skip
_COS_QUARTER = (
    0.041666666666666595, -0.0013888888888873325, 2.48015872889815e-05,
    -2.755731420859804e-07, 2.0875703947142404e-09, -1.1358660236688881e-11,
)  # fmt: skip

# (tan r / r - 1) / r^2 in r^2, |r| <= pi / 4
_TAN32 = (
    0.3333335, 0.13332674, 0.05405921, 0.02128414, 0.010833932, 8.880272e-05, 0.004377879,
)  # fmt: skip

# The first 1280 bits of 2 / pi.
_TWO_OVER_PI = (
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c"
    "fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08"
    "56033046fc7b6babf0cfbc209af4361d"
)


def _parts(e: Emitter, x: Value) -> tuple[float, ...]:
    return (_PARTS_FUSED if e.target.has_fma else _PARTS)[x.kind]


def _is_big(e: Emitter, x: Value) -> Value:
    limit = (_LIMIT_FUSED if e.target.has_fma else _LIMIT)[x.kind]
    return e.fcmp("ogt", e.fabs(x), e.const(limit, x))


def _less_multiple(e: Emitter, x: Value, n: Value, factor: float = 1.0) -> Value:
    """Returns x - n factor pi / 2, where `factor` is a power of two."""
    for part in _parts(e, x):
        x = e.fma(n, e.const(-part * factor, x), x)
    return x


def _sine_of_rest(e: Emitter, r: Value, flip: Value) -> Value:
    """Returns sin r, negated in lanes in which the sign bit of the integer `flip` is set."""
    size = e.fabs(r)
    z = e.fmul(r, r)
    result = e.fma(e.fmul(size, z), horner(e, z, _SIN[r.kind]), size)
    # Rounding must not result in more than 1.
    result = e.at_most(result, 1.0)
    return e.copysign(result, e.bitcast(e.xor(e.bits(r), flip), r.kind))


def sin(e: Emitter, x: Value) -> Value:
    """Returns the sine, within 2 ulp; NaN at infinity."""
    shifted, n = rounded_product(e, x, 1 / _PI)
    r = _less_multiple(e, x, n, 2.0)
    usual = _sine_of_rest(e, r, high_bits(e, shifted, 31 if x.kind == "f32" else 63))
    return _unless_big(e, "sin", x, usual, lambda e, s, c, q: _pick(e, s, c, q, 0))


def cos(e: Emitter, x: Value) -> Value:
    """Returns the cosine, within 2 ulp; NaN at infinity."""
    # x = (2 n + 1) pi / 2 + r, so that r is small if the cosine is small.
    offset = e.const(magic(x.kind), x)
    turns = e.fma(x, e.const(1 / _PI, x), e.const(-0.5, x))
    shifted = e.fadd(turns, offset)
    n = e.fsub(shifted, offset)
    odd = e.fadd(e.fadd(n, n), e.const(1.0, x))
    r = _less_multiple(e, x, odd)
    sign = high_bits(e, shifted, 31 if x.kind == "f32" else 63)
    usual = _sine_of_rest(e, r, e.not_(sign))
    return _unless_big(e, "cos", x, usual, lambda e, s, c, q: _pick(e, s, c, q, 1))


def tan(e: Emitter, x: Value) -> Value:
    """Returns the tangent, within 3 ulp; NaN at infinity."""
    shifted, n = rounded_product(e, x, 2 / _PI)
    quadrant = e.bits(shifted)
    if x.kind == "f32":
        r = _less_multiple(e, x, n)
        z = e.fmul(r, r)
        sine = e.fma(e.fmul(r, z), horner(e, z, _TAN32), r)
        cosine = e.const(1.0, x)
    else:
        sine, cosine = _sine_and_cosine(e, *_less_multiple_exactly(e, x, n))
    usual = e.select(e.fcmp("oeq", x, e.const(0.0, x)), x, _tangent(e, sine, cosine, quadrant))
    return _unless_big(e, "tan", x, usual, _tangent)


def _less_multiple_exactly(e: Emitter, x: Value, n: Value) -> tuple[Value, Value]:
    """Returns x - n pi / 2 as a sum of two terms."""
    first, *others = _parts(e, x)
    high = e.fma(n, e.const(-first, x), x)
    low = e.const(0.0, x)
    for part in others:
        product, product_error = two_product(e, n, e.const(-part, x))
        high, lost = two_sum(e, high, product)
        low = e.fadd(low, e.fadd(lost, product_error))
    return high, low


def _tangent(e: Emitter, sine: Value, cosine: Value, quadrant: Value) -> Value:
    odd = e.icmp("ne", e.and_(quadrant, e.const(1, quadrant)), e.const(0, quadrant))
    top = e.select(odd, e.fneg(cosine), sine)
    return e.fdiv(top, e.select(odd, sine, cosine))


def _sine_and_cosine(e: Emitter, r: Value, low: Value) -> tuple[Value, Value]:
    """Returns the f64 (sin, cos) of r + low, |r| <= pi / 4."""
    z = e.fmul(r, r)
    sine = e.fmul(e.fmul(r, z), horner(e, z, _SIN_QUARTER))
    # sin(r + low) = sin r + low cos r, and cos r = 1 - z / 2 is accurate enough here.
    half_z = e.fmul(z, e.const(0.5, z))
    sine = e.fadd(r, e.fadd(sine, e.fma(e.fneg(half_z), low, low)))
    one = e.const(1.0, z)
    near = e.fsub(one, half_z)
    lost = e.fsub(e.fsub(one, near), half_z)
    correction = e.fma(e.fmul(z, z), horner(e, z, _COS_QUARTER), lost)
    return sine, e.fadd(near, e.fma(e.fneg(r), low, correction))


def circular_of_half_turns(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """Returns the f64 (sin r, cos r, quadrant) with pi x = quadrant pi / 2 + r."""
    # x - 2 k in [-1, 1], computed exactly, is the same angle.
    half = e.roundeven(e.fmul(x, e.const(0.5, x)))
    x = e.fsub(x, e.fadd(half, half))
    shifted, n = rounded_product(e, x, 2.0)
    x = e.fma(n, e.const(-0.5, x), x)
    high, low = (e.const(2.0 * part, x) for part in _HALF_PI)
    r, lost = two_product(e, x, high)
    return *_sine_and_cosine(e, r, e.fma(x, low, lost)), e.bits(shifted)


def _pick(e: Emitter, sine: Value, cosine: Value, quadrant: Value, offset: int) -> Value:
    """Returns the sine of the angle in `quadrant` + `offset`."""
    quadrant = e.add(quadrant, e.const(offset, quadrant))
    odd = e.icmp("ne", e.and_(quadrant, e.const(1, quadrant)), e.const(0, quadrant))
    value = e.select(odd, cosine, sine)
    minus = e.icmp("ne", e.and_(quadrant, e.const(2, quadrant)), e.const(0, quadrant))
    return e.select(minus, e.fneg(value), value)


_Finish = Callable[[Emitter, Value, Value, Value], Value]


def _unless_big(e: Emitter, name: str, x: Value, usual: Value, finish: _Finish) -> Value:
    """Returns `usual`, or `finish(e, sine, cosine, quadrant)` in lanes with large x.

    In these lanes, sine and cosine are those of an exactly reduced argument.
    """

    def exactly(e: Emitter, xs: list[Value]) -> Value:
        (x,) = xs
        wide = x if x.kind == "f64" else e.fpext(x, "f64")
        r, low, quadrant = _payne_hanek(e, wide)
        result = finish(e, *_sine_and_cosine(e, r, low), quadrant)
        result = e.fadd(result, e.fsub(wide, wide))  # NaN for infinity and NaN
        return result if x.kind == "f64" else e.fptrunc(result, "f32")

    return e.where_rare(f"jitney.{name}", _is_big(e, x), usual, [x], exactly)


def _payne_hanek(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """Returns (r, low, quadrant) with x = (quadrant + 4 k) pi / 2 + r + low.

    The operand is a scalar f64, |x| >= 2^-10.
    """
    # |x| = m 2^p. Those bits of 2 / pi are skipped whose products with m 2^p are multiples of four
    # quadrants; `start` is the position of the first remaining bit in the table.
    word = e.bits(x)
    mantissa = e.and_(word, _i64((1 << MANTISSA["f64"]) - 1))
    mantissa = e.or_(mantissa, _i64(1 << MANTISSA["f64"]))
    exponent = e.and_(e.lshr(word, _i64(52)), _i64(0x7FF))
    start = e.intrinsic("llvm.smax", [e.sub(exponent, _i64(1013)), _i64(0)])
    top, middle, bottom = _load_two_over_pi(e, start)
    wide = e.zext(mantissa, "i128")
    half = constant(64, "i128")
    product = e.lshr(e.mul(wide, bottom), half)
    product = e.add(product, e.mul(wide, middle))
    product = e.add(product, e.shl(e.mul(wide, top), half))
    # The product has two bits of quadrant and 126 bits of fraction. Rounding to the nearest
    # quadrant leaves a signed fraction.
    nearest = e.add(product, constant(1 << 125, "i128"))
    quadrant = e.lshr(nearest, constant(126, "i128"))
    fraction = e.sub(product, e.shl(quadrant, constant(126, "i128")))
    negative = e.icmp("slt", fraction, constant(0, "i128"))
    size = e.select(negative, e.sub(constant(0, "i128"), fraction), fraction)
    high, low = _fraction_as_floats(e, size)
    first, second = (constant(part, "f64") for part in _HALF_PI)
    r, lost = two_product(e, high, first)
    r_low = e.fadd(lost, e.fadd(e.fmul(high, second), e.fmul(low, first)))
    minus = e.icmp("slt", word, _i64(0))
    flip = e.xor(minus, negative)
    quadrant = e.trunc(quadrant, int_kind(x))
    quadrant = e.select(minus, e.sub(_i64(0), quadrant), quadrant)
    r, r_low = (e.select(flip, e.fneg(v), v) for v in (r, r_low))
    return r, r_low, quadrant


def _i64(value: int) -> Value:
    return constant(value, "i64")


def _load_two_over_pi(e: Emitter, start: Value) -> list[Value]:
    """Loads three consecutive 64-bit words of 2 / pi, starting at bit `start`, each as an i128."""
    table = "jitney.two_over_pi"
    words = [0] + [int(_TWO_OVER_PI[i : i + 16], 16) for i in range(0, len(_TWO_OVER_PI), 16)]
    items = ", ".join(f"i64 {_i64(word).text}" for word in words)
    e.globals[table] = f"@{table} = internal constant [{len(words)} x i64] [{items}]"
    index, shift = e.lshr(start, _i64(6)), e.and_(start, _i64(63))
    loaded: list[Value] = []
    for k in range(4):
        at = e.emit(f"getelementptr i64, ptr @{table}, {e.add(index, _i64(k))!r}", "ptr")
        loaded.append(e.emit(f"load i64, {at!r}", "i64"))
    return [
        e.zext(e.intrinsic("llvm.fshl", [loaded[k], loaded[k + 1], shift]), "i128")
        for k in range(3)
    ]


def _fraction_as_floats(e: Emitter, size: Value) -> tuple[Value, Value]:
    """Returns f64 (high, low) whose sum is `size` 2^-126, truncated after 106 bits.

    `size` is a positive i128.
    """
    zeros = e.intrinsic("llvm.ctlz", [size, constant(1, "i1")], overload=[size])
    size = e.shl(size, zeros)
    high = e.uitofp(e.trunc(e.lshr(size, constant(75, "i128")), "i64"), "f64")
    low = e.trunc(e.lshr(size, constant(22, "i128")), "i64")
    low = e.uitofp(e.and_(low, _i64((1 << 53) - 1)), "f64")
    # high is in units of 2^(-51 - zeros).
    unit = e.sub(_i64(1023 - 51), e.trunc(zeros, "i64"))
    unit = e.bitcast(e.shl(unit, _i64(52)), "f64")
    high = e.fmul(high, unit)
    return high, e.fmul(low, e.fmul(unit, constant(2.0**-53, "f64")))
