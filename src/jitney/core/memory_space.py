"""Memory spaces, as types and programs name them; on a CPU they are all the same memory."""

from __future__ import annotations

import enum


class MemorySpace(enum.Enum):
    """The memory that holds a value: that of the device, of its host, or either."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return str(self)
