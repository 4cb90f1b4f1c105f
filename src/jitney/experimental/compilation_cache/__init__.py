"""`jax.experimental.compilation_cache`: the cache of compiled programs on disk."""

from jitney.core.lazy import listing
from jitney.experimental.compilation_cache import compilation_cache as compilation_cache

__dir__ = listing(__name__)
