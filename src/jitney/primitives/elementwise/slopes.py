"""Derivatives of asinh and of the error functions, for which simple formulas are inaccurate.

The sequences of operations are the same as in JAX 0.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.types import dtypes
from jitney.primitives import calculus, rules
from jitney.primitives.calculus import add, exp, mul, neg, sub
from jitney.primitives.elementwise.accuracy import AccuracyMode
from jitney.primitives.rules import const, factor

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Primals, Value


def strong(x: Value) -> Value:
    """Makes `x` strongly typed."""
    aval = rules.aval_of(x)
    if not aval.weak_type:
        return x
    return calculus.convert_element_type(x, new_dtype=aval.dtype)


def _as_factors(x: Value) -> Value:
    """Makes `x` strongly typed unless it is a scalar, like the constants of `rules.factor`."""
    return strong(x) if rules.shape_of(x) else x


# --- asinh ----------------------------------------------------------------------------------------


def asinh_slope(x: Value) -> Value:
    """Computes 1 / sqrt(x^2 + 1).

    Large operands are first divided by a scale s, so that no square overflows:
    (1 / s) / sqrt((x / s)^2 + (1 / s)^2). Higher derivatives treat the scale as a constant.
    """
    if rules.aval_of(x).dtype.kind == "c":
        return _complex_asinh_slope(x)
    unit = _inverse_scale(calculus.abs(x))
    scaled = mul(x, unit)
    return mul(unit, calculus.rsqrt(add(calculus.square(scaled), calculus.square(unit))))


def _inverse_scale(size: Value) -> Value:
    """Computes 1 / s for the scale s of an operand of absolute value `size`.

    The scale is 1 if `size` is at most a quarter of the square root of the largest float. Beyond
    it, the scale is proportional to `size`.
    """
    half = int(dtypes.finfo(rules.aval_of(size).dtype).maxexp) // 2
    grown = mul(size, factor(size, 2.0 ** (2 - half)))
    scale = calculus.clamp(const(size, 1), grown, factor(size, 2.0 ** (2 + half)))
    return calculus.integer_pow(calculus.stop_gradient(scale), y=-1)


def _complex_asinh_slope(z: Value) -> Value:
    """Computes 1 / sqrt(z^2 + 1): with x + i y = z / s, (z / s)^2 + 1 is x^2 + (1 - y^2) + 2 i x y.

    If the scale s is 1, this is 1 + z^2 without cancellation; otherwise 1 is negligible. At
    infinity the result is 0.
    """
    parts = calculus.real(z), calculus.imag(z)
    size = calculus.max(*map(calculus.abs, parts))
    unit = _inverse_scale(size)
    x, y = (mul(part, unit) for part in parts)
    real = add(calculus.square(x), calculus.one_minus_square(y))
    root = calculus.rsqrt(calculus.complex(real, mul(factor(x, 2), mul(x, y))))
    at_infinity = calculus.eq(size, factor(size, np.inf))
    zeros = rules.broadcast_to_result(factor(z, 0), rules.shape_of(z))
    slope = calculus.complex(mul(calculus.real(root), unit), mul(calculus.imag(root), unit))
    return calculus.select_n(at_infinity, slope, zeros)


# --- exp(-x^2) ------------------------------------------------------------------------------------

# For each dtype: a number x with exp(-x^2) = 0; the mask of the bits to keep so that the square is
# exact; and the number of terms of the series of (exp(x) - 1) / x required for the remainder.
_SPLITS: dict[type, tuple[float, np.unsignedinteger, int]] = {
    np.float32: (11, np.uint32(0xFFFFF000), 5),
    np.float64: (28, np.uint64(0xFFFFFFFFF8000000), 4),
}
_LARGEST = 28.0  # for other dtypes
_SERIES = (1, 1 / 2, 1 / 6, 1 / 24, 1 / 120)


def exp_neg_square(x: Value) -> Array:
    """Computes exp(-x^2) with a small relative error even for large x.

    A rounding error in x^2 would become a relative error x^2 times as large in the result.
    Therefore, x is split into h + l, where h has half of the bits of x: exp(-x^2) = exp(-h^2)
    exp(-l (x + h)), and h^2 is exact.
    """
    aval = rules.aval_of(x)
    jaxpr, _, consts = trace_to_jaxpr(
        _exp_neg_square, [aval], DebugInfo("exp_neg_sq", "exp_neg_sq")
    )
    (out,) = calculus.custom_jvp_call(
        x, name="exp_neg_sq", call_jaxpr=ClosedJaxpr(jaxpr, consts), jvp=_DERIVATIVE
    )
    return out


def _exp_neg_square(x: Value) -> tuple[Array]:
    dtype = rules.aval_of(x).dtype
    if dtype.type not in _SPLITS:
        return (exp(neg(calculus.square(x))),)
    largest, bits, terms = _SPLITS[dtype.type]
    size = calculus.min(calculus.abs(x), factor(x, largest))
    word = calculus.and_(calculus.bitcast_convert_type(size, new_dtype=bits.dtype), bits)
    high = calculus.bitcast_convert_type(word, new_dtype=dtype)
    low = sub(strong(size), high)
    square = mul(high, high)
    remainder = mul(low, add(strong(size), high))
    value = exp(neg(square), accuracy=AccuracyMode.HIGHEST)
    remainder = neg(remainder)
    series = calculus.polynomial(remainder, *[factor(remainder, c) for c in _SERIES[:terms]])
    return (add(value, mul(value, mul(remainder, series))),)


class _Derivative:
    """The JVP rule of exp(-x^2): slope -2 x exp(-x^2), or 0 where exp(-x^2) underflows."""

    __name__ = "_exp_neg_sq_jvp"

    def __call__(
        self, primals: Primals, tangents: Sequence[Value]
    ) -> tuple[list[Array], list[Array]]:
        (x,), (t,) = primals, tangents
        largest = _SPLITS.get(rules.aval_of(x).dtype.type, (_LARGEST,))[0]
        value = exp_neg_square(x)
        inside = calculus.lt(_as_factors(calculus.abs(x)), factor(x, largest))
        zeros = rules.broadcast_to_result(const(x, 0), rules.shape_of(x))
        kept = _as_factors(calculus.select_n(inside, zeros, x))
        slope = mul(strong(mul(factor(x, -2), kept)), value)
        return [value], [mul(slope, strong(t))]

    def __repr__(self) -> str:
        return self.__name__


_DERIVATIVE = _Derivative()
