"""Elementwise primitives of two operands: arithmetic, powers, angles, bits.

Integer arithmetic wraps. Division and remainder of integers truncate toward zero; division by zero
gives the quotient -1 (all bits set) and the dividend as remainder. Shifts by at least the bit width
give 0; for arithmetic right shifts, all bits of the result are the sign bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.reference import scalar as reference
from jitney.core.program import text
from jitney.core.program.jaxpr import JaxprEqn
from jitney.core.sharding_in_types import explicit, sums
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.primitives import calculus, rules
from jitney.primitives.calculus import eq, gt, select_n
from jitney.primitives.elementwise import families, masks, taylor
from jitney.primitives.elementwise.compiled_rules import compiled_unless_finite
from jitney.primitives.elementwise.families import (
    BITS,
    FLOAT,
    INEXACT,
    INTEGER,
    NOT_KEYS,
    NUMERIC,
    REAL,
    binary,
)
from jitney.transforms import jet
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Array, ArrayLike, DTypeLike
    from jitney.primitives.rule_types import (
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

# --- arithmetic -------------------------------------------------------------------------------

add_p, add = binary(
    "add",
    NUMERIC,
    """Computes x + y.

    Example:
      >>> lax.add(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([4, 6], dtype=int32)
    """,
    linearity=sums.SUM,
)
sub_p, sub = binary(
    "sub",
    NUMERIC,
    """Computes x - y.

    Example:
      >>> lax.sub(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([-2, -2], dtype=int32)
    """,
    linearity=sums.SUM,
)
div_p, div = binary(
    "div",
    NUMERIC,
    """Computes x / y; integer quotients are truncated toward zero.

    Example:
      >>> lax.div(jnp.array([7, -7]), jnp.array([2, 2]))
      Array([ 3, -3], dtype=int32)
    """,
    linearity=sums.QUOTIENT,
)
rem_p, rem = binary(
    "rem",
    REAL,
    """Computes the remainder of the division x / y, which has the sign of x.

    Example:
      >>> lax.rem(jnp.array([7, -7]), jnp.array([3, 3]))
      Array([ 1, -1], dtype=int32)
    """,
)
max_p, max = binary(  # noqa: A001
    "max",
    NOT_KEYS,
    """Computes the elementwise maximum; NaN if either element is NaN.

    Example:
      >>> lax.max(jnp.array([1, 5]), jnp.array([3, 4]))
      Array([3, 5], dtype=int32)
    """,
)
min_p, min = binary(  # noqa: A001
    "min",
    NOT_KEYS,
    """Computes the elementwise minimum; NaN if either element is NaN.

    Example:
      >>> lax.min(jnp.array([1, 5]), jnp.array([3, 4]))
      Array([1, 4], dtype=int32)
    """,
)
nextafter_p, nextafter = binary(
    "nextafter",
    FLOAT,
    """Returns the float next to x1 in the direction of x2.

    Example:
      >>> bool(lax.nextafter(jnp.float32(1), jnp.float32(2)) > 1)
      True
    """,
    names=("x1", "x2"),
)
mulhi_p, mulhi = binary("mulhi", INTEGER, "Computes the upper half of the bits of x * y.")

mul_p = declare("mul")
mul_p.stretches = True
mul_p.linearity = sums.PRODUCT


@mul_p.abstract
def _mul_abstract(
    x: ShapedArray, y: ShapedArray, *, out_dtype: DTypeLike | None = None
) -> ShapedArray:
    families.check_nary("mul", (x, y), (NUMERIC, NUMERIC))
    dtype = x.dtype if out_dtype is None else np.dtype(out_dtype)
    return shaped_array(families.broadcast_shape("mul", (x, y)), dtype, x.weak_type and y.weak_type)


_multiply = reference.function("mul")
_multiply_small, _LARGE = reference.for_small(_multiply)


@mul_p.eager
def _mul_eager(x: np.ndarray, y: np.ndarray, *, out_dtype: DTypeLike | None = None) -> np.ndarray:
    if out_dtype is None:
        if masks.local.noted and (product := masks.selected(x, y)) is not None:
            return product
        small = x.size < _LARGE and y.size < _LARGE
        return _multiply_small(x, y) if small else _multiply(x, y)
    dtype = np.dtype(out_dtype)
    return _multiply(reference.convert(x, dtype), reference.convert(y, dtype))


@mul_p.lower
def _mul_lower(b: Builder, x: Node, y: Node, *, out_dtype: DTypeLike | None = None) -> Node:
    x, y = families.broadcast_nodes(b, (x, y))
    if out_dtype is not None:
        dtype = np.dtype(out_dtype)
        x, y = b.convert(x, dtype), b.convert(y, dtype)
    return masks.select_node(b, x, y) or b.apply("mul", x, y)


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Computes x * y; with `out_dtype`, operands are converted to that dtype first.

    Args:
      x: numeric array.
      y: scalar, or array of the rank of x, with the dtype of x.
      out_dtype: dtype of the result; that of the operands by default.

    Raises:
      TypeError: if dtypes differ, or shapes do not broadcast.

    Example:
      >>> lax.mul(jnp.array([1, 2, 3]), jnp.array([4, 5, 6]))
      Array([ 4, 10, 18], dtype=int32)
    """
    if out_dtype is not None:
        out_dtype = dtypes.canonicalize_dtype(np.dtype(out_dtype))
    try:
        return mul_p.bind(x, y, out_dtype=out_dtype)
    except TypeError:
        families.check_operands("mul", x, y)
        raise


def _print_mul(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    shown = [(k, v) for k, v in eqn.params.items() if v is not None]
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["mul"] = _print_mul


def _first(x: bool, _: bool) -> bool:
    return x


# The sum of two cotangents, of any dtype, including booleans and keys, and of equal shapes.
add_any_p, add_any = binary(
    "add_any", None, "Computes the sum of two values of the same type.", fn="add", weak=_first,
    linearity=sums.LINEAR,
)  # fmt: skip


def sum_of_tangents(x: Value, y: Value) -> Value:
    """Adds two tangents or cotangents.

    In eager mode, the sum is strongly typed if one of the operands is; in programs, it has the weak
    type of the first operand.
    """
    if state.trace is state.eval_trace and getattr(get_aval(x), "weak_type", False):
        x, y = y, x
    return add_any_p.bind(x, y)


# --- powers and angles ----------------------------------------------------------------------------

pow_p = declare("pow")
pow_p.stretches = True


@pow_p.abstract
def _pow_abstract(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    families.check_dtype("pow", x.dtype, INEXACT, 0)
    families.check_dtype("pow", y.dtype, NUMERIC, 1)
    if not dtypes.issubdtype(y.dtype, np.integer):
        families.check_same_dtypes("pow", (x, y))
    return shaped_array(
        families.broadcast_shape("pow", (x, y)), x.dtype, x.weak_type and y.weak_type
    )


_power = reference.function("pow")


@pow_p.eager
def _pow_eager(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    result = _power(x, y if y.dtype == x.dtype else reference.convert(y, x.dtype))
    return compiled_unless_finite(pow_p, result, (x, y)) if x.dtype.kind == "c" else result


@pow_p.lower
def _pow_lower(b: Builder, x: Node, y: Node) -> Node:
    x, y = families.broadcast_nodes(b, (x, y))
    return b.apply("pow", x, y if y.dtype == x.dtype else b.convert(y, x.dtype))


def pow(x: ArrayLike, y: ArrayLike) -> Array:  # noqa: A001
    """Computes x to the power of y.

    Args:
      x: floating or complex array.
      y: scalar, or array of the rank of x, with the dtype of x or an integer dtype.

    Returns: array with the dtype of x and the broadcast shape.

    Accuracy: within 1 ulp in float32, 2 in float64.

    Raises:
      TypeError: if dtypes are not supported, or if shapes do not broadcast.

    Example:
      >>> bases, exponents = jnp.arange(1.0, 4.0), jnp.array([0.5, -1.0, 2.0])
      >>> lax.pow(bases, exponents)
      Array([1. , 0.5, 9. ], dtype=float32)
    """
    try:
        return pow_p.bind(x, y)
    except TypeError:
        families.check_operands("pow", x, y)
        raise


atan2_p, atan2 = binary(
    "atan2",
    INEXACT,
    """Computes the angle of the point (y, x), in [-pi, pi].

    Example:
      >>> y, x = jnp.array([[0.0, -1.0], [-1.0, 0.0]])
      >>> lax.atan2(y, x)
      Array([ 3.1415927, -1.5707964], dtype=float32)
    """,
    error="2 ulp",
)
complex_p, complex = binary(  # noqa: A001
    "complex",
    (np.dtype(np.float32), np.dtype(np.float64)),
    """Returns the complex number x + i y.

    Example:
      >>> lax.complex(jnp.array([1.0]), jnp.array([2.0]))
      Array([1.+2.j], dtype=complex64)
    """,
    result=families.with_imaginary_part,
)

# --- bits -------------------------------------------------------------------------------------

and_p, bitwise_and = binary(
    "and",
    BITS,
    """Computes the bitwise AND.

    Example:
      >>> lax.bitwise_and(jnp.array([12]), jnp.array([10]))
      Array([8], dtype=int32)
    """,
    public="bitwise_and",
)
or_p, bitwise_or = binary(
    "or",
    BITS,
    """Computes the bitwise OR.

    Example:
      >>> lax.bitwise_or(jnp.array([12]), jnp.array([10]))
      Array([14], dtype=int32)
    """,
    public="bitwise_or",
)
xor_p, bitwise_xor = binary(
    "xor",
    BITS,
    """Computes the bitwise XOR.

    Example:
      >>> lax.bitwise_xor(jnp.array([12]), jnp.array([10]))
      Array([6], dtype=int32)
    """,
    public="bitwise_xor",
)
shift_left_p, shift_left = binary(
    "shift_left",
    INTEGER,
    """Shifts x left by y bits.

    Example:
      >>> lax.shift_left(jnp.array([1, 3]), jnp.array([4, 1]))
      Array([16,  6], dtype=int32)
    """,
)
shift_right_arithmetic_p, shift_right_arithmetic = binary(
    "shift_right_arithmetic", INTEGER, "Shifts x right by y bits, repeating the sign bit."
)
shift_right_logical_p, shift_right_logical = binary(
    "shift_right_logical", INTEGER, "Shifts x right by y bits, inserting zeros."
)

# --- derivatives --------------------------------------------------------------------------------


def _result_shape(x: Value, y: Value) -> tuple[int, ...]:
    a, b = rules.shape_of(x), rules.shape_of(y)
    if not a or not b:
        return a or b
    return tuple(m if n == 1 else n for n, m in zip(a, b, strict=True))


def _sum_jvp(prim: Primitive, sign: Callable[[Value], Value]) -> None:
    """Sets the JVP and transpose rules of x + y or x - y; `sign` is applied to tangents of y."""

    @prim.jvp
    def jvp_rule(primals: Primals, tangents: Tangents) -> tuple[Value, Tangent]:
        out = prim.bind(*primals)
        t, u = tangents
        shape = _result_shape(*primals)
        if isinstance(u, Zero):
            if isinstance(t, Zero):
                return out, rules.zero_tangent(out)
            return out, rules.broadcast_to_result(t, shape)
        if isinstance(t, Zero):
            return out, rules.broadcast_to_result(sign(u), shape)
        return out, prim.bind(t, u)

    @prim.transpose
    def transpose_rule(ct: Cotangent, x: Operand, y: Operand) -> list[Cotangent | None]:
        return [
            rules.unbroadcast(x, ct) if type(x) is UndefinedPrimal else None,
            rules.unbroadcast(y, ct if isinstance(ct, Zero) else sign(ct))
            if type(y) is UndefinedPrimal
            else None,
        ]


_sum_jvp(add_p, lambda t: t)
_sum_jvp(sub_p, lambda t: calculus.neg(t))
_sum_jvp(add_any_p, lambda t: t)


def _mul_by_left(
    ct: Value, x: Operand, y: Value, *, out_dtype: DTypeLike | None = None
) -> Cotangent:
    return rules.unbroadcast(x, mul_p.bind(ct, _as_factor(ct, y), out_dtype=out_dtype))


def _mul_by_right(
    ct: Value, x: Value, y: Operand, *, out_dtype: DTypeLike | None = None
) -> Cotangent:
    return rules.unbroadcast(y, mul_p.bind(_as_factor(ct, x), ct, out_dtype=out_dtype))


def _as_factor(ct: Value, x: Value) -> Value:
    """Reshards `x`, a factor or divisor of the cotangent `ct`, to the sharding of `ct`."""
    aval = getattr(ct, "aval", None)
    if aval is None or aval.has_default_place:
        return x
    place = explicit.like_factor_of(aval, rules.aval_of(x))
    return x if place is None else calculus.reshard(x, dst_sharding=place)


rules.defbilinear(mul_p, _mul_by_left, _mul_by_right)

rules.defjvp(
    div_p,
    lambda t, x, y: div(t, y),
    lambda t, x, y: mul(mul(calculus.neg(t), x), calculus.integer_pow(y, y=-2)),
)


@div_p.transpose
def _div_transpose(ct: Cotangent, x: Operand, y: Operand) -> list[Cotangent | None]:
    if isinstance(y, UndefinedPrimal):
        raise TypeError("div: a quotient is linear in its dividend only")
    if isinstance(ct, Zero):
        return [ct, None]
    return [rules.unbroadcast(x, div(ct, _as_factor(ct, y))), None]


def _whole_quotient(x: Value, y: Value) -> Value:
    """Computes x / y, truncated toward zero."""
    return mul(calculus.sign(div(x, y)), calculus.floor(calculus.abs(div(x, y))))


rules.defjvp(
    rem_p,
    lambda t, x, y: rules.broadcast_to_result(t, _result_shape(x, y)),
    lambda t, x, y: mul(calculus.neg(t), _whole_quotient(x, y)),
)


def _constant(out: Value, value: float) -> Value:
    """Returns a strongly typed constant of the shape and dtype of `out`, as in JAX's derivatives."""
    scalar = rules.typed(np.asarray(value).astype(rules.aval_of(out).dtype))
    return rules.broadcast_to_result(scalar, rules.shape_of(out))


def _share(x: Value, out: Value, y: Value, *, greater: bool) -> Value:
    """Returns the derivative of an extremum with respect to x: 1, 0, or 1/2 if x equals y."""
    none, half, one, two = (functools.partial(_constant, out, v) for v in (0, 0.5, 1, 2))
    if rules.aval_of(out).dtype.kind == "c":
        is_first, is_second = eq(x, out), eq(y, out)
        return div(select_n(is_first, none(), one()), select_n(is_second, one(), two()))
    winner, loser = (x, y) if greater else (y, x)
    alone, both = gt(winner, loser), eq(winner, loser)
    whole, nothing, equal = one(), none(), half()
    return select_n(alone, select_n(both, nothing, equal), whole)


for _prim in (max_p, min_p):
    rules.defjvp2(
        _prim,
        lambda t, out, x, y, g=_prim is max_p: mul(t, _share(x, out, y, greater=g)),
        lambda t, out, x, y, g=_prim is max_p: mul(t, _share(y, out, x, greater=g)),
    )


@pow_p.jvp
def _pow_jvp(primals: Primals, tangents: Tangents) -> tuple[Value, Tangent]:
    (x, y), (t, u) = primals, tangents
    out = pow_p.bind(x, y)
    parts: list[Value] = []
    if not isinstance(t, Zero):
        parts.append(mul(t, _pow_slope(x, y)))
    if not isinstance(u, Zero):
        shape = rules.shape_of(out)
        # log(x) x^y; its limit at x = 0 is 0.
        zero = eq(x, rules.const(x, 0))
        one = rules.broadcast_to_result(rules.const(x, 1), rules.shape_of(x))
        safe = select_n(zero, x, one)
        if not isinstance(x, Tracer):
            u = _strong(u)
        part = mul(u, mul(calculus.log(safe), out))
        parts.append(rules.broadcast_to_result(part, shape))
    if not parts:
        return out, rules.zero_tangent(out)
    return out, parts[0] if len(parts) == 1 else sum_of_tangents(*parts)


def _strong(x: Value) -> Value:
    """Makes `x` strongly typed; derivatives of powers are strongly typed, as in JAX."""
    aval = rules.aval_of(x)
    if not aval.weak_type:
        return x
    return calculus.convert_element_type(x, new_dtype=aval.dtype)


def _pow_slope(x: Value, y: Value) -> Value:
    """Computes y x^(y - 1), which for integer y is 0 where y is 0, regardless of x."""
    aval = rules.aval_of(y)
    if not dtypes.issubdtype(aval.dtype, np.integer):
        x, y = _strong(x), _strong(y)
        return mul(y, pow(x, sub(y, rules.const(y, 1))))
    wide = calculus.convert_element_type(y, new_dtype=rules.aval_of(x).dtype)
    shape = rules.shape_of(wide)

    def full(value: float) -> Value:
        return rules.broadcast_to_result(rules.const(wide, value), shape)

    zero = eq(wide, full(0))
    safe = select_n(zero, wide, full(1))
    slope = mul(safe, pow(x, sub(wide, full(1))))
    nothing = rules.broadcast_to_result(rules.const(slope, 0), rules.shape_of(slope))
    return select_n(rules.broadcast_to_result(zero, rules.shape_of(slope)), slope, nothing)


def _atan2_slope(number: Value, x: Value, y: Value) -> Value:
    return div(number, add(calculus.square(x), calculus.square(y)))


rules.defjvp(
    atan2_p,
    lambda t, x, y: mul(t, _atan2_slope(y, x, y)),
    lambda t, x, y: mul(t, _atan2_slope(calculus.neg(x), x, y)),
)


@complex_p.jvp
def _complex_jvp(primals: Primals, tangents: Tangents) -> tuple[Value, Tangent]:
    out = complex_p.bind(*primals)
    if all(type(t) is Zero for t in tangents):
        return out, rules.zero_tangent(out)
    return out, complex_p.bind(*map(instantiate, tangents))


@complex_p.transpose
def _complex_transpose(ct: Cotangent, x: Operand, y: Operand) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [None, None]
    return [
        rules.unbroadcast(x, calculus.real(ct)) if rules.is_linear(x) else None,
        rules.unbroadcast(y, calculus.imag(calculus.neg(ct))) if rules.is_linear(y) else None,
    ]


rules.def_zero_derivative(
    and_p, or_p, xor_p, shift_left_p, shift_right_arithmetic_p, shift_right_logical_p, mulhi_p
)

# --- Taylor series --------------------------------------------------------------------------------

for _prim in (add_p, sub_p, add_any_p, rem_p, max_p, min_p):
    _prim.jet(jet.piecewise_linear(_prim))
taylor.declare(div_p, taylor.quotient)
taylor.declare(pow_p, taylor.power)
taylor.declare(atan2_p, taylor.angle)
complex_p.jet(jet.linear(complex_p))

# ------------------------------------------------------------------------------------------------

rules.defjvp(nextafter_p, lambda t, x, y: rules.broadcast_to_result(t, _result_shape(x, y)), None)
_ALL = (
    add_p, sub_p, mul_p, div_p, rem_p, max_p, min_p, nextafter_p, mulhi_p, add_any_p, pow_p,
    atan2_p, complex_p, and_p, or_p, xor_p, shift_left_p, shift_right_arithmetic_p,
    shift_right_logical_p,
)  # fmt: skip
rules.broadcasting(*(p for p in _ALL if p is not add_any_p))


@add_any_p.batch
def _add_any_batch(args: Sequence[Value], dims: Dims) -> tuple[Value, int]:
    (x, y), dim = rules.align(args, dims)
    return sum_of_tangents(x, y), dim


for _prim in _ALL:
    if "transpose" not in _prim.rules:
        _prim.absent("transpose", why="not linear")
