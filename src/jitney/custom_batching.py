"""`jax.custom_batching`: functions that say themselves what `vmap` makes of them."""

from jitney.api.custom_vmap import custom_vmap as custom_vmap, sequential_vmap as sequential_vmap
from jitney.core.lazy import listing

__dir__ = listing(__name__)
