"""Memory spaces and layouts in memory, as types and programs name them.

On a CPU all spaces are the same memory, and all arrays are row-major.
"""

from __future__ import annotations

import enum
from typing import Any


class MemorySpace(enum.Enum):
    """The memory that holds a value: the memory of the device, of its host, or either."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return str(self)


class AutoLayout:
    """A request that the compiler choose the layout; it chooses row-major order."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AutoLayout"

    def __reduce__(self) -> Any:
        return _auto, ()


def _auto() -> AutoLayout:
    return AUTO


AUTO = AutoLayout()
