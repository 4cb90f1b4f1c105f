"""Elementwise functions of one operand: `sin`, `floor`, `isnan`, `degrees` and their kind.

Integers are promoted to the default float where a function needs one. Angles are in radians.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from jitney.api.custom_jvp import custom_jvp
from jitney.api.jit import jit_when_traced
from jitney.core import dtypes
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.promotion import check_arraylike, promote_args_inexact
from jitney.numpy.selection import where
from jitney.primitives.array import creation
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary, compare, convert, select, unary

# Dtypes that floating functions take as they are.
_INEXACT: frozenset[Any] = frozenset(
    map(
        np.dtype, (np.float32, np.float64, np.float16, dtypes.bfloat16, np.complex64, np.complex128)
    )
)

F = TypeVar("F", bound=Callable[..., Any])


class UnaryFunction(Protocol):
    """A function of one operand, elementwise."""

    def __call__(self, x: ArrayLike, /) -> Array: ...


def public(function: F, name: str, doc: str) -> F:
    """`function` with the name and place that users see."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "jax.numpy"
    return function


def float_function(name: str, op: Callable[[Any], Any], doc: str) -> UnaryFunction:
    """A function of one float or complex operand, by the lax function `op`."""

    def function(x: ArrayLike, /) -> Array:
        if isinstance(x, Array) and x.dtype in _INEXACT:
            return op(x)
        return op(*promote_args_inexact(name, x))

    return public(function, name, doc)


def plain_function(name: str, op: Callable[[Any], Any], doc: str) -> UnaryFunction:
    """A function of one operand of the dtypes that `op` takes, unpromoted."""

    def function(x: ArrayLike, /) -> Array:
        if not isinstance(x, Array):
            check_arraylike(name, x)
        return op(x)

    return public(function, name, doc)


# --- floats in, floats out ----------------------------------------------------------------------

sin = float_function("sin", unary.sin, "Sine, elementwise.")
cos = float_function("cos", unary.cos, "Cosine, elementwise.")
tan = float_function("tan", unary.tan, "Tangent, elementwise.")
arcsin = asin = float_function("arcsin", unary.asin, "Arc sine, in [-pi/2, pi/2].")
arccos = acos = float_function("arccos", unary.acos, "Arc cosine, in [0, pi].")
arctan = atan = float_function("arctan", unary.atan, "Arc tangent, in [-pi/2, pi/2].")
sinh = float_function("sinh", unary.sinh, "Hyperbolic sine.")
cosh = float_function("cosh", unary.cosh, "Hyperbolic cosine.")
tanh = float_function("tanh", unary.tanh, "Hyperbolic tangent.")
arcsinh = asinh = float_function("arcsinh", unary.asinh, "Inverse hyperbolic sine.")
arccosh = acosh = float_function("arccosh", unary.acosh, "Inverse hyperbolic cosine.")
arctanh = atanh = float_function("arctanh", unary.atanh, "Inverse hyperbolic tangent.")
exp = float_function("exp", unary.exp, "Exponential, elementwise.")
exp2 = float_function("exp2", unary.exp2, "2 to the power of each element.")
expm1 = float_function("expm1", unary.expm1, "exp(x) - 1, accurate near 0.")
log = float_function("log", unary.log, "Natural logarithm, elementwise.")
log1p = float_function("log1p", unary.log1p, "log(1 + x), accurate near 0.")
sqrt = float_function("sqrt", unary.sqrt, "Square root, elementwise.")
cbrt = float_function("cbrt", unary.cbrt, "Cube root, elementwise.")
reciprocal = float_function("reciprocal", unary.reciprocal, "1 / x, elementwise.")


def log10(x: ArrayLike, /) -> Array:
    """Logarithm to base 10, elementwise."""
    (x,) = promote_args_inexact("log10", x)
    return _on_parts(
        unary.log(x), lambda y: promotion.strong_scalar_like(y, np.log10(np.e)), binary.mul
    )


def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2, elementwise."""
    (x,) = promote_args_inexact("log2", x)
    return _on_parts(
        unary.log(x), lambda y: unary.log(promotion.strong_scalar_like(y, 2)), binary.div
    )


def _on_parts(x: Array, factor: Callable[[Any], Any], op: Callable[[Any, Any], Any]) -> Array:
    """op(x, factor(x)) for a real factor: complex operands part by part."""
    if not promotion.is_complex(promotion.dtype_of(x)):
        return op(x, factor(x))
    re, im = unary.real(x), unary.imag(x)
    f = factor(re)
    return binary.complex(op(re, f), op(im, f))


def degrees(x: ArrayLike, /) -> Array:
    """Radians to degrees."""
    (x,) = promote_args_inexact("degrees", x)
    return binary.mul(x, promotion.scalar_like(x, 180 / np.pi))


def radians(x: ArrayLike, /) -> Array:
    """Degrees to radians."""
    (x,) = promote_args_inexact("radians", x)
    return binary.mul(x, promotion.scalar_like(x, np.pi / 180))


rad2deg: UnaryFunction = public(lambda x, /: degrees(x), "rad2deg", degrees.__doc__ or "")
deg2rad: UnaryFunction = public(lambda x, /: radians(x), "deg2rad", radians.__doc__ or "")

# --- any number ---------------------------------------------------------------------------------


def square(x: ArrayLike, /) -> Array:
    """x * x, elementwise."""
    (x,) = promotion.promote_args_numeric("square", x)
    return unary.square(x)


sign = plain_function("sign", unary.sign, "-1, 0 or 1; x / |x| for complex numbers.")
invert = bitwise_not = bitwise_invert = plain_function(
    "invert", unary.bitwise_not, "Every bit flipped; logical negation of booleans."
)


def negative(x: ArrayLike, /) -> Array:
    """-x, elementwise."""
    check_arraylike("negative", x)
    return unary.neg(x)


def positive(x: ArrayLike, /) -> Array:
    """x itself."""
    return promotion.ensure_arraylike("positive", x)


def absolute(x: ArrayLike, /) -> Array:
    """Absolute value; the modulus of complex numbers."""
    check_arraylike("absolute", x)
    dtype = promotion.dtype_of(x)
    if dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger):
        return convert.as_value(x)
    return unary.abs(x)


abs: UnaryFunction = public(lambda x, /: absolute(x), "abs", absolute.__doc__ or "")


def fabs(x: ArrayLike, /) -> Array:
    """Absolute value, as a float."""
    check_arraylike("fabs", x)
    if promotion.is_complex(promotion.dtype_of(x)):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return unary.abs(*promote_args_inexact("fabs", x))


# --- rounding -----------------------------------------------------------------------------------


def floor(x: ArrayLike, /) -> Array:
    """Largest integer not above x; integers are left alone."""
    check_arraylike("floor", x)
    return (
        convert.as_value(x) if _is_integral(x) else unary.floor(*promote_args_inexact("floor", x))
    )


def ceil(x: ArrayLike, /) -> Array:
    """Smallest integer not below x; integers are left alone."""
    check_arraylike("ceil", x)
    return convert.as_value(x) if _is_integral(x) else unary.ceil(*promote_args_inexact("ceil", x))


def _is_integral(x: ArrayLike) -> bool:
    dtype = promotion.dtype_of(x)
    return dtype == np.bool_ or promotion.is_integer(dtype)


@jit_when_traced
def trunc(x: ArrayLike) -> Array:
    """x without its fraction."""
    check_arraylike("trunc", x)
    if _is_integral(x):
        return convert.as_value(x)
    return where(compare.lt(x, promotion.scalar_like(x, 0)), unary.ceil(x), unary.floor(x))


@jit_when_traced
def rint(x: ArrayLike, /) -> Array:
    """The nearest integer, as a float; halves go to the even one."""
    check_arraylike("rint", x)
    dtype = promotion.dtype_of(x)
    if _is_integral(x):
        return convert.convert(x, dtypes.canonicalize_dtype(float))
    if promotion.is_complex(dtype):
        return binary.complex(rint(unary.real(x)), rint(unary.imag(x)))
    return select.round(x, select.RoundingMethod.TO_NEAREST_EVEN)


# --- complex numbers ------------------------------------------------------------------------------


def conjugate(x: ArrayLike, /) -> Array:
    """Complex conjugate; real numbers are left alone."""
    check_arraylike("conjugate", x)
    return unary.conj(x) if promotion.is_complex(promotion.dtype_of(x)) else convert.as_value(x)


conj: UnaryFunction = public(lambda x, /: conjugate(x), "conj", conjugate.__doc__ or "")


def real(val: ArrayLike, /) -> Array:
    """Real part."""
    check_arraylike("real", val)
    return (
        unary.real(val) if promotion.is_complex(promotion.dtype_of(val)) else convert.as_value(val)
    )


def imag(val: ArrayLike, /) -> Array:
    """Imaginary part; zeros for real numbers."""
    check_arraylike("imag", val)
    return (
        unary.imag(val)
        if promotion.is_complex(promotion.dtype_of(val))
        else creation.full_like(val, 0)
    )


@partial(jit_when_traced, static_argnames=("deg",))
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Argument of complex numbers, in radians, or in degrees if `deg`.

    That of real scalars has the default dtype of floats.
    """
    check_arraylike("angle", z)
    re, im = real(z), imag(z)
    is_real = not promotion.is_complex(promotion.dtype_of(z))
    if is_real and (shape_of(z) == () or not promotion.is_inexact(promotion.dtype_of(z))):
        dtype = dtypes.canonicalize_dtype(float)
        re, im = convert.convert(re, dtype), convert.convert(im, dtype)
    result = binary.atan2(im, re)
    return degrees(result) if deg else result


@jit_when_traced
def isreal(x: ArrayLike) -> Array:
    """True where the imaginary part is zero."""
    part = imag(x)
    return compare.eq(part, promotion.scalar_like(part, 0))


@jit_when_traced
def iscomplex(x: ArrayLike) -> Array:
    """True where the imaginary part is not zero."""
    part = imag(x)
    return compare.ne(part, promotion.scalar_like(part, 0))


# --- float classes --------------------------------------------------------------------------------


def isnan(x: ArrayLike, /) -> Array:
    """True where x is NaN."""
    check_arraylike("isnan", x)
    return compare.ne(x, x)


def isfinite(x: ArrayLike, /) -> Array:
    """True where x is neither infinite nor NaN."""
    check_arraylike("isfinite", x)
    dtype = promotion.dtype_of(x)
    if promotion.is_floating(dtype):
        return unary.is_finite(x)
    if promotion.is_complex(dtype):
        return binary.bitwise_and(unary.is_finite(unary.real(x)), unary.is_finite(unary.imag(x)))
    return creation.full_like(x, True, dtype=np.bool_)


@jit_when_traced
def isinf(x: ArrayLike, /) -> Array:
    """True where x is infinite."""
    check_arraylike("isinf", x)
    dtype = promotion.dtype_of(x)
    if promotion.is_floating(dtype):
        return compare.eq(unary.abs(x), promotion.strong_scalar_like(x, np.inf))
    if promotion.is_complex(dtype):
        re, im = unary.real(x), unary.imag(x)
        return binary.bitwise_or(
            compare.eq(unary.abs(re), promotion.strong_scalar_like(re, np.inf)),
            compare.eq(unary.abs(im), promotion.strong_scalar_like(im, np.inf)),
        )
    return creation.full_like(x, False, dtype=np.bool_)


def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """True where x is +inf."""
    return _is_infinity("isposinf", x, np.inf, out)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """True where x is -inf."""
    return _is_infinity("isneginf", x, -np.inf, out)


def _is_infinity(name: str, x: ArrayLike, infinity: float, out: None) -> Array:
    promotion.check_no_out(name, out)
    check_arraylike(name, x)
    dtype = promotion.dtype_of(x)
    if promotion.is_complex(dtype):
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    if promotion.is_floating(dtype):
        return compare.eq(x, promotion.strong_scalar_like(x, infinity))
    return creation.full_like(x, False, dtype=np.bool_)


@jit_when_traced
def signbit(x: ArrayLike, /) -> Array:
    """True where the sign bit is set: negative numbers, -0.0 and NaNs of that sign."""
    check_arraylike("signbit", x)
    dtype = promotion.dtype_of(x)
    if promotion.is_integer(dtype):
        return convert.convert(compare.lt(x, promotion.scalar_like(x, 0)), np.dtype(bool))
    if dtype == np.bool_:
        return creation.full_like(x, False, dtype=np.bool_)
    if not promotion.is_floating(dtype):
        raise ValueError(f"jax.numpy.signbit is not well defined for {dtypes.long_name(dtype)}")
    bits = dtypes.itemsize_bits(dtype)
    as_int = convert.bitcast_convert_type(x, np.dtype(f"int{bits}"))
    shifted = binary.shift_right_arithmetic(as_int, promotion.scalar_like(as_int, bits - 1))
    return convert.convert(shifted, np.dtype(bool))


@partial(jit_when_traced, static_argnames=("copy",))
def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """x with NaN and infinities replaced.

    Args:
      x: any array; integers are left alone.
      copy: has no effect.
      nan: what NaN becomes.
      posinf: what inf becomes; the largest finite value by default.
      neginf: what -inf becomes; the smallest finite value by default.
    """
    del copy
    x = promotion.ensure_arraylike("nan_to_num", x)
    dtype = promotion.dtype_of(x)
    if not promotion.is_inexact(dtype):
        return x
    if promotion.is_complex(dtype):
        return binary.complex(
            nan_to_num(unary.real(x), nan=nan, posinf=posinf, neginf=neginf),
            nan_to_num(unary.imag(x), nan=nan, posinf=posinf, neginf=neginf),
        )
    info = dtypes.finfo(dtype)
    greatest: ArrayLike = info.max if posinf is None else posinf
    least: ArrayLike = info.min if neginf is None else neginf
    out = where(isnan(x), promotion.as_type(nan, dtype, False), x)
    for infinity, finite in ((np.inf, greatest), (-np.inf, least)):
        is_it = compare.eq(out, promotion.scalar_like(out, infinity))
        out = where(is_it, promotion.as_type(finite, dtype, False), out)
    return out


# --- bits and truth -------------------------------------------------------------------------------


@jit_when_traced
def bitwise_count(x: ArrayLike, /) -> Array:
    """Number of bits set in |x|, as uint8."""
    (x,) = promotion.promote_args_numeric("bitwise_count", x)
    return convert.convert(unary.population_count(absolute(x)), np.dtype(np.uint8))


def logical_not(x: ArrayLike, /) -> Array:
    """True where x is zero."""
    check_arraylike("logical_not", x)
    return unary.bitwise_not(to_bool(x))


def to_bool(x: ArrayLike) -> ArrayLike:
    """x != 0."""
    dtype = promotion.dtype_of(x)
    return x if dtype == np.bool_ else compare.ne(x, promotion.scalar_like(x, 0))


@partial(custom_jvp, nondiff_argnums=(0,))
def _sinc_maclaurin(k: int, x: Array) -> Array:
    """Derivative of order `k` of sin(x) / x at 0, written so that it depends on x."""
    value = 0.0 if k % 2 else (-1) ** (k // 2) / (k + 1)
    return binary.add(binary.mul(x, promotion.scalar_like(x, 0)), promotion.scalar_like(x, value))


@_sinc_maclaurin.defjvp
def _sinc_maclaurin_jvp(
    k: int, primals: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _sinc_maclaurin(k, x), binary.mul(_sinc_maclaurin(k + 1, x), dx)


@jit_when_traced
def sinc(x: ArrayLike, /) -> Array:
    """sin(pi x) / (pi x), 1 at 0."""
    (x,) = promote_args_inexact("sinc", x)
    is_zero = compare.eq(x, promotion.scalar_like(x, 0))
    pi_x = binary.mul(promotion.scalar_like(x, np.pi), x)
    safe = where(is_zero, promotion.scalar_like(x, 1), pi_x)
    return where(is_zero, _sinc_maclaurin(0, pi_x), binary.div(unary.sin(safe), safe))
