"""Uniform floats from random bits, as in `jax.random.uniform`; shared by all samplers.

Random mantissa bits with the exponent of one are equally spaced floats in [1, 2), from which one is
subtracted. A float never depends on more bits than its mantissa has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.core.types import dtypes
from jitney.primitives.elementwise.binary import bitwise_or, shift_right_logical, sub
from jitney.primitives.elementwise.convert import bitcast_convert_type, convert_element_type
from jitney.primitives.rules import typed

if TYPE_CHECKING:
    from jitney.core.typing import Array


def bits_per_float(dtype: np.dtype) -> int:
    """Returns the number of random bits that a uniform float of `dtype` requires."""
    info = dtypes.finfo(dtype)
    # Dtypes with short mantissas need few bits.
    return 8 if info.nmant < 8 else info.bits


def unit_floats(drawn: Array, dtype: np.dtype) -> Array:
    """Converts words of `bits_per_float` random bits to floats in [0, 1)."""
    info = dtypes.finfo(dtype)
    n_bits, drawn_bits = info.bits, bits_per_float(dtype)
    unsigned = np.dtype(f"uint{n_bits}")
    if drawn_bits != n_bits:
        drawn = convert_element_type(drawn, unsigned)
    one = np.ones((), dtype)
    shift = typed(np.array(drawn_bits - info.nmant, unsigned))
    float_bits = bitwise_or(shift_right_logical(drawn, shift), typed(one.view(unsigned)))
    return sub(bitcast_convert_type(float_bits, dtype), typed(one))
