"""Quantities as commands show them."""

from __future__ import annotations


def seconds(t: float) -> str:
    """`1.5 us`, `24 ms`, `3.2 s`."""
    scales = (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9))
    unit, scale = next(((unit, scale) for unit, scale in scales if t * scale >= 1), scales[-1])
    return f"{t * scale:.3g} {unit}"
