"""`jax._src.api_util`: normalization of positions and names of arguments."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


def ensure_index(x: Any) -> int | tuple[int, ...]:
    """Returns a position as an int, or several positions as a tuple of ints.

    Raises:
      TypeError: if `x` is neither an integer nor an iterable of integers.
    """
    try:
        return operator.index(x)
    except TypeError:
        return tuple(map(operator.index, x))


def ensure_index_tuple(x: Any) -> tuple[int, ...]:
    """Returns one or several positions as a tuple of ints."""
    positions = ensure_index(x)
    return (positions,) if isinstance(positions, int) else positions


def ensure_str_tuple(x: str | Iterable[str]) -> tuple[str, ...]:
    """Returns one or several names as a tuple.

    Raises:
      TypeError: if `x` is neither a string nor an iterable of strings.
    """
    names = (x,) if isinstance(x, str) else tuple(x)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise TypeError(f"argument names must be strings, but got {strange[0]!r}")
    return names


def is_hashable(arg: object) -> bool:
    """Returns whether `hash(arg)` is defined."""
    try:
        hash(arg)
    except TypeError:
        return False
    return True
