"""Integers below a bound from two random words, as in `jax.random.randint`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.primitives.elementwise.binary import add, mul, rem
from jitney.primitives.rules import typed

if TYPE_CHECKING:
    from jitney.core.typing import Array


def offsets_below(span: Array, higher: Array, lower: Array) -> Array:
    """Computes (higher * 2^n + lower) mod span for unsigned integers of n bits, in n bits.

    A span of zero stands for 2^n, since the remainder of a division by zero is the dividend.
    """
    n_bits = 8 * span.dtype.itemsize
    multiplier = rem(typed(np.array(2 ** (n_bits // 2), span.dtype)), span)
    multiplier = rem(mul(multiplier, multiplier), span)
    return rem(add(mul(rem(higher, span), multiplier), rem(lower, span)), span)
