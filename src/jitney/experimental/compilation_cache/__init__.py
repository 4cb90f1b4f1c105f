"""`jax.experimental.compilation_cache`: the persistent compilation cache."""

from jitney.core.util.lazy import listing
from jitney.experimental.compilation_cache import compilation_cache as compilation_cache

__dir__ = listing(__name__)
