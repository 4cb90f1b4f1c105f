"""Conversion of the operands of special functions, and evaluation of approximations.

Coefficients are in double precision, lowest power first. A polynomial is evaluated in the precision
of its argument, so that one table serves both precisions; 16-bit floats are computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from jitney import lax
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import is_complex, promote_args_inexact
from jitney.numpy.selection import where
from jitney.primitives.elementwise.convert import as_value

F = TypeVar("F", bound=Callable[..., Any])


def real_operands(name: str, *operands: ArrayLike) -> list[Array]:
    """Promotes operands to a common real floating dtype, strongly typed.

    Raises:
      ValueError: if an operand is complex.
    """
    return [strong(x) for x in real_values(name, *operands)]


def real_values(name: str, *operands: ArrayLike) -> list[Array]:
    """Promotes operands like `real_operands`, but keeps weak types.

    This is for functions whose derivatives are weakly typed as well.
    """
    promoted = [as_value(x) for x in promote_args_inexact(name, *operands)]
    if is_complex(promoted[0].dtype):
        raise ValueError(f"{name}: operands must be real, but they promote to {promoted[0].dtype}")
    return promoted


def full_precision(name: str, x: ArrayLike) -> Array:
    """Converts `x` to an array, and checks that it is float32 or float64.

    Raises:
      TypeError: if x is neither float32 nor float64.
    """
    value = as_value(x)
    if value.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"{name}: `x` must be float32 or float64, but it is {value.dtype}; cast it with astype"
        )
    return value


def strong(x: ArrayLike) -> Array:
    """Converts `x` to a strongly typed array; derivative rules may receive Python scalars."""
    value = as_value(x)
    return value.astype(value.dtype) if value.weak_type else value


def in_float32(function: F) -> F:
    """Wraps `function`, which takes arrays of one dtype, to compute 16-bit floats in float32."""

    @wraps(function)
    def wrapper(*xs: Array) -> object:
        dtype = xs[0].dtype
        if dtype.itemsize > 2:
            return function(*xs)
        out = function(*[x.astype(np.float32) for x in xs])
        if isinstance(out, tuple):
            return tuple([y.astype(dtype) for y in out])
        return out.astype(dtype)

    return cast("F", wrapper)


def horner(x: Array, coefficients: Sequence[float]) -> Array:
    """Evaluates the polynomial with these coefficients, lowest power first, at `x`."""
    *lower, second, highest = coefficients
    result = highest * x + second
    for c in reversed(lower):
        result = result * x + c
    return result


def ratio(x: Array, top: Sequence[float], bottom: Sequence[float]) -> Array:
    """Evaluates the quotient of two polynomials at `x`."""
    return horner(x, top) / horner(x, bottom)


def segment(x: Array, low: float, high: float, coefficients: Sequence[float]) -> Array:
    """Evaluates a polynomial in t, where t maps [low, high] linearly to [-1, 1].

    Arguments outside [low, high] are clamped to the nearer end.
    """
    t = (x - 0.5 * (low + high)) * (2 / (high - low))
    return horner(lax.clamp(lax.full_like(t, -1), t, lax.full_like(t, 1)), coefficients)


def half_line(x: Array, low: float, scale: float, coefficients: Sequence[float]) -> Array:
    """Evaluates a polynomial in t = (y - scale) / (y + scale), y = x - low, on [low, inf].

    t maps the half-line to [-1, 1]. A function that is smooth up to infinity, without singularities
    near the half-line, is approximated by a polynomial of moderate degree in t (Shepherd and
    Laframboise, Mathematics of Computation 36 (1981), 249-253).
    """
    # 1 - 2 scale / (y + scale) has the limit 1 at infinity, where the quotient is NaN.
    t = 1 - (2 * scale) / (x + (scale - low))
    return horner(t, coefficients)


def is_whole(x: Array) -> Array:
    """Returns whether `x` is an integer."""
    from jitney.numpy.unary_math import floor

    return x == floor(x)


def is_pole_of_gamma(x: Array) -> Array:
    """Returns whether `x` is 0 or a negative integer."""
    return (x <= 0) & is_whole(x)


def guarded(condition: Array, x: Array, value: float) -> Array:
    """Returns `x` where `condition` holds, elsewhere `value`, to guard a branch of a `where`.

    Both branches of a `where` are differentiated; an infinite derivative in the branch that is not
    selected would make the result NaN.
    """
    return where(condition, x, value)


def machine_epsilon(x: Array) -> float:
    """Returns the machine epsilon of the dtype of `x`: the gap between 1 and the next float."""
    return float(dtypes.finfo(x.dtype).eps)
