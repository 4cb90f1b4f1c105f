"""Elementwise functions of one operand: `sin`, `floor`, `sign`, `degrees` and the like.

Integers are promoted to the default float where a function requires floats. Angles are in radians.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.functions import UnaryFunction, last_sections, one_operation, public
from jitney.numpy.promotion import check_arraylike, promote_args_inexact
from jitney.numpy.selection import where
from jitney.primitives.elementwise import binary, compare, convert, powers, select, unary

# The dtypes that float functions do not convert.
_INEXACT: frozenset[Any] = frozenset(
    map(
        np.dtype, (np.float32, np.float64, np.float16, dtypes.bfloat16, np.complex64, np.complex128)
    )
)


_OPERANDS = """
    Args:
      x: a real or complex array; integers and booleans are promoted to the default float.

    Returns: an array of the shape of `x`, of inexact dtype.
"""


def float_function(
    name: str, op: Callable[[Any], Any], doc: str, example: str, printed: str, error: str = ""
) -> UnaryFunction:
    """Returns a function of one float or complex operand.

    Args:
      name: the name of the function.
      op: the lax function that computes it.
      doc: the first line of its docstring.
      example: a call of the function, as Python code, for the docstring.
      printed: the result of `example` as Python prints it.
      error: the error bound of the results, for the docstring; "" if they are correctly rounded.
    """

    def function(x: ArrayLike, /) -> Array:
        if isinstance(x, Array) and x.aval.dtype in _INEXACT:
            return op(x)
        return op(*promote_args_inexact(name, x))

    shown = last_sections(example, printed, error)
    return one_operation(public(function, name, f"{doc}\n{_OPERANDS}{shown}"))


def plain_function(
    name: str, op: Callable[[Any], Any], doc: str, example: str, printed: str
) -> UnaryFunction:
    """Returns a function of one operand of a dtype that `op` accepts; see `float_function`."""

    def function(x: ArrayLike, /) -> Array:
        if not isinstance(x, Array):
            check_arraylike(name, x)
        return op(x)

    shown = last_sections(example, printed)
    return one_operation(public(function, name, f"{doc}\n{shown}"))


# --- floats in, floats out ----------------------------------------------------------------------

sin = float_function(
    "sin", unary.sin, "Computes the sine, elementwise.",
    "jnp.sin(jnp.array([0.0, jnp.pi / 2])).round(3)", "Array([0., 1.], dtype=float32)",
    error="2 ulp",
)  # fmt: skip
cos = float_function(
    "cos", unary.cos, "Computes the cosine, elementwise.",
    "jnp.cos(jnp.array([0.0, jnp.pi / 3])).round(3)", "Array([1. , 0.5], dtype=float32)",
    error="2 ulp",
)  # fmt: skip
tan = float_function(
    "tan", unary.tan, "Computes the tangent, elementwise.",
    "jnp.tan(jnp.array([0.0, jnp.pi / 4])).round(3)", "Array([0., 1.], dtype=float32)",
    error="3 ulp in float32, 2.5 in float64",
)  # fmt: skip
arcsin = asin = float_function(
    "arcsin", unary.asin, "Computes the arc sine, in [-pi/2, pi/2].",
    "jnp.arcsin(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 1.571], dtype=float32)",
    error="2.5 ulp",
)  # fmt: skip
arccos = acos = float_function(
    "arccos", unary.acos, "Computes the arc cosine, in [0, pi].",
    "jnp.arccos(jnp.array([1.0, 0.0])).round(3)", "Array([0.   , 1.571], dtype=float32)",
    error="2 ulp",
)  # fmt: skip
arctan = atan = float_function(
    "arctan", unary.atan, "Computes the arc tangent, in [-pi/2, pi/2].",
    "jnp.arctan(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 0.785], dtype=float32)",
    error="2 ulp",
)  # fmt: skip
sinh = float_function(
    "sinh", unary.sinh, "Computes the hyperbolic sine.",
    "jnp.sinh(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 1.175], dtype=float32)",
    error="2 ulp",
)  # fmt: skip
cosh = float_function(
    "cosh", unary.cosh, "Computes the hyperbolic cosine.",
    "jnp.cosh(jnp.array([0.0, 1.0])).round(3)", "Array([1.   , 1.543], dtype=float32)",
    error="1.5 ulp",
)  # fmt: skip
tanh = float_function(
    "tanh", unary.tanh, "Computes the hyperbolic tangent.",
    "jnp.tanh(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 0.762], dtype=float32)",
    error="1.5 ulp in float32, 3 in float64",
)  # fmt: skip
arcsinh = asinh = float_function(
    "arcsinh", unary.asinh, "Computes the inverse hyperbolic sine.",
    "jnp.arcsinh(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 0.881], dtype=float32)",
    error="3 ulp",
)  # fmt: skip
arccosh = acosh = float_function(
    "arccosh", unary.acosh, "Computes the inverse hyperbolic cosine.",
    "jnp.arccosh(jnp.array([1.0, 2.0])).round(3)", "Array([0.   , 1.317], dtype=float32)",
    error="3 ulp",
)  # fmt: skip
arctanh = atanh = float_function(
    "arctanh", unary.atanh, "Computes the inverse hyperbolic tangent.",
    "jnp.arctanh(jnp.array([0.0, 0.5])).round(3)", "Array([0.   , 0.549], dtype=float32)",
    error="3 ulp",
)  # fmt: skip
exp = float_function(
    "exp", unary.exp, "Computes the exponential, elementwise.",
    "jnp.exp(jnp.array([0.0, 1.0])).round(3)", "Array([1.   , 2.718], dtype=float32)",
    error="1 ulp",
)  # fmt: skip
exp2 = float_function(
    "exp2", unary.exp2, "Computes 2 to the power of each element.",
    "jnp.exp2(jnp.array([0, 3]))", "Array([1., 8.], dtype=float32)",
    error="1 ulp",
)  # fmt: skip
expm1 = float_function(
    "expm1", unary.expm1, "Computes exp(x) - 1, accurate near 0.",
    "jnp.expm1(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 1.718], dtype=float32)",
    error="1.5 ulp in float32, 2 in float64",
)  # fmt: skip
log = float_function(
    "log", unary.log, "Computes the natural logarithm, elementwise.",
    "jnp.log(jnp.array([1.0, 2.0])).round(3)", "Array([0.   , 0.693], dtype=float32)",
    error="1 ulp",
)  # fmt: skip
log1p = float_function(
    "log1p", unary.log1p, "Computes log(1 + x), accurate near 0.",
    "jnp.log1p(jnp.array([0.0, 1.0])).round(3)", "Array([0.   , 0.693], dtype=float32)",
    error="1 ulp",
)  # fmt: skip
sqrt = float_function(
    "sqrt", unary.sqrt, "Computes the square root, elementwise.",
    "jnp.sqrt(jnp.array([4, 9]))", "Array([2., 3.], dtype=float32)",
)  # fmt: skip
cbrt = float_function(
    "cbrt", unary.cbrt, "Computes the cube root, elementwise; complex numbers are not accepted.",
    "jnp.cbrt(jnp.array([8.0, 27.0])).round(3)", "Array([2., 3.], dtype=float32)",
    error="1 ulp",
)  # fmt: skip
reciprocal = float_function(
    "reciprocal", powers.reciprocal, "Computes 1 / x, elementwise.",
    "jnp.reciprocal(jnp.array([2.0, 4.0]))", "Array([0.5 , 0.25], dtype=float32)",
)  # fmt: skip


def log10(x: ArrayLike, /) -> Array:
    """Computes the logarithm to base 10, elementwise.

    Args:
      x: a real or complex array; integers are promoted to the default float.

    Returns: an array of inexact dtype; for real operands, NaN for negative elements and -inf for 0.

    Example:
      >>> jnp.log10(jnp.array([1.0, 100.0])).round(3)
      Array([0., 2.], dtype=float32)
    """
    (x,) = promote_args_inexact("log10", x)
    return _on_parts(
        unary.log(x), lambda y: promotion.strong_scalar_like(y, np.log10(np.e)), binary.mul
    )


def log2(x: ArrayLike, /) -> Array:
    """Computes the logarithm to base 2, elementwise.

    Args:
      x: a real or complex array; integers are promoted to the default float.

    Returns: an array of inexact dtype; for real operands, NaN for negative elements and -inf for 0.

    Accuracy: within 2 ulp in float32, 1.5 in float64.

    Example:
      >>> jnp.log2(jnp.array([1.0, 8.0])).round(3)
      Array([0., 3.], dtype=float32)
    """
    (x,) = promote_args_inexact("log2", x)
    return unary.log2(x)


def _on_parts(x: Array, factor: Callable[[Any], Any], op: Callable[[Any, Any], Any]) -> Array:
    """Computes op(x, factor(x)) for a real factor, on both parts of complex operands."""
    if not promotion.is_complex(promotion.dtype_of(x)):
        return op(x, factor(x))
    re, im = unary.real(x), unary.imag(x)
    f = factor(re)
    return binary.complex(op(re, f), op(im, f))


def degrees(x: ArrayLike, /) -> Array:
    """Converts radians to degrees, elementwise.

    Example:
      >>> jnp.degrees(jnp.array([0.0, jnp.pi]))
      Array([  0., 180.], dtype=float32)
    """
    (x,) = promote_args_inexact("degrees", x)
    return binary.mul(x, promotion.scalar_like(x, 180 / np.pi))


def radians(x: ArrayLike, /) -> Array:
    """Converts degrees to radians, elementwise.

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
    """Computes x * x, elementwise; booleans are promoted to integers.

    Example:
      >>> jnp.square(jnp.array([-2, 3]))
      Array([4, 9], dtype=int32)
    """
    (x,) = promotion.promote_args_numeric("square", x)
    return unary.square(x)


sign = plain_function(
    "sign", unary.sign, "Computes the sign: -1, 0 or 1; x / |x| for complex numbers.",
    "jnp.sign(jnp.array([-2.0, 0.0, 3.0]))", "Array([-1.,  0.,  1.], dtype=float32)",
)  # fmt: skip
invert = bitwise_not = bitwise_invert = plain_function(
    "invert", unary.bitwise_not, "Inverts every bit; computes the logical NOT of booleans.",
    "jnp.invert(jnp.array([0, 5]))", "Array([-1, -6], dtype=int32)",
)  # fmt: skip


def negative(x: ArrayLike, /) -> Array:
    """Computes -x, elementwise; unsigned integers wrap around.

    Example:
      >>> jnp.negative(jnp.array([1, -2]))
      Array([-1,  2], dtype=int32)
    """
    check_arraylike("negative", x)
    return unary.neg(x)


def positive(x: ArrayLike, /) -> Array:
    """Returns x unchanged, as an array.

    Example:
      >>> jnp.positive(jnp.array([1, -2]))
      Array([ 1, -2], dtype=int32)
    """
    return promotion.ensure_arraylike("positive", x)


def absolute(x: ArrayLike, /) -> Array:
    """Computes the absolute value, elementwise; the modulus of complex numbers.

    Returns: an array of the dtype of `x`; for complex `x`, of the dtype of its real part.

    Example:
      >>> jnp.absolute(jnp.array([-1.5, 2.0]))
      Array([1.5, 2. ], dtype=float32)
      >>> jnp.absolute(jnp.exp(1j * jnp.array([0.5, 2.5]))).round(3)
      Array([1., 1.], dtype=float32)
    """
    check_arraylike("absolute", x)
    dtype = promotion.dtype_of(x)
    if dtype == np.bool_ or dtypes.issubdtype(dtype, np.unsignedinteger):
        return convert.as_value(x)
    return unary.abs(x)


abs: UnaryFunction = public(lambda x, /: absolute(x), "abs", absolute.__doc__ or "")


def fabs(x: ArrayLike, /) -> Array:
    """Computes the absolute value, elementwise, as a float.

    Raises:
      TypeError: if `x` is complex.

    Example:
      >>> jnp.fabs(jnp.array([-1, 2]))
      Array([1., 2.], dtype=float32)
    """
    check_arraylike("fabs", x)
    if promotion.is_complex(promotion.dtype_of(x)):
        raise TypeError(
            f"jnp.fabs: `x` must be real, but it is {promotion.dtype_of(x)}; use jnp.abs"
        )
    return unary.abs(*promote_args_inexact("fabs", x))


# --- rounding -----------------------------------------------------------------------------------


def floor(x: ArrayLike, /) -> Array:
    """Rounds x down to an integer, elementwise, in the dtype of x; integers are unchanged.

    Example:
      >>> jnp.floor(jnp.array([-1.5, 1.5]))
      Array([-2.,  1.], dtype=float32)
    """
    check_arraylike("floor", x)
    return (
        convert.as_value(x) if _is_integral(x) else unary.floor(*promote_args_inexact("floor", x))
    )


def ceil(x: ArrayLike, /) -> Array:
    """Rounds x up to an integer, elementwise, in the dtype of x; integers are unchanged.

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
    """Truncates x toward zero, elementwise, in the dtype of x; integers are unchanged.

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
    """Rounds x to the nearest integer, elementwise, with ties to even, as a float.

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


# --- bits and truth -------------------------------------------------------------------------------


@jit_when_traced
def bitwise_count(x: ArrayLike, /) -> Array:
    """Counts the set bits of |x|, elementwise, as uint8.

    Example:
      >>> jnp.bitwise_count(jnp.array([0, 7, 8]))
      Array([0, 3, 1], dtype=uint8)
    """
    (x,) = promotion.promote_args_numeric("bitwise_count", x)
    return convert.convert(unary.population_count(absolute(x)), np.dtype(np.uint8))


def logical_not(x: ArrayLike, /) -> Array:
    """Computes the logical negation, elementwise: True where x is zero.

    Example:
      >>> jnp.logical_not(jnp.array([0, 1, 2]))
      Array([ True, False, False], dtype=bool)
    """
    check_arraylike("logical_not", x)
    return unary.bitwise_not(to_bool(x))


def to_bool(x: ArrayLike) -> ArrayLike:
    """Returns x != 0, elementwise."""
    dtype = promotion.dtype_of(x)
    return x if dtype == np.bool_ else compare.ne(x, promotion.scalar_like(x, 0))


for _function in (
    absolute,
    bitwise_count,
    ceil,
    degrees,
    fabs,
    floor,
    log10,
    log2,
    logical_not,
    positive,
    radians,
    rint,
    square,
    trunc,
):
    _function.__module__ = "jax.numpy"
