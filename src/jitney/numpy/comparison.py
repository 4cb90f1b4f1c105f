"""Comparisons and logic: `equal`, `less`, `logical_and`, `isclose`, `array_equal` and the like.

Complex numbers are ordered by their real parts, then by their imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.settings import config
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.float_classes import isfinite, isnan
from jitney.numpy.functions import last_sections, one_operation, public
from jitney.numpy.promotion import promote_args
from jitney.numpy.unary_math import logical_not, to_bool
from jitney.primitives.array.broadcasting import broadcast_shapes
from jitney.primitives.array.creation import full
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary, compare, convert, select, unary

__all__ = [
    "allclose", "array_equal", "array_equiv", "equal", "greater", "greater_equal", "isclose",
    "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal",
]  # fmt: skip

Function: TypeAlias = "Callable[[ArrayLike, ArrayLike], Array]"


_OPERANDS = """
    Args:
      x: an array.
      y: an array, broadcast against `x`.

    Returns: an array of booleans of the broadcast shape.
"""


def _comparison(
    name: str, op: Function, doc: str, example: str, printed: str, *, ordered: bool = True
) -> Function:
    """Returns a comparison function of two operands.

    Args:
      name: the name of the function.
      op: the lax comparison that computes it.
      doc: the first line of its docstring.
      example: a call of the function, as Python code, for the docstring.
      printed: the result of `example` as Python prints it.
      ordered: whether `op` is an order relation, by which complex numbers are compared
        lexicographically.
    """

    def function(x: ArrayLike, y: ArrayLike, /) -> Array:
        if isinstance(x, Array):
            aval = x.aval
            dtype = aval.dtype
            if dtype in _REAL and (dtype not in dtypes.WIDE or config.x64_enabled()):
                if isinstance(y, Array):
                    if y.aval is aval:
                        return op(x, y)
                elif type(y) is int or (type(y) is float and dtype in _FLOATS):
                    return op(x, convert.scalar_operand(y, dtype, aval.weak_type))
        x, y = promote_args(name, x, y)
        dtype = promotion.dtype_of(x)
        if dtype == dtypes.float0 and op in (compare.eq, compare.ne):
            # float0 values hold no data, so all of them are equal, and no order is defined on them.
            return full(broadcast_shapes(shape_of(x), shape_of(y)), op is compare.eq, _BOOL)
        if ordered and promotion.is_complex(dtype):
            return _lexicographic(op, x, y)
        return op(x, y)

    shown = last_sections(example, printed)
    return one_operation(public(function, name, f"{doc}\n{_OPERANDS}{shown}"))


_FLOATS: frozenset[Any] = frozenset(
    map(np.dtype, (np.float32, np.float64, np.float16, dtypes.bfloat16))
)
_BOOL = np.dtype(bool)
_REAL: frozenset[Any] = _FLOATS | frozenset(map(np.dtype, "bhilBHIL"))


def _lexicographic(op: Function, x: ArrayLike, y: ArrayLike) -> Array:
    """Compares real parts by `op`, and imaginary parts where the real parts are equal."""
    ties = compare.eq(unary.real(x), unary.real(y))
    by_imag = op(unary.imag(x), unary.imag(y))
    by_real = op(unary.real(x), unary.real(y))
    return select.select(ties, by_imag, by_real)


equal = _comparison(
    "equal", compare.eq, "Computes x == y, elementwise.",
    "jnp.equal(jnp.array([1, 2, 3]), 2)", "Array([False,  True, False], dtype=bool)", ordered=False,
)  # fmt: skip
not_equal = _comparison(
    "not_equal", compare.ne, "Computes x != y, elementwise.",
    "jnp.not_equal(jnp.array([1, 2, 3]), 2)",
    "Array([ True, False,  True], dtype=bool)", ordered=False,
)  # fmt: skip
less = _comparison(
    "less", compare.lt, "Computes x < y, elementwise.",
    "jnp.less(jnp.array([1, 2, 3]), 2)", "Array([ True, False, False], dtype=bool)",
)  # fmt: skip
less_equal = _comparison(
    "less_equal", compare.le, "Computes x <= y, elementwise.",
    "jnp.less_equal(jnp.array([1, 2, 3]), 2)", "Array([ True,  True, False], dtype=bool)",
)  # fmt: skip
greater = _comparison(
    "greater", compare.gt, "Computes x > y, elementwise.",
    "jnp.greater(jnp.array([1, 2, 3]), 2)", "Array([False, False,  True], dtype=bool)",
)  # fmt: skip
greater_equal = _comparison(
    "greater_equal", compare.ge, "Computes x >= y, elementwise.",
    "jnp.greater_equal(jnp.array([1, 2, 3]), 2)", "Array([False,  True,  True], dtype=bool)",
)  # fmt: skip


def _logical(name: str, op: Function, doc: str, example: str, printed: str) -> Function:
    """Returns a function that applies `op` to the truth values of operands; see `_comparison`."""

    def function(x: ArrayLike, y: ArrayLike, /) -> Array:
        x, y = promote_args(name, x, y)
        if promotion.dtype_of(x) == np.bool_:
            return op(promotion.as_type(x, _BOOL, False), promotion.as_type(y, _BOOL, False))
        return op(to_bool(x), to_bool(y))

    shown = last_sections(example, printed)
    return one_operation(public(function, name, f"{doc}\n{_OPERANDS}{shown}"))


logical_and = _logical(
    "logical_and", binary.bitwise_and, "Computes the logical AND; nonzero elements are true.",
    "jnp.logical_and(jnp.array([True, True, False]), jnp.array([1, 0, 0]))",
    "Array([ True, False, False], dtype=bool)",
)  # fmt: skip
logical_or = _logical(
    "logical_or", binary.bitwise_or, "Computes the logical OR; nonzero elements are true.",
    "jnp.logical_or(jnp.array([True, True, False]), jnp.array([1, 0, 0]))",
    "Array([ True,  True, False], dtype=bool)",
)  # fmt: skip
logical_xor = _logical(
    "logical_xor", binary.bitwise_xor, "Computes the logical XOR; nonzero elements are true.",
    "jnp.logical_xor(jnp.array([True, True, False]), jnp.array([1, 0, 0]))",
    "Array([False,  True, False], dtype=bool)",
)  # fmt: skip


# --- nearness and equality of arrays --------------------------------------------------------------


@jit_when_traced(static_argnames=("equal_nan",))
def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Returns True where |a - b| <= atol + rtol |b|.

    Args:
      a: an array.
      b: the reference array.
      rtol: the relative tolerance.
      atol: the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    Returns: an array of booleans of the broadcast shape. Equal infinities are close.

    Example:
      >>> jnp.isclose(jnp.array([1.0, 1.1]), 1.000001)
      Array([ True, False], dtype=bool)
    """
    if dtypes.is_extended(promotion.dtype_of(a)):
        return equal(a, b)
    a, b = promotion.promote_args_inexact("isclose", a, b)
    dtype = promotion.dtype_of(a)
    real = np.dtype(np.finfo(dtype).dtype) if promotion.is_complex(dtype) else dtype
    rtol, atol = promotion.as_type(rtol, real, False), promotion.as_type(atol, real, False)
    both_nan = binary.bitwise_and(isnan(a), isnan(b))
    finite = isfinite(b)
    distance = unary.abs(binary.sub(a, b))
    allowed = binary.add(atol, binary.mul(rtol, unary.abs(b)))
    near = compare.le(distance, allowed)
    out = binary.bitwise_or(compare.eq(a, b), binary.bitwise_and(finite, near))
    return binary.bitwise_or(out, both_nan) if equal_nan else out


@jit_when_traced(static_argnames=("equal_nan",))
def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: ArrayLike = 1e-05,
    atol: ArrayLike = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Returns True if all elements of `a` and `b` are close; see `isclose`.

    Args:
      a: an array.
      b: the reference array.
      rtol: the relative tolerance.
      atol: the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    Returns: a boolean scalar.

    Example:
      >>> thirds = jnp.full(3, 1 / 3)
      >>> jnp.allclose(thirds.cumsum(), jnp.linspace(0.3333, 1.0, 3), atol=1e-3)
      Array(True, dtype=bool)
    """
    from jitney.numpy.reductions import all as all_true

    promotion.check_arraylike("allclose", a, b)
    return all_true(isclose(a, b, rtol, atol, equal_nan))


def _as_operands(a1: ArrayLike, a2: ArrayLike) -> tuple[Array, Array]:
    from jitney.numpy.creation import asarray

    return asarray(a1), asarray(a2)


def _truth(value: bool) -> Array:
    return convert.as_value(np.bool_(value))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Array:
    """Returns True if both arrays have the same shape and equal elements.

    Args:
      a1: an array, or anything that `asarray` accepts.
      a2: an array, or anything that `asarray` accepts.
      equal_nan: whether NaN equals NaN.

    Returns: a boolean scalar.

    Example:
      >>> row = jnp.arange(3)
      >>> bool(jnp.array_equal(row, row[None, :]))  # the shapes differ
      False
      >>> bool(jnp.array_equal(jnp.sort(row[::-1]), row))
      True
    """
    from jitney.numpy.reductions import all as all_true

    a1, a2 = _as_operands(a1, a2)
    if shape_of(a1) != shape_of(a2):
        return _truth(False)
    same = equal(a1, a2)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return all_true(same)


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Returns True if the arrays are equal after broadcasting; False if they do not broadcast.

    Args:
      a1: an array, or anything that `asarray` accepts.
      a2: an array, or anything that `asarray` accepts.

    Returns: a boolean scalar.

    Example:
      >>> jnp.array_equiv(jnp.zeros((2, 3)), 0)
      Array(True, dtype=bool)
    """
    from jitney.numpy.reductions import all as all_true

    a1, a2 = _as_operands(a1, a2)
    try:
        broadcast_shapes(shape_of(a1), shape_of(a2))
    except ValueError:
        return _truth(False)
    return all_true(equal(a1, a2))


for _function in (array_equal, array_equiv, allclose, isclose):
    _function.__module__ = "jax.numpy"
