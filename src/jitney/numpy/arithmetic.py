"""Elementwise arithmetic on two operands: sums, products, quotients, powers, divisors.

`add`, `multiply` and the like are `ufunc` objects. This module defines the plain functions that
they wrap, which the operators of arrays call directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, SupportsInt, TypeGuard, TypeVar

import numpy as np

from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.settings import config
from jitney.core.tracing.trace import state
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.division import zero_like
from jitney.numpy.float_classes import isnan
from jitney.numpy.functions import BinaryFunction, last_sections, one_operation, public
from jitney.numpy.promotion import promote_args, promote_args_inexact, promote_args_numeric
from jitney.numpy.selection import where
from jitney.numpy.unary_math import absolute
from jitney.primitives.array import creation
from jitney.primitives.elementwise import binary, compare, convert, masks, powers, select, unary
from jitney.primitives.elementwise.compiled_rules import LARGE
from jitney.runtime.arrays.array import ArrayImpl

if TYPE_CHECKING:
    from jitney.core.typing import Value

P = ParamSpec("P")
R = TypeVar("R")

_BOOL = np.dtype(bool)


_OPERANDS = """
    Args:
      x: an array.
      y: an array, broadcast against `x`.

    Returns: an array of the common dtype.
"""
_FLOAT_OPERANDS = """
    Args:
      x1: an array; integers and booleans are promoted to the default float.
      x2: an array, broadcast against `x1`.

    Returns: an array of the common dtype, float or complex.
"""


def arithmetic(
    name: str,
    op: Callable[[Any, Any], Any],
    bool_op: Callable[[Any, Any], Any] | None,
    doc: str,
    example: str,
    printed: str,
    masked_op: Callable[[Any, Any], Any] | None = None,
) -> BinaryFunction:
    """Returns an arithmetic function of two operands, which are promoted to a common dtype.

    Args:
      name: the name of the function.
      op: the lax function that computes it.
      bool_op: the lax function for booleans, if it differs.
      doc: the first line of its docstring.
      example: a call of the function, as Python code, for the docstring.
      printed: the result of `example` as Python prints it.
      masked_op: a function of the unpromoted operands, used if exactly one of them is boolean.
    """

    def function(x: ArrayLike, y: ArrayLike, /) -> Array:
        if isinstance(x, Array):
            aval = x.aval
            dtype = aval.dtype
            if dtype != _BOOL and (dtype not in dtypes.WIDE or config.x64_enabled()):
                if isinstance(y, Array):
                    if y.aval is aval:
                        return op(x, y)
                elif (
                    dtype in _FLOATS if type(y) is float else type(y) is int and dtype in _NUMBERS
                ) and (not aval.weak_type or dtypes.is_of_scalars(dtype, True)):
                    return op(x, convert.scalar_operand(y, dtype, aval.weak_type))
        if masked_op is not None and masks.among((x, y)):
            return masked_op(x, y)
        x, y = promote_args(name, x, y)
        if bool_op is not None and promotion.dtype_of(x) == _BOOL:
            return bool_op(x, y)
        return op(x, y)

    shown = last_sections(example, printed)
    return one_operation(public(function, name, f"{doc}\n{_OPERANDS}{shown}"))


_FLOATS: frozenset[Any] = frozenset(
    map(
        np.dtype, (np.float32, np.float64, np.float16, dtypes.bfloat16, np.complex64, np.complex128)
    )
)

_NUMBERS = _FLOATS | frozenset(map(np.dtype, "bhilBHIL"))

add = arithmetic(
    "add", binary.add, binary.bitwise_or, "Computes x + y; the logical OR of booleans.",
    "jnp.add(jnp.array([1, 2]), 10)", "Array([11, 12], dtype=int32)",
)  # fmt: skip
subtract = arithmetic(
    "subtract", binary.sub, None, "Computes x - y; booleans are not accepted.",
    "jnp.subtract(jnp.array([1, 2]), 10)", "Array([-9, -8], dtype=int32)",
)  # fmt: skip


_SELECTED_AT_ONCE = frozenset(map(np.dtype, (np.float16, np.float32, np.complex64)))


def _multiply_by_mask(x: ArrayLike, y: ArrayLike) -> Array:
    if type(x) is ArrayImpl and type(y) is ArrayImpl and state.trace is state.eval_trace:
        mask, other = (x, y) if x.dtype == _BOOL else (y, x)
        aval = other.aval
        if aval.dtype in _SELECTED_AT_ONCE and mask.shape == aval.shape and not aval.weak_type:
            zeros = (
                np.zeros(aval.shape, aval.dtype) if aval.size < LARGE
                else np.broadcast_to(aval.dtype.type(0), aval.shape)
            )  # fmt: skip
            return select.select_n_p.bind(mask, zeros, other)
    with masks.noting():
        return binary.mul(*promote_args("multiply", *masks.as_arrays((x, y))))


multiply = arithmetic(
    "multiply", binary.mul, binary.bitwise_and, "Computes x * y; the logical AND of booleans.",
    "jnp.multiply(jnp.array([1, 2]), 2.5)", "Array([2.5, 5. ], dtype=float32, weak_type=True)",
    _multiply_by_mask,
)  # fmt: skip
maximum = arithmetic(
    "maximum", binary.max, None,
    "Computes the elementwise maximum; NaN if either element is NaN.",
    "jnp.maximum(jnp.array([1.0, 5.0, jnp.nan]), 2.0)", "Array([ 2.,  5., nan], dtype=float32)",
)  # fmt: skip
minimum = arithmetic(
    "minimum", binary.min, None,
    "Computes the elementwise minimum; NaN if either element is NaN.",
    "jnp.minimum(jnp.array([1.0, 5.0, jnp.nan]), 2.0)", "Array([ 1.,  2., nan], dtype=float32)",
)  # fmt: skip


def float_arithmetic(
    name: str,
    op: Callable[[Any, Any], Any],
    doc: str,
    example: str,
    printed: str,
    error: str = "",
) -> BinaryFunction:
    """Returns a function of two operands of a common float or complex dtype; see `arithmetic`.

    `error` is the error bound of the results, for the docstring; "" if they are correctly rounded.
    """

    def function(x1: ArrayLike, x2: ArrayLike, /) -> Array:
        if isinstance(x1, Array) and isinstance(x2, Array):
            aval = x1.aval
            if x2.aval is aval and aval.dtype in _FLOATS:
                return op(x1, x2)
        return op(*promote_args_inexact(name, x1, x2))

    shown = last_sections(example, printed, error)
    return one_operation(public(function, name, f"{doc}\n{_FLOAT_OPERANDS}{shown}"))


divide = float_arithmetic(
    "divide", binary.div,
    "Computes x1 / x2 in floating point; division by zero gives infinities and NaN.",
    "jnp.divide(jnp.array([1, 2]), 4)", "Array([0.25, 0.5 ], dtype=float32)",
)  # fmt: skip
true_divide = float_arithmetic(
    "true_divide", binary.div, "Computes x1 / x2 in floating point; an alias of `divide`.",
    "jnp.true_divide(jnp.array([1, 2]), 4)", "Array([0.25, 0.5 ], dtype=float32)",
)  # fmt: skip
arctan2 = atan2 = float_arithmetic(
    "arctan2", binary.atan2, "Computes the polar angle of the point (x2, x1), in [-pi, pi].",
    "jnp.arctan2(jnp.array([0.0, 1.0]), jnp.array([-1.0, 1.0])).round(3)",
    "Array([3.142, 0.785], dtype=float32)", error="2 ulp",
)  # fmt: skip
nextafter = float_arithmetic(
    "nextafter", binary.nextafter, "Returns the float adjacent to x1 in the direction of x2.",
    "jnp.nextafter(jnp.float32(0), jnp.float32(1))", "Array(1.e-45, dtype=float32)",
)  # fmt: skip


# --- powers -------------------------------------------------------------------------------------


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes x1 raised to the power x2, elementwise; also written x1 ** x2.

    A concrete integer exponent is expanded into a chain of multiplications. An integer array raised
    to an array of nonnegative integers remains integer.

    Args:
      x1: bases.
      x2: exponents, broadcast against `x1`.

    Returns: the powers, of the common dtype; NaN for a negative base with a fractional exponent.

    Accuracy: within 1 ulp in float32, 2 in float64. A chain of multiplications rounds at each step.

    Example:
      >>> jnp.power(jnp.array([1, 2, 3]), 2)
      Array([1, 4, 9], dtype=int32)
      >>> jnp.power(2.0, jnp.array([-1.0, 0.5]))
      Array([0.5      , 1.4142135], dtype=float32)
    """
    promotion.check_arraylike("power", x1, x2)
    if _is_static_integer(x2, promotion.is_inexact(promotion.dtype_of(x1))):
        (x1,) = promotion.promote_dtypes_numeric(x1)
        return powers.integer_pow(x1, int(x2))
    base, exponent = promote_args_numeric("power", x1, x2)
    if promotion.is_integer(promotion.dtype_of(base)):
        return _integer_power(base, exponent)
    if promotion.is_inexact(promotion.dtype_of(x1)) and promotion.is_integer(
        promotion.dtype_of(x2)
    ):
        (base,) = promotion.promote_dtypes_inexact(x1)
        return binary.pow(*promotion.align_ranks("power", base, x2))
    return binary.pow(base, exponent)


def _is_static_integer(x: ArrayLike, may_be_negative: bool) -> TypeGuard[SupportsInt]:
    """Returns whether exponent `x` is a concrete integer scalar.

    A negative scalar array counts only if `may_be_negative`. A negative Python integer always
    counts; if the bases are integers, computing the power then raises an error.
    """
    if isinstance(x, np.ndarray | ArrayImpl):
        is_one = x.ndim == 0 and promotion.is_integer(x.dtype)
        return is_one and (may_be_negative or int(x) >= 0)
    return isinstance(x, int | np.integer)


@jit_when_traced(inline=True, compiled_from=LARGE)
def _integer_power(x: ArrayLike, n: ArrayLike) -> Array:
    """Computes x**n of integers by squaring, using only the bits of n that affect the result."""
    is_zero = binary.bitwise_and(compare.eq(x, zero_like(x)), compare.ne(n, zero_like(n)))
    dtype = promotion.dtype_of(x)
    acc = where(
        is_zero, convert.scalar_operand(0, dtype, False), convert.scalar_operand(1, dtype, False)
    )
    one = promotion.scalar_like(n, 1)
    # A base other than 0, 1 and -1 overflows any integer dtype before the exponent reaches 64.
    for _ in range(6):
        acc = where(binary.bitwise_and(n, one), binary.mul(acc, x), acc)
        x = binary.mul(x, x)
        n = binary.shift_right_logical(n, one)
    return acc


pow: BinaryFunction = public(lambda x1, x2, /: power(x1, x2), "pow", power.__doc__ or "")


def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Computes x raised to the power y in floating point; integers are promoted to floats.

    Args:
      x: bases.
      y: exponents, broadcast against `x`.

    Returns: an array of a float or complex dtype.

    Example:
      >>> jnp.float_power(jnp.array([2, 4]), -1)
      Array([0.5 , 0.25], dtype=float32)
    """
    return binary.pow(*promote_args_inexact("float_power", x, y))


# --- sums of exponentials, norms -----------------------------------------------------------------


def _custom_jvp_named(name: str) -> Callable[[Callable[P, R]], custom_jvp[P, R]]:
    """Returns a decorator that makes a function a `custom_jvp` named `name`.

    All equations that call the function share one jaxpr.
    """

    def decorate(function: Callable[P, R]) -> custom_jvp[P, R]:
        function.__name__ = name
        wrapper = custom_jvp(function)
        wrapper.shares_program = True
        return wrapper

    return decorate


@_custom_jvp_named("logaddexp")
def _logaddexp(x1: ArrayLike, x2: ArrayLike) -> Array:
    if promotion.is_complex(promotion.dtype_of(x1)):
        top = binary.max(x1, x2)
        delta = binary.sub(binary.add(x1, x2), binary.mul(top, promotion.scalar_like(top, 2)))
        total = binary.add(top, unary.log1p(unary.exp(delta)))
        return binary.complex(unary.real(total), _wrap_between(unary.imag(total), np.pi))
    top = binary.max(x1, x2)
    delta = binary.sub(x1, x2)
    undefined = isnan(delta)  # equal infinities
    other = binary.add(x1, x2)
    total = binary.add(top, unary.log1p(unary.exp(unary.neg(unary.abs(delta)))))
    return select.select(undefined, other, total)


def _wrap_between(x: ArrayLike, bound: float) -> Array:
    """Returns `x` wrapped into [-bound, bound) by adding a multiple of 2 * bound."""
    width = promotion.scalar_like(x, 2 * bound)
    moved = binary.rem(binary.add(x, promotion.scalar_like(x, bound)), width)
    moved = select.select(compare.lt(moved, zero_like(moved)), binary.add(moved, width), moved)
    return binary.sub(moved, promotion.scalar_like(x, bound))


def _softmax_weight(x: ArrayLike, out: ArrayLike, exp: Callable[[Any], Any]) -> Array:
    """Computes exp(x - out), replacing +inf by 0, as JAX does; NaN where both are -inf."""

    def finite(v: ArrayLike) -> Array:
        zero = convert.scalar_operand(0, *promotion.type_of(v))
        return where(compare.eq(v, promotion.scalar_like(v, np.inf)), zero, v)

    return exp(binary.sub(finite(x), finite(out)))


@_logaddexp.defjvp
def _logaddexp_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x1, x2), (t1, t2) = primals, tangents
    out = _logaddexp(x1, x2)
    w1, w2 = (_softmax_weight(x, out, unary.exp) for x in (x1, x2))
    return out, binary.add(binary.mul(t1, w1), binary.mul(t2, w2))


@_custom_jvp_named("logaddexp2")
def _logaddexp2(x1: ArrayLike, x2: ArrayLike) -> Array:
    top = binary.max(x1, x2)
    if promotion.is_complex(promotion.dtype_of(x1)):
        delta = binary.sub(binary.add(x1, x2), binary.mul(top, promotion.scalar_like(top, 2)))
        tail = binary.mul(promotion.scalar_like(top, 1 / np.log(2)), unary.log1p(unary.exp2(delta)))
        total = binary.add(top, tail)
        return binary.complex(
            unary.real(total), _wrap_between(unary.imag(total), float(np.pi / np.log(2)))
        )
    delta = binary.sub(x1, x2)
    undefined = isnan(delta)
    other = binary.add(x1, x2)
    tail = unary.log1p(unary.exp2(unary.neg(unary.abs(delta))))
    total = binary.add(top, binary.mul(promotion.scalar_like(tail, 1 / np.log(2)), tail))
    return select.select(undefined, other, total)


@_logaddexp2.defjvp
def _logaddexp2_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x1, x2), (t1, t2) = primals, tangents
    out = _logaddexp2(x1, x2)
    w1, w2 = (_softmax_weight(x, out, unary.exp2) for x in (x1, x2))
    return out, binary.add(binary.mul(t1, w1), binary.mul(t2, w2))


def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes log(exp(x1) + exp(x2)), without overflow.

    Args:
      x1: logarithms; integers are promoted to the default float.
      x2: logarithms, broadcast against `x1`.

    Returns: an array of a float or complex dtype.

    Example:
      >>> jnp.logaddexp(jnp.array([0.0, 1000.0]), 0.0)
      Array([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    return _logaddexp(*promote_args_inexact("logaddexp", x1, x2))


def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes log2(2**x1 + 2**x2), without overflow.

    Args:
      x1: logarithms to base 2; integers are promoted to the default float.
      x2: logarithms to base 2, broadcast against `x1`.

    Returns: an array of a float or complex dtype.

    Example:
      >>> jnp.logaddexp2(3.0, 3.0)
      Array(4., dtype=float32, weak_type=True)
    """
    return _logaddexp2(*promote_args_inexact("logaddexp2", x1, x2))


@_custom_jvp_named("_hypot")
def _hypot(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Returns the length of (x, y) and its partial derivatives, computed from rescaled legs.

    The legs are scaled by a power of 2, since squares of large legs overflow and those of small
    ones lose digits. The derivatives are computed from the scaled legs, so they are accurate even
    where the length overflows.
    """
    limits = dtypes.finfo(x.dtype)
    exponent, digits = limits.maxexp // 2 - 1, (limits.nmant + 1) // 2
    sides = unary.abs(x), unary.abs(y)
    largest = binary.max(*sides)
    is_large = compare.ge(largest, promotion.scalar_like(x, 2.0**exponent))
    is_small = compare.le(largest, promotion.scalar_like(x, 2.0**-digits))
    down, up, one = (
        creation.full_like(x, 2.0**n) for n in (-(exponent + digits), exponent + digits, 0)
    )

    def scaled(side: Array) -> Array:
        lowered, raised = binary.mul(side, down), binary.mul(side, up)
        return select.select(is_large, lowered, select.select(is_small, raised, side))

    a, b = scaled(x), scaled(y)
    scale = select.select(is_large, up, select.select(is_small, down, one))
    scaled_length = unary.sqrt(binary.add(unary.square(a), unary.square(b)))
    length = binary.mul(scaled_length, scale)
    infinity = creation.full_like(x, np.inf)  # even if the other side is NaN
    is_infinite = binary.bitwise_or(*[compare.eq(side, infinity) for side in sides])
    length = select.select(is_infinite, infinity, length)
    return length, binary.div(a, scaled_length), binary.div(b, scaled_length)


@_hypot.defjvp
def _hypot_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    t, u = tangents
    length, dx, dy = out = _hypot(*primals)
    along = binary.add(binary.mul(dx, t), binary.mul(dy, u))
    slopes = [
        binary.div(binary.sub(v, binary.mul(d, along)), length) for v, d in ((t, dx), (u, dy))
    ]
    return out, (along, *slopes)


@jit_when_traced
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes sqrt(x1**2 + x2**2), without overflow.

    Args:
      x1: lengths of one leg; integers are promoted to the default float.
      x2: lengths of the other leg, broadcast against `x1`.

    Returns: an array of a float dtype.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jnp.hypot(3e30, jnp.array([4e30, 0.0]))
      Array([5.e+30, 3.e+30], dtype=float32)
    """
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if promotion.is_complex(promotion.dtype_of(x1)):
        raise ValueError(
            f"jnp.hypot: operands must be real, but they promote to {promotion.dtype_of(x1)}; "
            "apply jnp.abs to complex operands first"
        )
    return _hypot(*promotion.broadcast_arrays(x1, x2))[0]


@jit_when_traced
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes the Heaviside step function: 0 for negative x1, 1 for positive x1, and x2 at 0.

    Args:
      x1: the points at which to evaluate; integers are promoted to the default float.
      x2: values at 0, broadcast against `x1`.

    Returns: an array of a float dtype; NaN where `x1` is NaN.

    Example:
      >>> jnp.heaviside(jnp.array([-1.0, 0.0, 2.0]), 0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    x1, x2 = promote_args_inexact("heaviside", x1, x2)
    negative = compare.lt(x1, zero_like(x1))
    positive = compare.gt(x1, zero_like(x1))
    middle = where(isnan(x1), x1, x2)
    return where(
        negative,
        promotion.scalar_like(x1, 0),
        where(positive, promotion.scalar_like(x1, 1), middle),
    )


# --- NaN-ignoring extrema -------------------------------------------------------------------------


@jit_when_traced
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Computes the elementwise maximum; if one element is NaN, returns the other.

    Args:
      x1: an array.
      x2: an array, broadcast against `x1`.

    Returns: an array of the common dtype. `maximum` propagates NaN instead.

    Example:
      >>> jnp.fmax(jnp.array([1.0, jnp.nan]), jnp.array([2.0, 5.0]))
      Array([2., 5.], dtype=float32)
    """
    from jitney.numpy.comparison import greater

    return where(_or(greater(x1, x2), isnan(x2)), x1, x2)


@jit_when_traced
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Computes the elementwise minimum; if one element is NaN, returns the other.

    Args:
      x1: an array.
      x2: an array, broadcast against `x1`.

    Returns: an array of the common dtype. `minimum` propagates NaN instead.

    Example:
      >>> jnp.fmin(jnp.array([1.0, jnp.nan]), jnp.array([2.0, 5.0]))
      Array([1., 5.], dtype=float32)
    """
    from jitney.numpy.comparison import less

    return where(_or(less(x1, x2), isnan(x2)), x1, x2)


def _or(x: ArrayLike, y: ArrayLike) -> Array:
    return binary.bitwise_or(*promote_args("bitwise_or", x, y))


# --- integers -----------------------------------------------------------------------------------


@jit_when_traced(compiled_from=LARGE)
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Computes greatest common divisors, elementwise; gcd(0, 0) is 0.

    They are exact and nonnegative, except for a divisor that the dtype cannot represent: that of
    the smallest integer and itself, or 0, wraps around to the smallest integer.

    Args:
      x1: integers.
      x2: integers, broadcast against `x1`.

    Returns: an array of the common integer dtype.

    Raises:
      ValueError: if an operand is not of an integer dtype.

    Example:
      >>> jnp.gcd(jnp.array([12, -9]), 6)
      Array([6, 3], dtype=int32)
    """
    from jitney.numpy.divisors import gcd_of

    x1, x2 = _integers("gcd", x1, x2)
    x, y = promotion.broadcast_arrays(x1, x2)
    return gcd_of(unary.abs(x) if _signed(x) else x, unary.abs(y) if _signed(y) else y)


@jit_when_traced(compiled_from=LARGE)
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Computes nonnegative least common multiples, elementwise; 0 where an operand is 0.

    Args:
      x1: integers.
      x2: integers, broadcast against `x1`.

    Returns: an array of the common integer dtype.

    Raises:
      ValueError: if an operand is not of an integer dtype.

    Example:
      >>> jnp.lcm(jnp.array([4, 5]), 6)
      Array([12, 30], dtype=int32)
    """
    x1, x2 = _integers("lcm", x1, x2)
    x1, x2 = absolute(x1), absolute(x2)
    divisor = gcd(x1, x2)
    none = compare.eq(divisor, zero_like(divisor))
    divisor = where(none, promotion.scalar_like(divisor, 1), divisor)
    # The division is exact, so it need not round down. 0 times 0 is 0 where both operands are.
    return binary.mul(x1, binary.div(x2, divisor))


def _signed(x: ArrayLike) -> bool:
    return dtypes.issubdtype(promotion.dtype_of(x), np.signedinteger)


def _integers(name: str, x1: ArrayLike, x2: ArrayLike) -> list[Value]:
    promoted = promote_args(name, x1, x2)
    if not promotion.is_integer(promotion.dtype_of(promoted[0])):
        raise ValueError(
            f"jnp.{name}: operands must have integer dtypes, but they promote to "
            f"{promotion.dtype_of(promoted[0])}"
        )
    return promoted


for _function in (float_power, fmax, fmin, gcd, heaviside, hypot, lcm, power):
    _function.__module__ = "jax.numpy"
