"""Forgetting what was traced and compiled."""

from __future__ import annotations

from jitney.api import jit_call
from jitney.runtime import dispatch


def clear_caches() -> None:
    """Forgets all traced programs and executables; the next calls trace and compile anew."""
    jit_call.clear_traced()
    dispatch.clear_caches()
