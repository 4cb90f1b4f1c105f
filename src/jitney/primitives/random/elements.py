"""Draws with a separate key for each element, for loops of rejection sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.primitives.indexing.slice import index_in_dim
from jitney.primitives.random.bits import random_bits_p, random_split_p
from jitney.primitives.random.floats import bits_per_float, unit_floats

if TYPE_CHECKING:
    from jitney.core.typing import Array


def split_elements(keys: Array, n: int) -> list[Array]:
    """Splits each of the keys [*shape] into `n`; returns `n` key arrays of the same shape."""
    new = random_split_p.bind(keys, shape=(n,))
    axis = len(keys.shape)
    return [index_in_dim(new, i, axis, keepdims=False) for i in range(n)]


def uniform_elements(keys: Array, dtype: np.dtype) -> Array:
    """Draws a uniform float in [0, 1) from each key."""
    return unit_floats(random_bits_p.bind(keys, bit_width=bits_per_float(dtype), shape=()), dtype)
