"""Conversion of the operands of distributions, and values outside the support."""

from __future__ import annotations

import math

from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import promote_args_inexact
from jitney.numpy.selection import where
from jitney.primitives.array.broadcasting import broadcast_shapes
from jitney.primitives.elementwise.convert import as_value

TWO_PI = 2 * math.pi


def operands(name: str, *xs: ArrayLike) -> list[Array]:
    """Promotes arguments to a common inexact dtype; raises if their shapes do not broadcast."""
    arrays = [as_value(x) for x in promote_args_inexact(name, *xs)]
    shapes = {x.shape for x in arrays if x.shape}
    if len(shapes) > 1:
        try:
            broadcast_shapes(*shapes)
        except ValueError as error:
            raise TypeError(f"{name}: {error}") from None
    return arrays


def supported(value: Array, outside: Array, alone: float, *parameters: Array) -> Array:
    """Returns `alone` outside the support, NaN where a parameter is NaN, and otherwise `value`.

    `outside` must be False where a point or bound is NaN, so that `value` propagates the NaN. The
    negation of a test for points inside the support would classify NaN as outside.
    """
    result = where(outside, alone, value)
    for x in parameters:
        result = where(x != x, math.nan, result)
    return result
