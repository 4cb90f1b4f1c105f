"""Forgetting what was traced and compiled."""

from __future__ import annotations

from jitney.core import caches


def clear_caches() -> None:
    """Forgets all that is kept for later calls: traces, executables, types, kernels.

    The next calls trace and compile anew. Programs on disk stay. See `jitney.core.caches`.
    """
    caches.clear_all()
