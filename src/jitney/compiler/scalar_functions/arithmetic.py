"""Arithmetic, rounding, comparison and selection: functions that are correctly rounded or exact.

The integer quotient of a division by 0 has all bits set; the remainder is the dividend. `max`,
`min` and `clamp` propagate NaN, and treat -0 as less than 0.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.scalar_functions import complex_edges as edges
from jitney.compiler.scalar_functions.declaration import (
    BOOL,
    ComplexArray,
    Reference,
    boolean,
    complex_of,
    complex_operands,
    declare,
    parts_of_complex,
    predicate_and_choices,
    real,
)
from jitney.compiler.scalar_functions.ufuncs import by_ufunc, halves_in_float32, with_complex
from jitney.core.types import dtypes


def _is_float(dtype: np.dtype) -> bool:
    return dtypes.issubdtype(dtype, np.floating)


def _is_integer(dtype: np.dtype) -> bool:
    return dtypes.issubdtype(dtype, np.integer)


# --- arithmetic ---------------------------------------------------------------------------------

_subtract, _divide = by_ufunc(np.subtract, light=True), by_ufunc(np.divide, light=True)


def _sub(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.bitwise_xor(x, y) if x.dtype == BOOL else _subtract(x, y)


def _div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not _is_integer(x.dtype):
        return _divide(x, y)
    zero = y == 0
    safe = np.where(zero, np.ones((), y.dtype), y)
    quotient = np.floor_divide(x - np.fmod(x, safe), safe)
    return np.where(zero, np.invert(np.zeros((), x.dtype)), quotient)


def _rem(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not _is_integer(x.dtype):
        return np.fmod(x, y)
    zero = y == 0
    return np.where(zero, x, np.fmod(x, np.where(zero, np.ones((), y.dtype), y)))


_square = edges.with_edges(by_ufunc(np.square, light=True), edges.square, is_wide=False)

declare("add", by_ufunc(np.add, light=True), operands=2, code="arithmetic.add", half="basic")
declare("sub", _sub, operands=2, code="arithmetic.sub", half="basic")
declare("mul", by_ufunc(np.multiply, light=True), operands=2, code="arithmetic.mul", half="basic")
declare(
    "div",
    edges.with_edges(_div, edges.div),
    operands=2,
    cost=4,
    code="arithmetic.div",
    half="basic",
)
declare("rem", _rem, operands=2, cost=12, code="arithmetic.rem")
declare("neg", by_ufunc(np.negative, light=True), code="arithmetic.neg", half="closed")
declare("square", _square, code="arithmetic.square", half="basic")
declare("sqrt", by_ufunc(np.sqrt, light=True), cost=6, code="arithmetic.sqrt", half="basic")


# --- signs and rounding -------------------------------------------------------------------------


def _sign(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        size = np.abs(x)
        return np.where(size == 0, x.dtype.type(0), x / np.where(size == 0, 1, size)).astype(
            x.dtype
        )
    if _is_float(x.dtype):
        # np.sign returns +0.0 for -0.0.
        return np.where(x == 0, x, np.sign(x))
    return np.sign(x)


def _round_away(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    half = np.asarray(0.5, x.dtype)
    one = np.asarray(1, x.dtype)
    increment = np.where(np.abs(x - whole) >= half, one, one - one)
    return np.copysign(np.abs(whole) + increment, x).astype(x.dtype)


def _nextafter(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(x == y, y, np.nextafter(x, y))  # NumPy returns x for equal float16 operands


def _round_to_bfloat16(x: np.ndarray) -> np.ndarray:
    return x.astype(dtypes.bfloat16).astype(x.dtype)


def _round_to_float16(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(x.dtype)


declare("abs", by_ufunc(np.abs, light=True), result=real, code="arithmetic.absolute", half="closed")
declare("sign", edges.with_edges(_sign, edges.sign), code="arithmetic.sign", half="closed")
declare("floor", by_ufunc(np.floor, light=True), code="arithmetic.floor", half="closed")
declare("ceil", by_ufunc(np.ceil, light=True), code="arithmetic.ceil", half="closed")
declare("round_even", by_ufunc(np.rint, light=True), code="arithmetic.round_even", half="closed")
declare("round_away", halves_in_float32(_round_away), code="arithmetic.round_away", half="closed")
declare("nextafter", _nextafter, operands=2, code="arithmetic.nextafter", half="own")
declare("is_finite", by_ufunc(np.isfinite, light=True), result=boolean, code="floats.is_finite")
# Rounding of float32 to 16-bit floats that kernels hold in float32 (`kernels/wide.py`).
declare("round_to_bfloat16", _round_to_bfloat16, code="casts.round_to_bfloat16")
declare("round_to_float16", _round_to_float16, code="casts.round_to_float16")


# --- order and choice ---------------------------------------------------------------------------


def _extreme(order: np.ufunc, of_zeros: Reference) -> Reference:
    """Returns `order` with a rule for zeros of different signs; NumPy returns either one."""

    def rule(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out: np.ndarray = order(x, y)
        if not _is_float(x.dtype) or out.all():
            return out
        return np.where((x == 0) & (y == 0), of_zeros(x, y), out)

    return rule


def _complex_extreme(exceeds: np.ufunc) -> Reference:
    """Returns a function that selects the operand whose (real, imaginary) exceeds the other's.

    It selects the second operand if neither exceeds the other.
    """

    def rule(x: ComplexArray, y: ComplexArray) -> np.ndarray:
        first = exceeds(x.real, y.real) | ((x.real == y.real) & exceeds(x.imag, y.imag))
        return np.where(first, x, y)

    return rule


def _lesser_zero(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -(-x - y)  # -0.0 if either zero is


_maximum = with_complex(_extreme(np.maximum, np.add), _complex_extreme(np.greater))
_minimum = with_complex(_extreme(np.minimum, _lesser_zero), _complex_extreme(np.less))


def _clamp(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> np.ndarray:
    return _minimum(_maximum(low, x), high)


declare("max", _maximum, operands=2, code="arithmetic.maximum", half="closed")
declare("min", _minimum, operands=2, code="arithmetic.minimum", half="closed")
declare("clamp", _clamp, operands=3, code="arithmetic.clamp", half="closed")
declare(
    "select",
    np.where,
    operands=3,
    accepts=predicate_and_choices,
    code="arithmetic.select",
    half="closed",
)


def _ordered(x: np.ndarray) -> np.ndarray:
    """Returns integers in the total order of the floats `x`."""
    if not _is_float(x.dtype):
        return x
    kind = np.dtype(f"int{x.dtype.itemsize * 8}")
    word = np.ascontiguousarray(x).view(kind).reshape(x.shape)
    return np.where(word < 0, np.invert(word) ^ np.asarray(np.iinfo(kind).min, kind), word)


def _total(order: np.ufunc) -> Reference:
    def rule(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return order(_ordered(x), _ordered(y))

    return rule


def _compare(order: np.ufunc) -> Reference:
    return by_ufunc(order, light=True)


declare("eq", _compare(np.equal), operands=2, result=boolean, code="comparisons.eq")
declare("ne", _compare(np.not_equal), operands=2, result=boolean, code="comparisons.ne")
declare("lt", _compare(np.less), operands=2, result=boolean, code="comparisons.lt")
declare("le", _compare(np.less_equal), operands=2, result=boolean, code="comparisons.le")
declare("gt", _compare(np.greater), operands=2, result=boolean, code="comparisons.gt")
declare("ge", _compare(np.greater_equal), operands=2, result=boolean, code="comparisons.ge")

_eq_to, _lt_to, _le_to = _total(np.equal), _total(np.less), _total(np.less_equal)
declare("eq_to", _eq_to, operands=2, result=boolean, code="comparisons.eq_to", half="own")
declare("lt_to", _lt_to, operands=2, result=boolean, code="comparisons.lt_to", half="own")
declare("le_to", _le_to, operands=2, result=boolean, code="comparisons.le_to", half="own")


# --- parts of complex numbers, for `split_complex` --------------------------------------------------


def _real(x: ComplexArray) -> np.ndarray:
    return x.real


def _imag(x: ComplexArray) -> np.ndarray:
    return x.imag


def _complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x.dtype, np.complex64))
    out.real = x
    out.imag = y
    return out


declare("real", _real, accepts=complex_operands, result=real, ulp=None)
declare("imag", _imag, accepts=complex_operands, result=real, ulp=None)
declare("conj", by_ufunc(np.conj, light=True), accepts=complex_operands, ulp=None)
declare("complex", _complex, operands=2, accepts=parts_of_complex, result=complex_of, ulp=None)
