"""Operations on sizes of axes."""

from __future__ import annotations

import operator


def max_dim(d1: int, d2: int) -> int:
    """The greater of two sizes.

    Raises:
      TypeError: if one is not an integer.
    """
    return max(operator.index(d1), operator.index(d2))


def min_dim(d1: int, d2: int) -> int:
    """The lesser of two sizes.

    Raises:
      TypeError: if one is not an integer.
    """
    return min(operator.index(d1), operator.index(d2))
