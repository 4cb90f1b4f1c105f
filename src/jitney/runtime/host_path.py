"""Operations at once, by NumPy: where eager mode takes a shortcut past tracing and compiling.

A shortcut asks here for the data of its operands. It gets them if they lie on this host, whole and
computed; of anything else (tracers, arrays that were deleted, are divided among devices, or are still
being computed) it gets None, and leaves the operation to its primitives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.runtime import client
from jitney.runtime.native._native import array_from_numpy, eager_data, host_data

if TYPE_CHECKING:
    from jitney.runtime.native._native import ThreadPool


def threads() -> ThreadPool:
    """Returns the threads that share work of NumPy's on large arrays: those of the default device."""
    return client.default_device().pool


__all__ = ["array_from_numpy", "eager_data", "host_data", "threads"]
