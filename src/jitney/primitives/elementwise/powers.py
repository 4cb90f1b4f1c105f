"""Integer powers by repeated squaring, and 1 - x^2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jitney.compiler import reference
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.primitives import rules
from jitney.primitives.calculus import mul
from jitney.primitives.elementwise import families, taylor
from jitney.primitives.elementwise.compiled_rules import compiled_unless_finite
from jitney.primitives.elementwise.families import NUMERIC
from jitney.primitives.rules import factor

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import Builder, Node, Value

# --- one_minus_square ---------------------------------------------------------------------------

one_minus_square_p = declare("one_minus_square")


@one_minus_square_p.abstract
def _one_minus_square_abstract(x: ShapedArray) -> ShapedArray:
    families.check_dtype("one_minus_square", x.dtype, NUMERIC)
    return x


@one_minus_square_p.eager
def _one_minus_square_eager(x: np.ndarray) -> np.ndarray:
    one = np.ones((), x.dtype)
    return reference.scalar.function("mul")(np.add(one, x), np.subtract(one, x))


@one_minus_square_p.lower
def _one_minus_square_lower(b: Builder, x: Node) -> Node:
    one = b.full(x.shape, 1, x.dtype)
    return b.apply("mul", b.apply("add", one, x), b.apply("sub", one, x))


def one_minus_square(x: ArrayLike) -> Array:
    """Computes 1 - x^2 as (1 + x) (1 - x), which is accurate near x = 1 and x = -1.

    Args:
      x: integer, floating or complex array; integers wrap.

    Returns: array of the shape and dtype of x.

    Raises:
      TypeError: if the dtype of x is not supported.

    Example:
      >>> lax.one_minus_square(jnp.array([0.5, 2.0]))
      Array([ 0.75, -3.  ], dtype=float32)
    """
    try:
        return one_minus_square_p.bind(x)
    except TypeError:
        families.check_operands("one_minus_square", x)
        raise


# --- integer powers -----------------------------------------------------------------------------

integer_pow_p = declare("integer_pow")


@integer_pow_p.abstract
def _integer_pow_abstract(x: ShapedArray, *, y: int) -> ShapedArray:
    families.check_dtype("integer_pow", x.dtype, NUMERIC)
    if y < 0 and dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError(
            f"integer_pow: a negative power of an integer is not an integer, but got {x.str_short()} "
            f"to the power of {y}; convert to float first"
        )
    return x


@integer_pow_p.eager
def _integer_pow_eager(x: np.ndarray, *, y: int) -> np.ndarray:
    result = reference.integer_pow(x, int(y))
    if y < 0 and x.dtype.kind == "c":
        return compiled_unless_finite(integer_pow_p, result, (x,), {"y": y})
    return result


@integer_pow_p.lower
def _integer_pow_lower(b: Builder, x: Node, *, y: int) -> Node:
    one = b.full(x.shape, 1, x.dtype)
    result = power_by_squaring(x, abs(int(y)), one, lambda u, v: b.apply("mul", u, v))
    return b.apply("div", one, result) if y < 0 else result


_T = TypeVar("_T")


def power_by_squaring(x: _T, y: int, one: _T, mul: Callable[[_T, _T], _T]) -> _T:
    """Raises x to the power y >= 0 by repeated squaring, always in the same order of operations."""
    result = None
    while y:
        if y & 1:
            result = x if result is None else mul(result, x)
        y >>= 1
        if y:
            x = mul(x, x)
    return one if result is None else result


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Computes x to the power of the static integer `y`.

    Args:
      x: numeric array.
      y: Python integer, which must not be negative if x is an integer array.

    Raises:
      TypeError: if x is not numeric, or if x is an integer array and y is negative.

    Returns: array of the shape and dtype of x.

    Example:
      >>> lax.integer_pow(jnp.array([1.0, 2.0, 4.0]), -2)
      Array([1.    , 0.25  , 0.0625], dtype=float32)
    """
    return integer_pow_p.bind(x, y=y)


def reciprocal(x: ArrayLike) -> Array:
    """Computes 1 / x.

    Args:
      x: floating or complex array.

    Returns: array of the shape and dtype of x.

    Example:
      >>> lax.reciprocal(jnp.array([2.0, -4.0]))
      Array([ 0.5 , -0.25], dtype=float32)
    """
    return integer_pow(x, -1)


# --- derivatives ----------------------------------------------------------------------------------

rules.defjvp(one_minus_square_p, lambda t, x: mul(t, mul(factor(x, -2), x)))


def _integer_pow_jvp(t: Value, x: Value, *, y: int) -> Value:
    if y == 0:
        return rules.zeros_like(t)
    if y == 1:
        return t
    power = x if y == 2 else integer_pow(x, y - 1)
    return mul(t, mul(factor(x, y), power))


rules.defjvp(integer_pow_p, _integer_pow_jvp)
taylor.declare(integer_pow_p, taylor.integer_power)
rules.vectorized(one_minus_square_p, integer_pow_p)
for _prim in (one_minus_square_p, integer_pow_p):
    _prim.absent("transpose", why="not linear")
