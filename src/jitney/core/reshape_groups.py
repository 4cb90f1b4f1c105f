"""Which axes of an array become which by a reshape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

# (runs of axes of the old shape, of the new shape) with as many elements
Group: TypeAlias = tuple[list[int], list[int]]


def reshape_groups(old: Sequence[int], new: Sequence[int]) -> list[Group]:
    """Pairs up the shortest runs of axes that have as many elements in `old` as in `new`.

    Elements keep their place within a run, whatever other axes do. Axes of size 1 are left out. For
    shapes with zeros, runs have as many zeros, and as many elements without them; if that fails, what
    remains of both shapes is one pair.

    Args:
      old: the shape of the operand.
      new: that of the result, with the same number of elements.
    """
    before = [k for k, n in enumerate(old) if n != 1]
    after = [k for k, n in enumerate(new) if n != 1]
    groups: list[Group] = []
    i = j = 0
    while i < len(before) and j < len(after):
        taken, made = [before[i]], [after[j]]
        p, q = _times((0, 1), old[before[i]]), _times((0, 1), new[after[j]])
        i, j = i + 1, j + 1
        while p != q:
            if i < len(before) and (p < q or j == len(after)):
                p = _times(p, old[before[i]])
                taken.append(before[i])
                i += 1
            elif j < len(after):
                q = _times(q, new[after[j]])
                made.append(after[j])
                j += 1
            else:
                break
        groups.append((taken, made))
    if groups:
        groups[-1][0].extend(before[i:])
        groups[-1][1].extend(after[j:])
    return groups


def _times(count: tuple[int, int], size: int) -> tuple[int, int]:
    """Multiplies (number of zeros, product of other sizes) by the size of another axis."""
    zeros, product = count
    return (zeros + 1, product) if size == 0 else (zeros, product * size)
