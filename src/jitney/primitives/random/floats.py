"""Uniform numbers from random bits: those of `jax.random.uniform`, shared by all samplers.

Mantissa bits under the exponent of one give numbers in [1, 2), all equally far apart; one less gives
[0, 1). A number never depends on more bits than its mantissa has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.core import dtypes
from jitney.primitives.elementwise.binary import bitwise_or, shift_right_logical, sub
from jitney.primitives.elementwise.convert import bitcast_convert_type, convert_element_type
from jitney.primitives.rules import typed

if TYPE_CHECKING:
    from jitney.core.typing import Array


def bits_per_float(dtype: np.dtype) -> int:
    """Returns how many random bits are drawn for a uniform number of `dtype`."""
    info = dtypes.finfo(dtype)
    # Formats with short mantissas need few bits.
    return 8 if info.nmant < 8 else info.bits


def unit_floats(drawn: Array, dtype: np.dtype) -> Array:
    """Numbers in [0, 1) from words of `bits_per_float` random bits."""
    info = dtypes.finfo(dtype)
    n_bits, drawn_bits = info.bits, bits_per_float(dtype)
    unsigned = np.dtype(f"uint{n_bits}")
    if drawn_bits != n_bits:
        drawn = convert_element_type(drawn, unsigned)
    one = np.ones((), dtype)
    shift = typed(np.array(drawn_bits - info.nmant, unsigned))
    float_bits = bitwise_or(shift_right_logical(drawn, shift), typed(one.view(unsigned)))
    return sub(bitcast_convert_type(float_bits, dtype), typed(one))
