"""The correspondence between the axes of an array before and after a reshape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

# (run of axes of the old shape, run of axes of the new shape) with equally many elements
Group: TypeAlias = tuple[list[int], list[int]]


def reshape_groups(old: Sequence[int], new: Sequence[int]) -> list[Group]:
    """Returns pairs of the shortest runs of axes with the same number of elements in both shapes.

    A reshape moves no elements between runs. Axes of size 1 are omitted. In shapes with zeros,
    paired runs have the same number of zeros, and the same number of elements apart from these; if
    there are no such runs, the remaining axes of both shapes form one pair.

    Args:
      old: the shape of the operand.
      new: the shape of the result, with the same number of elements.
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
