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


_OPERANDS = """
    Args:
      x: numbers; integers and booleans are promoted to the default float.

    Returns: an array of the shape of `x`, of inexact dtype.
"""


def float_function(
    name: str, op: Callable[[Any], Any], doc: str, example: str, printed: str
) -> UnaryFunction:
    """A function of one float or complex operand.

    Args:
      name: of the function.
      op: the lax function that computes it.
      doc: the first line of its docstring.
      example: a call of it, as Python code, for the docstring.
      printed: what Python shows as its result.
    """

    def function(x: ArrayLike, /) -> Array:
        if isinstance(x, Array) and x.dtype in _INEXACT:
            return op(x)
        return op(*promote_args_inexact(name, x))

    shown = f"\n    Example:\n      >>> {example}\n      {printed}\n    "
    return public(function, name, f"{doc}\n{_OPERANDS}{shown}")


def plain_function(
    name: str, op: Callable[[Any], Any], doc: str, example: str, printed: str
) -> UnaryFunction:
    """A function of one operand of the dtypes that `op` takes, unpromoted; see `float_function`."""

    def function(x: ArrayLike, /) -> Array:
        if not isinstance(x, Array):
            check_arraylike(name, x)
        return op(x)

    shown = f"\n    Example:\n      >>> {example}\n      {printed}\n    "
    return public(function, name, f"{doc}\n{shown}")


# --- floats in, floats out ----------------------------------------------------------------------

sin = float_function(
    "sin", unary.sin, "Sine, elementwise.",
    "jnp.sin(jnp.array([0.0, jnp.pi / 2])).round(3)", "Array([0., 1.], dtype=float32)",
)  # fmt: skip
cos = float_function(
    "cos", unary.cos, "Cosine, elementwise.",
    "jnp.cos(jnp.array([0.0, jnp.pi / 3])).round(3)", "Array([1. , 0.5], dtype=float32)",
)  # fmt: skip
tan = float_function(
    "tan", unary.tan, "Tangent, elementwise.",
    "jnp.tan(jnp.array([0.0, jnp.pi / 4])).round(3)", "Array([0., 1.], dtype=float32)",
)  # fmt: skip
arcsin = asin = float_function(
    "arcsin", unary.asin, "Arc sine, in [-pi/2, pi/2].",
    "jnp.arcsin(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 1.571], dtype=float32)",
)  # fmt: skip
arccos = acos = float_function(
    "arccos", unary.acos, "Arc cosine, in [0, pi].",
    "jnp.arccos(jnp.array([1.0, 0.0])).round(3)", "Array([0.   , 1.571], dtype=float32)",
)  # fmt: skip
arctan = atan = float_function(
    "arctan", unary.atan, "Arc tangent, in [-pi/2, pi/2].",
    "jnp.arctan(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 0.785], dtype=float32)",
)  # fmt: skip
sinh = float_function(
    "sinh", unary.sinh, "Hyperbolic sine.",
    "jnp.sinh(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 1.175], dtype=float32)",
)  # fmt: skip
cosh = float_function(
    "cosh", unary.cosh, "Hyperbolic cosine.",
    "jnp.cosh(jnp.array([0.0, 1.0])).round(3)", "Array([1.   , 1.543], dtype=float32)",
)  # fmt: skip
tanh = float_function(
    "tanh", unary.tanh, "Hyperbolic tangent.",
    "jnp.tanh(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 0.762], dtype=float32)",
)  # fmt: skip
arcsinh = asinh = float_function(
    "arcsinh", unary.asinh, "Inverse hyperbolic sine.",
    "jnp.arcsinh(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 0.881], dtype=float32)",
)  # fmt: skip
arccosh = acosh = float_function(
    "arccosh", unary.acosh, "Inverse hyperbolic cosine.",
    "jnp.arccosh(jnp.array([1.0, 2.0])).round(3)", "Array([0.   , 1.317], dtype=float32)",
)  # fmt: skip
arctanh = atanh = float_function(
    "arctanh", unary.atanh, "Inverse hyperbolic tangent.",
    "jnp.arctanh(jnp.array([0.0, 0.5])).round(3)", "Array([0.   , 0.549], dtype=float32)",
)  # fmt: skip
exp = float_function(
    "exp", unary.exp, "Exponential, elementwise.",
    "jnp.exp(jnp.array([0.0, 1.0])).round(3)", "Array([1.   , 2.718], dtype=float32)",
)  # fmt: skip
exp2 = float_function(
    "exp2", unary.exp2, "2 to the power of each element.",
    "jnp.exp2(jnp.array([0, 3]))", "Array([1., 8.], dtype=float32)",
)  # fmt: skip
expm1 = float_function(
    "expm1", unary.expm1, "exp(x) - 1, accurate near 0.",
    "jnp.expm1(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 1.718], dtype=float32)",
)  # fmt: skip
log = float_function(
    "log", unary.log, "Natural logarithm, elementwise.",
    "jnp.log(jnp.array([1.0, 2.0])).round(3)", "Array([0.   , 0.693], dtype=float32)",
)  # fmt: skip
log1p = float_function(
    "log1p", unary.log1p, "log(1 + x), accurate near 0.",
    "jnp.log1p(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 0.693], dtype=float32)",
)  # fmt: skip
sqrt = float_function(
    "sqrt", unary.sqrt, "Square root, elementwise.",
    "jnp.sqrt(jnp.array([4, 9]))", "Array([2., 3.], dtype=float32)",
)  # fmt: skip
cbrt = float_function(
    "cbrt", unary.cbrt, "Cube root, elementwise.",
    "jnp.cbrt(jnp.array([8.0, 27.0])).round(3)", "Array([2., 3.], dtype=float32)",
)  # fmt: skip
reciprocal = float_function(
    "reciprocal", unary.reciprocal, "1 / x, elementwise.",
    "jnp.reciprocal(jnp.array([2.0, 4.0]))", "Array([0.5 , 0.25], dtype=float32)",
)  # fmt: skip


def log10(x: ArrayLike, /) -> Array:
    """Logarithm to base 10, elementwise.

    Args:
      x: numbers; integers are promoted to the default float.

    Returns: an array of inexact dtype; NaN for negative real numbers, -inf for 0.

    Example:
      >>> jnp.log10(jnp.array([1.0, 100.0])).round(3)
      Array([0., 2.], dtype=float32)
    """
    (x,) = promote_args_inexact("log10", x)
    return _on_parts(
        unary.log(x), lambda y: promotion.strong_scalar_like(y, np.log10(np.e)), binary.mul
    )


def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2, elementwise.

    Args:
      x: numbers; integers are promoted to the default float.

    Returns: an array of inexact dtype; NaN for negative real numbers, -inf for 0.

    Example:
      >>> jnp.log2(jnp.array([1.0, 8.0])).round(3)
      Array([0., 3.], dtype=float32)
    """
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
    """Radians to degrees.

    Example:
      >>> jnp.degrees(jnp.array([0.0, jnp.pi]))
      Array([  0., 180.], dtype=float32)
    """
    (x,) = promote_args_inexact("degrees", x)
    return binary.mul(x, promotion.scalar_like(x, 180 / np.pi))


def radians(x: ArrayLike, /) -> Array:
    """Degrees to radians.

    Example:
      >>> jnp.radians(jnp.array([0.0, 180.0])).round(3)
      Array([0.   , 3.142], dtype=float32)
    """
    (x,) = promote_args_inexact("radians", x)
    return binary.mul(x, promotion.scalar_like(x, np.pi / 180))


rad2deg: UnaryFunction = public(lambda x, /: degrees(x), "rad2deg", degrees.__doc__ or "")
deg2rad: UnaryFunction = public(lambda x, /: radians(x), "deg2rad", radians.__doc__ or "")

# --- any number ---------------------------------------------------------------------------------


def square(x: ArrayLike, /) -> Array:
    """x * x, elementwise; booleans become integers.

    Example:
      >>> jnp.square(jnp.array([-2, 3]))
      Array([4, 9], dtype=int32)
    """
    (x,) = promotion.promote_args_numeric("square", x)
    return unary.square(x)


sign = plain_function(
    "sign", unary.sign, "-1, 0 or 1; x / |x| for complex numbers.",
    "jnp.sign(jnp.array([-2.0, 0.0, 3.0]))", "Array([-1.,  0.,  1.], dtype=float32)",
)  # fmt: skip
invert = bitwise_not = bitwise_invert = plain_function(
    "invert", unary.bitwise_not, "Every bit flipped; logical negation of booleans.",
    "jnp.invert(jnp.array([0, 5]))", "Array([-1, -6], dtype=int32)",
)  # fmt: skip


def negative(x: ArrayLike, /) -> Array:
    """-x, elementwise; unsigned integers wrap.

    Example:
      >>> jnp.negative(jnp.array([1, -2]))
      Array([-1,  2], dtype=int32)
    """
    check_arraylike("negative", x)
    return unary.neg(x)


def positive(x: ArrayLike, /) -> Array:
    """x itself, as an array.

    Example:
      >>> jnp.positive(jnp.array([1, -2]))
      Array([ 1, -2], dtype=int32)
    """
    return promotion.ensure_arraylike("positive", x)


def absolute(x: ArrayLike, /) -> Array:
    """Absolute value; the modulus of complex numbers.

    Returns: an array of the dtype of `x`; of complex numbers, of the real dtype of that width.

    Example:
      >>> jnp.absolute(jnp.array([-1.5, 2.0]))
      Array([1.5, 2. ], dtype=float32)
      >>> jnp.absolute(3 + 4j)
      Array(5., dtype=float32, weak_type=True)
    """
    check_arraylike("absolute", x)
    dtype = promotion.dtype_of(x)
    if dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger):
        return convert.as_value(x)
    return unary.abs(x)


abs: UnaryFunction = public(lambda x, /: absolute(x), "abs", absolute.__doc__ or "")


def fabs(x: ArrayLike, /) -> Array:
    """Absolute value, as a float.

    Raises:
      TypeError: for complex numbers.

    Example:
      >>> jnp.fabs(jnp.array([-1, 2]))
      Array([1., 2.], dtype=float32)
    """
    check_arraylike("fabs", x)
    if promotion.is_complex(promotion.dtype_of(x)):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return unary.abs(*promote_args_inexact("fabs", x))


# --- rounding -----------------------------------------------------------------------------------


def floor(x: ArrayLike, /) -> Array:
    """Largest integer not above x, in the dtype of x; integers are left alone.

    Example:
      >>> jnp.floor(jnp.array([-1.5, 1.5]))
      Array([-2.,  1.], dtype=float32)
    """
    check_arraylike("floor", x)
    return (
        convert.as_value(x) if _is_integral(x) else unary.floor(*promote_args_inexact("floor", x))
    )


def ceil(x: ArrayLike, /) -> Array:
    """Smallest integer not below x, in the dtype of x; integers are left alone.

    Example:
      >>> jnp.ceil(jnp.array([-1.5, 1.5]))
      Array([-1.,  2.], dtype=float32)
    """
    check_arraylike("ceil", x)
    return convert.as_value(x) if _is_integral(x) else unary.ceil(*promote_args_inexact("ceil", x))


def _is_integral(x: ArrayLike) -> bool:
    dtype = promotion.dtype_of(x)
    return dtype == np.bool_ or promotion.is_integer(dtype)


@jit_when_traced
def trunc(x: ArrayLike) -> Array:
    """x without its fraction, in the dtype of x; integers are left alone.

    Example:
      >>> jnp.trunc(jnp.array([-1.5, 1.5]))
      Array([-1.,  1.], dtype=float32)
    """
    check_arraylike("trunc", x)
    if _is_integral(x):
        return convert.as_value(x)
    return where(compare.lt(x, promotion.scalar_like(x, 0)), unary.ceil(x), unary.floor(x))


@jit_when_traced
def rint(x: ArrayLike, /) -> Array:
    """The nearest integer, as a float; halves go to the even one.

    Example:
      >>> jnp.rint(jnp.array([0.5, 1.5, 2.4]))
      Array([0., 2., 2.], dtype=float32)
    """
    check_arraylike("rint", x)
    dtype = promotion.dtype_of(x)
    if _is_integral(x):
        return convert.convert(x, dtypes.canonicalize_dtype(float))
    if promotion.is_complex(dtype):
        return binary.complex(rint(unary.real(x)), rint(unary.imag(x)))
    return select.round(x, select.RoundingMethod.TO_NEAREST_EVEN)


# --- complex numbers ------------------------------------------------------------------------------


def conjugate(x: ArrayLike, /) -> Array:
    """Complex conjugate; real numbers are left alone.

    Example:
      >>> jnp.conjugate(jnp.array([1 + 2j]))
      Array([1.-2.j], dtype=complex64)
    """
    check_arraylike("conjugate", x)
    return unary.conj(x) if promotion.is_complex(promotion.dtype_of(x)) else convert.as_value(x)


conj: UnaryFunction = public(lambda x, /: conjugate(x), "conj", conjugate.__doc__ or "")


def real(val: ArrayLike, /) -> Array:
    """Real part; real numbers are left alone.

    Example:
      >>> jnp.real(jnp.array([1 + 2j]))
      Array([1.], dtype=float32)
    """
    check_arraylike("real", val)
    return (
        unary.real(val) if promotion.is_complex(promotion.dtype_of(val)) else convert.as_value(val)
    )


def imag(val: ArrayLike, /) -> Array:
    """Imaginary part; zeros for real numbers.

    Example:
      >>> jnp.imag(jnp.array([1 + 2j]))
      Array([2.], dtype=float32)
    """
    check_arraylike("imag", val)
    return (
        unary.imag(val)
        if promotion.is_complex(promotion.dtype_of(val))
        else creation.full_like(val, 0)
    )


@partial(jit_when_traced, static_argnames=("deg",))
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Argument of complex numbers, in (-pi, pi].

    Args:
      z: numbers; that of real scalars has the default dtype of floats.
      deg: whether to give degrees instead of radians.

    Example:
      >>> jnp.angle(jnp.array([1.0, 1j]), deg=True)
      Array([ 0., 90.], dtype=float32)
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
    """True where the imaginary part is zero.

    Example:
      >>> jnp.isreal(jnp.array([1.0, 1j]))
      Array([ True, False], dtype=bool)
    """
    part = imag(x)
    return compare.eq(part, promotion.scalar_like(part, 0))


@jit_when_traced
def iscomplex(x: ArrayLike) -> Array:
    """True where the imaginary part is not zero.

    Example:
      >>> jnp.iscomplex(jnp.array([1.0, 1j]))
      Array([False,  True], dtype=bool)
    """
    part = imag(x)
    return compare.ne(part, promotion.scalar_like(part, 0))


# --- float classes --------------------------------------------------------------------------------


def isnan(x: ArrayLike, /) -> Array:
    """True where x is NaN.

    Example:
      >>> jnp.isnan(jnp.array([1.0, jnp.nan]))
      Array([False,  True], dtype=bool)
    """
    check_arraylike("isnan", x)
    return compare.ne(x, x)


def isfinite(x: ArrayLike, /) -> Array:
    """True where x is neither infinite nor NaN.

    Example:
      >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
      Array([ True, False, False], dtype=bool)
    """
    check_arraylike("isfinite", x)
    dtype = promotion.dtype_of(x)
    if promotion.is_floating(dtype):
        return unary.is_finite(x)
    if promotion.is_complex(dtype):
        return binary.bitwise_and(unary.is_finite(unary.real(x)), unary.is_finite(unary.imag(x)))
    return creation.full_like(x, True, dtype=np.bool_)


@jit_when_traced
def isinf(x: ArrayLike, /) -> Array:
    """True where x is infinite, or a part of a complex x is.

    Example:
      >>> jnp.isinf(jnp.array([1.0, -jnp.inf, jnp.nan]))
      Array([False,  True, False], dtype=bool)
    """
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
    """True where x is +inf.

    Args:
      x: real numbers.
      out: must be None.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf]))
      Array([ True, False], dtype=bool)
    """
    return _is_infinity("isposinf", x, np.inf, out)


def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """True where x is -inf.

    Args:
      x: real numbers.
      out: must be None.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf]))
      Array([False,  True], dtype=bool)
    """
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
    """True where the sign bit is set: negative numbers, -0.0 and NaNs of that sign.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.signbit(jnp.array([-0.0, 0.0, -1.0]))
      Array([ True, False,  True], dtype=bool)
    """
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

    Example:
      >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan]), nan=-1.0)
      Array([ 1., -1.], dtype=float32)
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
    """Number of bits set in |x|, as uint8.

    Example:
      >>> jnp.bitwise_count(jnp.array([0, 7, 8]))
      Array([0, 3, 1], dtype=uint8)
    """
    (x,) = promotion.promote_args_numeric("bitwise_count", x)
    return convert.convert(unary.population_count(absolute(x)), np.dtype(np.uint8))


def logical_not(x: ArrayLike, /) -> Array:
    """True where x is zero.

    Example:
      >>> jnp.logical_not(jnp.array([0, 1, 2]))
      Array([ True, False, False], dtype=bool)
    """
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
    """sin(pi x) / (pi x), elementwise; 1 at 0.

    Example:
      >>> jnp.sinc(jnp.array([0.0, 0.5])).round(3)
      Array([1.   , 0.637], dtype=float32)
    """
    (x,) = promote_args_inexact("sinc", x)
    is_zero = compare.eq(x, promotion.scalar_like(x, 0))
    pi_x = binary.mul(promotion.scalar_like(x, np.pi), x)
    safe = where(is_zero, promotion.scalar_like(x, 1), pi_x)
    return where(is_zero, _sinc_maclaurin(0, pi_x), binary.div(unary.sin(safe), safe))
