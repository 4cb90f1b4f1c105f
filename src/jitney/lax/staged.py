"""Functions of `jax.lax` that are traced to a single `jit` equation with their name."""

from __future__ import annotations

from jitney.api.jit.jit import jit_when_traced
from jitney.core.util.thresholds import threshold
from jitney.primitives.indexing import dynamic_slice
from jitney.primitives.signal import fft as fourier

# Number of elements above which a multithreaded transform is much faster than SciPy's.
_LARGE_TRANSFORM = threshold(1 << 15, small=8)

dynamic_index_in_dim = jit_when_traced(
    dynamic_slice.dynamic_index_in_dim,
    static_argnames=("axis", "keepdims", "allow_negative_indices"),
)
dynamic_update_index_in_dim = jit_when_traced(
    dynamic_slice.dynamic_update_index_in_dim, static_argnames=("axis", "allow_negative_indices")
)
fft = jit_when_traced(
    fourier.fft, static_argnames=("fft_type", "fft_lengths"), compiled_from=_LARGE_TRANSFORM
)
