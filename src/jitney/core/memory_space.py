"""Kinds of memory, as types and programs name them; on a CPU they are one."""

from __future__ import annotations

import enum


class MemorySpace(enum.Enum):
    """Where a value is kept: on the device, on its host, or in either."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return str(self)
