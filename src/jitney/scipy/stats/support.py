"""What distributions share: their operands, and probabilities outside of the support."""

from __future__ import annotations

import math

from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import promote_args_inexact
from jitney.numpy.selection import where
from jitney.primitives.elementwise.convert import as_value

TWO_PI = 2 * math.pi


def operands(name: str, *xs: ArrayLike) -> list[Array]:
    """Operands checked, of one inexact dtype, of one rank (scalars aside)."""
    return [as_value(x) for x in promote_args_inexact(name, *xs)]


def within(condition: Array, logarithm: Array) -> Array:
    """The logarithm of a probability, -inf where `condition` does not hold."""
    return where(condition, logarithm, -math.inf)
