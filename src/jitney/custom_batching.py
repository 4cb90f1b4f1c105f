"""`jax.custom_batching`: functions with custom batching rules for `vmap`."""

from jitney.api.batching.custom_vmap import (
    custom_vmap as custom_vmap,
    sequential_vmap as sequential_vmap,
)
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)
