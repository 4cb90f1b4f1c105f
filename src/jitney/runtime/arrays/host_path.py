"""Operands of functions that eager mode computes with NumPy, without tracing and compiling.

Such a function requests the data of its operands here. It gets the data if they are on this host,
complete and computed. Otherwise (for tracers, deleted arrays, sharded arrays, or arrays still being
computed), it gets None, and calls its primitives instead.
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
