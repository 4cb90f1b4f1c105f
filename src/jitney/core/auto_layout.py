"""`AutoLayout`, the request that the compiler choose the layout of an array."""

from __future__ import annotations

from typing import Any


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
