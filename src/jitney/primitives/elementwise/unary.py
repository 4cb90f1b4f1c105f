"""Elementwise primitives of one operand: arithmetic, exponentials, trigonometric functions, ...

Angles are in radians. Complex functions return the principal value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.primitives import calculus, rules
from jitney.primitives.calculus import add, div, mul, sub
from jitney.primitives.elementwise import families, slopes, taylor
from jitney.primitives.elementwise.accuracy import Accuracy, AccuracyMode
from jitney.primitives.elementwise.families import (
    BITS,
    COMPLEX,
    FLOAT,
    INEXACT,
    INTEGER,
    NUMERIC,
    to_bool,
    unary,
)
from jitney.primitives.elementwise.powers import integer_pow, one_minus_square
from jitney.primitives.rules import const, factor
from jitney.transforms import jet

if TYPE_CHECKING:
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import (
        Builder,
        Node,
        Operand,
        Primals,
        SlopeOfOne,
        Tangent,
        Tangents,
        Value,
    )

# --- arithmetic -------------------------------------------------------------------------------

neg_p, neg = unary(
    "neg",
    NUMERIC,
    """Computes -x; integers wrap around.

    Example:
      >>> lax.neg(jnp.array([1, -2]))
      Array([-1,  2], dtype=int32)
    """,
    linear=True,
)
sign_p, sign = unary(
    "sign",
    NUMERIC,
    """Computes the sign: -1, 0 or 1, or x / |x| for complex x; -0.0 and NaN are preserved.

    Example:
      >>> lax.sign(jnp.array([-2.5, 0.0, 3.0]))
      Array([-1.,  0.,  1.], dtype=float32)
    """,
)
abs_p, abs = unary(  # noqa: A001
    "abs",
    (np.floating, np.complexfloating, np.signedinteger),
    """Computes the absolute value, or for complex numbers the modulus.

    Example:
      >>> lax.abs(jnp.array([-1.5, 2.0]))
      Array([1.5, 2. ], dtype=float32)
    """,
    result=families.real_part,
)
square_p, square = unary(
    "square",
    NUMERIC,
    """Computes x * x.

    Example:
      >>> lax.square(jnp.array([1, -3]))
      Array([1, 9], dtype=int32)
    """,
)

# --- rounding ---------------------------------------------------------------------------------

floor_p, floor = unary(
    "floor",
    FLOAT,
    """Computes the largest integer not greater than x.

    Example:
      >>> lax.floor(jnp.array([1.7, -1.2]))
      Array([ 1., -2.], dtype=float32)
    """,
)
ceil_p, ceil = unary(
    "ceil",
    FLOAT,
    """Computes the smallest integer not less than x.

    Example:
      >>> lax.ceil(jnp.array([1.2, -1.7]))
      Array([ 2., -1.], dtype=float32)
    """,
)
is_finite_p, is_finite = unary(
    "is_finite",
    FLOAT,
    """Returns True where x is neither infinite nor NaN.

    Example:
      >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """,
    result=to_bool,
)

# --- roots, exponentials, logarithms ------------------------------------------------------------

sqrt_p, sqrt = unary(
    "sqrt",
    INEXACT,
    """Computes the square root.

    Example:
      >>> lax.sqrt(jnp.array([4.0, 9.0]))
      Array([2., 3.], dtype=float32)
    """,
    accuracy=True,
)
rsqrt_p, rsqrt = unary(
    "rsqrt",
    INEXACT,
    """Computes the reciprocal of the square root.

    Example:
      >>> lax.rsqrt(jnp.array([4.0, 16.0]))
      Array([0.5 , 0.25], dtype=float32)
    """,
    accuracy=True,
    error="1.5 ulp",
)
cbrt_p, cbrt = unary("cbrt", FLOAT, "Computes the cube root.", accuracy=True, error="1 ulp")
exp_p, exp = unary(
    "exp",
    INEXACT,
    """Computes the exponential.

    Example:
      >>> lax.exp(jnp.array([0.0, 0.5]))
      Array([1.       , 1.6487212], dtype=float32)
    """,
    accuracy=True,
    error="1 ulp",
)
exp2_p, exp2 = unary("exp2", INEXACT, "Computes 2 to the power of x.", accuracy=True, error="1 ulp")
expm1_p, expm1 = unary(
    "expm1",
    INEXACT,
    """Computes exp(x) - 1, accurate near 0.

    Example:
      >>> lax.expm1(jnp.array([0.0, 1e-6]))
      Array([0.0000000e+00, 1.0000005e-06], dtype=float32)
    """,
    accuracy=True,
    error="1.5 ulp in float32, 2 in float64",
)
log_p, log = unary(
    "log",
    INEXACT,
    """Computes the natural logarithm.

    Example:
      >>> lax.log(jnp.array([1.0, 10.0]))
      Array([0.       , 2.3025851], dtype=float32)
    """,
    accuracy=True,
    error="1 ulp",
)
log2_p, log2 = unary(
    "log2",
    INEXACT,
    """Computes the logarithm to base 2; exact at powers of 2.

    Example:
      >>> lax.log2(jnp.array([1.0, 8.0]))
      Array([0., 3.], dtype=float32)
    """,
    accuracy=True,
    error="2 ulp in float32, 1.5 in float64",
)
log1p_p, log1p = unary(
    "log1p",
    INEXACT,
    """Computes log(1 + x), accurate near 0.

    Example:
      >>> lax.log1p(jnp.array([0.0, 1e-6]))
      Array([0.000000e+00, 9.999995e-07], dtype=float32)
    """,
    accuracy=True,
    error="1 ulp",
)
logistic_p, logistic = unary(
    "logistic",
    INEXACT,
    """Computes 1 / (1 + exp(-x)).

    Example:
      >>> lax.logistic(jnp.array([0.0, 2.0]))
      Array([0.5     , 0.880797], dtype=float32)
    """,
    accuracy=True,
    error="2.5 ulp",
)

# --- circular and hyperbolic ----------------------------------------------------------------------

sin_p, sin = unary(
    "sin",
    INEXACT,
    """Computes the sine.

    Example:
      >>> lax.sin(jnp.array([0.0, 0.5]))
      Array([0.        , 0.47942555], dtype=float32)
    """,
    accuracy=True,
    error="2 ulp",
)
cos_p, cos = unary(
    "cos",
    INEXACT,
    """Computes the cosine.

    Example:
      >>> lax.cos(jnp.array([0.0, 1.0]))
      Array([1.       , 0.5403023], dtype=float32)
    """,
    accuracy=True,
    error="2 ulp",
)
tan_p, tan = unary(
    "tan", INEXACT, "Computes the tangent.", accuracy=True, error="3 ulp in float32, 2.5 in float64"
)
asin_p, asin = unary("asin", INEXACT, "Computes the arc sine, in [-pi/2, pi/2].", error="2.5 ulp")
acos_p, acos = unary("acos", INEXACT, "Computes the arc cosine, in [0, pi].", error="2 ulp")
atan_p, atan = unary("atan", INEXACT, "Computes the arc tangent, in [-pi/2, pi/2].", error="2 ulp")
sinh_p, sinh = unary("sinh", INEXACT, "Computes the hyperbolic sine.", error="2 ulp")
cosh_p, cosh = unary("cosh", INEXACT, "Computes the hyperbolic cosine.", error="1.5 ulp")
tanh_p, tanh = unary(
    "tanh",
    INEXACT,
    """Computes the hyperbolic tangent.

    Example:
      >>> lax.tanh(jnp.array([0.0, 1.0]))
      Array([0.       , 0.7615942], dtype=float32)
    """,
    accuracy=True,
    error="1.5 ulp in float32, 3 in float64",
)
asinh_p, asinh = unary("asinh", INEXACT, "Computes the inverse hyperbolic sine.", error="3 ulp")
acosh_p, acosh = unary("acosh", INEXACT, "Computes the inverse hyperbolic cosine.", error="3 ulp")
atanh_p, atanh = unary("atanh", INEXACT, "Computes the inverse hyperbolic tangent.", error="3 ulp")

# --- complex ----------------------------------------------------------------------------------

real_p, real = unary(
    "real",
    COMPLEX,
    """Returns the real part.

    Example:
      >>> lax.real(jnp.array([1 + 2j]))
      Array([1.], dtype=float32)
    """,
    result=families.real_part,
    linear=True,
)
imag_p, imag = unary(
    "imag",
    COMPLEX,
    """Returns the imaginary part.

    Example:
      >>> lax.imag(jnp.array([1 + 2j]))
      Array([2.], dtype=float32)
    """,
    result=families.real_part,
    linear=True,
)

conj_p = declare("conj", linear=True)
_CONJ_ACCEPTS = (np.dtype(np.float32), np.complexfloating, np.dtype(np.float64))


@conj_p.abstract
def _conj_abstract(x: ShapedArray, *, input_dtype: np.dtype) -> ShapedArray:
    families.check_dtype("conj", x.dtype, _CONJ_ACCEPTS)
    return x.update(dtype=families.with_imaginary_part(x.dtype))


@conj_p.eager
def _conj_eager(x: np.ndarray, *, input_dtype: np.dtype) -> np.ndarray:
    return np.conj(x) if x.dtype.kind == "c" else x.astype(families.with_imaginary_part(x.dtype))


@conj_p.lower
def _conj_lower(b: Builder, x: Node, *, input_dtype: np.dtype) -> Node:
    if x.dtype.kind == "c":
        return b.apply("conj", x)
    return b.convert(x, families.with_imaginary_part(x.dtype))


def conj(x: ArrayLike) -> Array:
    """Computes the complex conjugate; the result is complex even for real operands.

    Args:
      x: array with a complex dtype, float32 or float64.

    Returns: complex array of the shape of x. (`jnp.conj` returns real arrays unchanged.)

    Raises:
      TypeError: if the dtype of x is not supported.

    Example:
      >>> lax.conj(jnp.array([1 + 2j, 3 - 1j]))
      Array([1.-2.j, 3.+1.j], dtype=complex64)
    """
    return conj_p.bind(x, input_dtype=dtypes.dtype(x))


# --- bits -------------------------------------------------------------------------------------

not_p, bitwise_not = unary(
    "not",
    BITS,
    """Inverts every bit; for booleans, computes the logical NOT.

    Example:
      >>> lax.bitwise_not(jnp.array([0, 5]))
      Array([-1, -6], dtype=int32)
    """,
)
population_count_p, population_count = unary(
    "population_count",
    INTEGER,
    """Counts the bits that are set.

    Example:
      >>> lax.population_count(jnp.array([0, 7, 8]))
      Array([0, 3, 1], dtype=int32)
    """,
)
clz_p, clz = unary(
    "clz",
    INTEGER,
    """Counts the leading zero bits.

    Example:
      >>> lax.clz(jnp.array([1, 255]))
      Array([31, 24], dtype=int32)
    """,
)

# --- derivatives --------------------------------------------------------------------------------


def _times(slope: Callable[[Value], Value]) -> SlopeOfOne:
    """Returns the JVP rule t * slope(x)."""
    return lambda t, x, **_: mul(t, slope(x))


rules.deflinear(neg_p, lambda ct, x: neg(ct))


@abs_p.jvp
def _abs_jvp(primals: Primals, tangents: Sequence[Value]) -> tuple[Value, Tangent]:
    (x,), (t,) = primals, tangents
    out = abs_p.bind(x)
    if rules.aval_of(x).dtype.kind != "c":
        return out, calculus.select_n(calculus.ge(x, const(x, 0)), neg(t), t)
    # The tangent of |z| is Re(conj(z) dz) / |z|, and 0 at z = 0.
    dtype = rules.aval_of(x).dtype
    size = calculus.convert_element_type(out, new_dtype=dtype)
    safe = calculus.select_n(calculus.eq(size, const(x, 0)), size, _ones_like(size))
    return out, real(mul(t, div(conj(x), safe)))


def _ones_like(x: Value) -> Value:
    shape = rules.shape_of(x)
    one = const(x, 1)
    if not shape:
        return one
    return calculus.broadcast_in_dim(one, shape=shape, broadcast_dimensions=())


rules.defjvp(square_p, lambda t, x: mul(t, mul(factor(x, 2), x)))


@sign_p.jvp
def _sign_jvp(primals: Primals, tangents: Sequence[Value]) -> tuple[Value, Tangent]:
    """Differentiates the sign: 0 for real x; rotation by Im(conj(sign) t) / |x| for complex x."""
    (x,), (t,) = primals, tangents
    out = sign_p.bind(x)
    if rules.aval_of(x).dtype.kind != "c":
        return out, rules.zero_tangent(out)
    across = imag(mul(conj_p.bind(out, input_dtype=rules.aval_of(x).dtype), t))
    size = calculus.abs(x)
    safe = calculus.select_n(calculus.eq(size, const(size, 0)), size, _ones_like(size))
    turn = div(across, safe)
    return out, mul(out, calculus.complex(rules.zeros_like(turn), turn))


rules.def_zero_derivative(floor_p, ceil_p, is_finite_p, not_p, population_count_p, clz_p)
rules.defjvp2(sqrt_p, lambda t, y, x, **_: mul(t, div(factor(x, 0.5), y)))
rules.defjvp2(rsqrt_p, lambda t, y, x, **_: mul(t, mul(factor(x, -0.5), div(y, x))))
rules.defjvp2(cbrt_p, lambda t, y, x, **_: mul(t, mul(factor(x, 1 / 3), integer_pow(y, -2))))
rules.defjvp2(exp_p, lambda t, y, x, **_: mul(t, y))
rules.defjvp2(exp2_p, lambda t, y, x, **_: mul(log(factor(x, 2)), mul(t, y)))


def _is_highest(accuracy: Accuracy) -> bool:
    """Returns whether derivatives must have a small relative error where they are nearly 0."""
    return accuracy is AccuracyMode.HIGHEST


def _expm1_jvp(t: Value, y: Value, x: Value, *, accuracy: Accuracy = None) -> Value:
    return mul(t, exp(x, accuracy=accuracy))


def _logistic_jvp(t: Value, y: Value, x: Value, *, accuracy: Accuracy = None) -> Value:
    other = logistic(neg(x)) if _is_highest(accuracy) else sub(const(x, 1), y)
    return mul(t, mul(y, other))


def _tanh_jvp(t: Value, y: Value, x: Value, *, accuracy: Accuracy = None) -> Value:
    if not _is_highest(accuracy):
        return mul(t, one_minus_square(y))
    sides = [logistic(mul(const(x, k), x), accuracy=accuracy) for k in (2, -2)]
    return mul(t, mul(const(x, 4), mul(*sides)))


rules.defjvp2(expm1_p, _expm1_jvp)
rules.defjvp(log_p, lambda t, x, **_: div(t, x))
rules.defjvp(log2_p, lambda t, x, **_: div(t, mul(x, log(factor(x, 2)))))
rules.defjvp(log1p_p, lambda t, x, **_: div(t, add(x, const(x, 1))))
rules.defjvp2(logistic_p, _logistic_jvp)
rules.defjvp(sin_p, lambda t, x, **params: mul(t, cos(x, **params)))
rules.defjvp(cos_p, lambda t, x, **params: neg(mul(t, sin(x, **params))))
rules.defjvp2(tan_p, lambda t, y, x, **_: mul(t, add(factor(x, 1), square(y))))
rules.defjvp(asin_p, _times(lambda x: rsqrt(one_minus_square(x))))
rules.defjvp(acos_p, _times(lambda x: neg(rsqrt(one_minus_square(x)))))
rules.defjvp(atan_p, lambda t, x: div(t, add(factor(x, 1), square(x))))
rules.defjvp(sinh_p, _times(lambda x: cosh(x)))
rules.defjvp(cosh_p, _times(lambda x: sinh(x)))
rules.defjvp2(tanh_p, _tanh_jvp)
rules.defjvp(asinh_p, _times(slopes.asinh_slope))
rules.defjvp(
    acosh_p,  # two separate roots, since x^2 may overflow
    _times(lambda x: mul(rsqrt(sub(x, const(x, 1))), rsqrt(add(x, const(x, 1))))),
)
rules.defjvp(atanh_p, lambda t, x: div(t, one_minus_square(x)))
rules.deflinear(
    real_p,
    lambda ct, x: (
        calculus.complex(ct, rules.zeros_like(ct))
        if rules.shape_of(ct)
        else calculus.complex(ct, const(ct, 0))
    ),
)
rules.deflinear(imag_p, lambda ct, x: calculus.complex(rules.zeros_like(ct), calculus.neg(ct)))


def _conj_transpose(ct: Value, x: Operand, *, input_dtype: np.dtype) -> Value:
    out = conj_p.bind(ct, input_dtype=rules.aval_of(ct).dtype)
    return real(out) if np.dtype(input_dtype).kind == "f" else out


rules.deflinear(conj_p, _conj_transpose)

# --- Taylor series --------------------------------------------------------------------------------

taylor.declare(square_p, taylor.square)
for _prim, _exponent in ((sqrt_p, 1 / 2), (rsqrt_p, -1 / 2), (cbrt_p, 1 / 3)):
    taylor.declare(_prim, taylor.of_power(_prim, _exponent))
taylor.declare(log_p, taylor.of_logarithm(log_p, lambda x: x))
taylor.declare(log2_p, taylor.of_logarithm(log2_p, lambda x: x, np.log(2)))
taylor.declare(log1p_p, taylor.of_logarithm(log1p_p, lambda x: add(x, const(x, 1))))
# (function, y' as a function of y, its coefficients of y and y^2)
_OF_THEMSELVES: tuple[tuple[Primitive, Callable[[Value], Value], float, float], ...] = (
    (exp_p, lambda y: y, 1, 0),
    (exp2_p, lambda y: mul(const(y, np.log(2)), y), np.log(2), 0),
    (expm1_p, lambda y: add(y, const(y, 1)), 1, 0),
    (logistic_p, lambda y: mul(y, sub(const(y, 1), y)), 1, -1),
    (tan_p, lambda y: add(const(y, 1), square(y)), 0, 1),
    (tanh_p, lambda y: mul(add(const(y, 1), y), sub(const(y, 1), y)), 0, -1),
)
for _prim, _slope, _b, _c in _OF_THEMSELVES:
    taylor.declare(_prim, taylor.of_quadratic_slope(_prim, _slope, _b, _c))
for _prim, _partner, _sign, _partner_sign in (
    (sin_p, cos_p, 1, -1),
    (cos_p, sin_p, -1, 1),
    (sinh_p, cosh_p, 1, 1),
    (cosh_p, sinh_p, 1, 1),
):
    taylor.declare(_prim, taylor.of_partner(_prim, _partner, _sign, _partner_sign))


@abs_p.jet
def _abs_jet(
    primals: Primals, series: Sequence[Tangents]
) -> tuple[Value | Sequence[Value], jet.Terms | Sequence[jet.Terms]]:
    is_complex = rules.aval_of(primals[0]).dtype.kind == "c"
    rule = jet.by_derivative if is_complex else jet.piecewise_linear
    return rule(abs_p)(primals, series)


_ALL = (
    neg_p, sign_p, abs_p, square_p, floor_p, ceil_p, is_finite_p, sqrt_p, rsqrt_p, cbrt_p, exp_p,
    exp2_p, expm1_p, log_p, log2_p, log1p_p, logistic_p, sin_p, cos_p, tan_p,
    asin_p, acos_p, atan_p, sinh_p, cosh_p, tanh_p, asinh_p, acosh_p, atanh_p, real_p, imag_p,
    conj_p, not_p, population_count_p, clz_p,
)  # fmt: skip
rules.vectorized(*_ALL)
for _prim in _ALL:
    if "transpose" not in _prim.rules:
        _prim.absent("transpose", why="not linear")
