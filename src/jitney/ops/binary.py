"""Elementwise primitives of two operands: arithmetic, powers, angles, bits.

Integer arithmetic wraps. Division and remainder of integers truncate toward zero, a zero divisor
gives -1 (all ones) and the dividend; shifts past the width give 0 or the sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney.compiler.numerics import scalar as meanings
from jitney.core import dtypes, text
from jitney.core.avals import ShapedArray, shaped_array
from jitney.core.jaxpr import JaxprEqn
from jitney.core.primitive import declare
from jitney.ops import kit
from jitney.ops.kit import BITS, FLOAT, INEXACT, INTEGER, NUMERIC, REAL, binary

# --- arithmetic -------------------------------------------------------------------------------

add_p, add = binary("add", NUMERIC, "x + y.")
sub_p, sub = binary("sub", NUMERIC, "x - y.")
div_p, div = binary("div", NUMERIC, "x / y; truncated toward zero for integers.")
rem_p, rem = binary("rem", REAL, "Remainder of `div`; it has the sign of x.")
max_p, max = binary("max", None, "The larger operand; NaN if one is NaN.")  # noqa: A001
min_p, min = binary("min", None, "The smaller operand; NaN if one is NaN.")  # noqa: A001
nextafter_p, nextafter = binary("nextafter", FLOAT, "The float next to x in the direction of y.")
mulhi_p, mulhi = binary("mulhi", INTEGER, "The upper half of the bits of x * y.")

mul_p = declare("mul")


@mul_p.abstract
def _(x: ShapedArray, y: ShapedArray, *, out_dtype: Any = None) -> ShapedArray:
    kit.check_nary("mul", (x, y), (NUMERIC, NUMERIC))
    dtype = x.dtype if out_dtype is None else dtypes.canonicalize_dtype(np.dtype(out_dtype))
    return shaped_array(
        kit.broadcast_shape("mul", (x, y)), dtype, x.weak_type and y.weak_type
    )


_multiply = meanings.function("mul")


@mul_p.eager
def _(x: np.ndarray, y: np.ndarray, *, out_dtype: Any = None) -> np.ndarray:
    if out_dtype is None:
        return _multiply(x, y)
    dtype = dtypes.canonicalize_dtype(np.dtype(out_dtype))
    return _multiply(meanings.convert(x, dtype), meanings.convert(y, dtype))


@mul_p.lower
def _(b: Any, x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    x, y = kit.broadcast_nodes(b, (x, y))
    if out_dtype is not None:
        dtype = dtypes.canonicalize_dtype(np.dtype(out_dtype))
        x, y = b.convert(x, dtype), b.convert(y, dtype)
    return b.apply("mul", x, y)


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """x * y; with `out_dtype`, the product of the operands converted to that dtype."""
    try:
        return mul_p.bind(x, y, out_dtype=out_dtype)
    except TypeError:
        kit.check_operands("mul", x, y)
        raise


def _print_mul(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    shown = [(k, v) for k, v in eqn.params.items() if v is not None]
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["mul"] = _print_mul

# The sum of two cotangents: any dtype, booleans and keys included, and equal shapes.
add_any_p, add_any = binary("add_any", None, "Sum of two values of one type.", fn="add")

# --- powers and angles ----------------------------------------------------------------------------

pow_p = declare("pow")


@pow_p.abstract
def _(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    kit.check_dtype("pow", x.dtype, INEXACT, 0)
    kit.check_dtype("pow", y.dtype, NUMERIC, 1)
    if not dtypes.issubdtype(y.dtype, np.integer):
        kit.check_same_dtypes("pow", (x, y))
    return shaped_array(
        kit.broadcast_shape("pow", (x, y)), x.dtype, x.weak_type and y.weak_type
    )


_power = meanings.function("pow")


@pow_p.eager
def _(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _power(x, y if y.dtype == x.dtype else meanings.convert(y, x.dtype))


@pow_p.lower
def _(b: Any, x: Any, y: Any) -> Any:
    x, y = kit.broadcast_nodes(b, (x, y))
    return b.apply("pow", x, y if y.dtype == x.dtype else b.convert(y, x.dtype))


def pow(x: Any, y: Any) -> Any:  # noqa: A001
    """x to the power of y; y may be of an integer dtype."""
    try:
        return pow_p.bind(x, y)
    except TypeError:
        kit.check_operands("pow", x, y)
        raise


atan2_p, atan2 = binary("atan2", INEXACT, "Angle of the point (y, x), in [-pi, pi].")
complex_p, complex = binary(  # noqa: A001
    "complex",
    (np.dtype(np.float32), np.dtype(np.float64)),
    "The complex number x + i y.",
    result=kit.with_imaginary_part,
)

# --- bits -------------------------------------------------------------------------------------

and_p, bitwise_and = binary("and", BITS, "Bitwise and.", public="bitwise_and")
or_p, bitwise_or = binary("or", BITS, "Bitwise or.", public="bitwise_or")
xor_p, bitwise_xor = binary("xor", BITS, "Bitwise exclusive or.", public="bitwise_xor")
shift_left_p, shift_left = binary("shift_left", INTEGER, "x shifted left by y bits.")
shift_right_arithmetic_p, shift_right_arithmetic = binary(
    "shift_right_arithmetic", INTEGER, "x shifted right by y bits, the sign bit repeated."
)
shift_right_logical_p, shift_right_logical = binary(
    "shift_right_logical", INTEGER, "x shifted right by y bits, zeros put in."
)

kit.later(
    add_p, sub_p, mul_p, div_p, rem_p, max_p, min_p, nextafter_p, mulhi_p, add_any_p, pow_p,
    atan2_p, complex_p, and_p, or_p, xor_p, shift_left_p, shift_right_arithmetic_p,
    shift_right_logical_p,
)  # fmt: skip
