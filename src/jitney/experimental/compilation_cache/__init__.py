"""`jax.experimental.compilation_cache`: where compiled programs are kept on disk."""

from jitney.experimental.compilation_cache import compilation_cache as compilation_cache
