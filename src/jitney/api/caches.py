"""Forgetting what was traced and compiled."""

from __future__ import annotations

from jitney.core import caches


def clear_caches() -> None:
    """Forgets all that is kept for later calls: traces, executables, types, kernels.

    The next calls trace and compile anew. Programs on disk stay. See `jitney.core.caches`.

    Example:
      >>> f = jax.jit(lambda x: x + 1)
      >>> f(1).item(), f._cache_size()
      (2, 1)
      >>> jax.clear_caches()
      >>> f._cache_size()
      0
    """
    caches.clear_all()
