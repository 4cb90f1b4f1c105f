"""Clearing the caches of traced and compiled programs."""

from __future__ import annotations

from jitney.core.settings import caches


def clear_caches() -> None:
    """Clears all in-memory caches: traces, executables, types and kernels.

    Later calls trace and compile again. Programs cached on disk are kept. See
    `jitney.core.settings.caches`.

    Example:
      >>> f = jax.jit(lambda x: x + 1)
      >>> f(1).item(), f._cache_size()
      (2, 1)
      >>> jax.clear_caches()
      >>> f._cache_size()
      0
    """
    caches.clear_all()
