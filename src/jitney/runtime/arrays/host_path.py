"""A shortcut of eager mode past tracing and compiling: operations computed at once by NumPy.

A shortcut requests the data of its operands here. It gets them if they are on this host, complete
and computed. For anything else (tracers, deleted arrays, sharded arrays, or arrays still being
computed) it gets None, and leaves the operation to its primitives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.runtime.devices import client
from jitney.runtime.native._native import array_from_numpy, eager_data, host_data

if TYPE_CHECKING:
    from jitney.runtime.native._native import ThreadPool


def threads() -> ThreadPool:
    """Returns the threads that share NumPy's work on large arrays: the default device's."""
    return client.default_device().pool


__all__ = ["array_from_numpy", "eager_data", "host_data", "threads"]
