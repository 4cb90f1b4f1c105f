"""Functions of `jax.lax` that are recorded as one call, a `jit` equation of their name."""

from __future__ import annotations

from jitney.api.jit import jit_when_traced
from jitney.primitives.indexing import slice as slices

dynamic_index_in_dim = jit_when_traced(
    slices.dynamic_index_in_dim, static_argnames=("axis", "keepdims", "allow_negative_indices")
)
dynamic_update_index_in_dim = jit_when_traced(
    slices.dynamic_update_index_in_dim, static_argnames=("axis", "allow_negative_indices")
)
