"""Buffer assignment: buffers in the arena share memory if their live ranges do not overlap.

The problem is dynamic storage allocation with known lifetimes. Buffers are placed in the order of
their first use, each in the smallest hole that is large enough (best fit), and are freed after
their last use. A buffer that is live before a loop and used in its body is live until the end of
the loop. The cost is O(n log n) for n buffers.

If fragmentation is too high, the buffers are instead placed in the order of decreasing size, each
at the lowest offset that does not overlap a simultaneously live buffer (greedy by size, Pisarchyk
and Lee, 2020).
"""

from __future__ import annotations

import bisect
import heapq
import itertools
from collections.abc import Sequence
from typing import TypeAlias

from jitney.compiler.cost import COSTS
from jitney.compiler.plan import ir

ALIGNMENT = 64


def assign_buffers(steps: Sequence[ir.Step]) -> int:
    """Assigns an offset to every arena buffer; returns the size of the arena in bytes."""
    first: dict[ir.Buffer, int] = {}
    last: dict[ir.Buffer, int] = {}
    clock = 0

    def visit(steps: Sequence[ir.Step]) -> None:
        nonlocal clock
        for step in steps:
            start = clock
            clock += 1
            for buffer in ir.touched(step):
                first.setdefault(buffer, start)
                last[buffer] = clock
            blocks = ir.inner(step)
            if not blocks:
                continue
            for block in blocks:
                visit(block)
            clock += 1
            # Buffers that are live before a loop and used in it must stay live in every iteration.
            for buffer in {b for block in blocks for x in block for b in ir.all_touched(x)}:
                if first[buffer] <= start or isinstance(step, ir.Branch):
                    last[buffer] = clock
            for buffer in ir.touched(step):
                last[buffer] = clock

    visit(steps)
    return place([b for b in first if b.place == "arena"], first, last)


def place(buffers: list[ir.Buffer], first: dict[ir.Buffer, int], last: dict[ir.Buffer, int]) -> int:
    """Assigns offsets to `buffers`, live from `first` to `last`, and returns the total size."""
    buffers = sorted(buffers, key=lambda b: first[b])
    lives = [(first[b], last[b], _size(b)) for b in buffers]
    offsets, top = _best_fit(lives)
    if top > COSTS.tight_arena and top > _most_alive(lives) * COSTS.loose_arena:
        others, other_top = _by_size(lives)
        if other_top < top:
            offsets, top = others, other_top
    for buffer, offset in zip(buffers, offsets, strict=True):
        buffer.index = offset
    return top


_Life: TypeAlias = tuple[int, int, int]  # (first use, last use, size in bytes)


def _size(buffer: ir.Buffer) -> int:
    return -(-max(buffer.nbytes, 1) // ALIGNMENT) * ALIGNMENT


def _best_fit(lives: Sequence[_Life]) -> tuple[list[int], int]:
    """Returns the offsets of buffers, and the total size, by best fit.

    Each buffer is placed in the smallest hole at its first use. `lives` must be in the order of
    first use.
    """
    free = _Free()
    busy: list[_Life] = []  # a heap of (last use, offset, size)
    offsets: list[int] = []
    top = 0
    for begin, end, size in lives:
        while busy and busy[0][0] <= begin:
            _, offset, freed = heapq.heappop(busy)
            free.add(offset, freed)
        offset = free.take(size)
        if offset is None:
            offset, top = top, top + size
        offsets.append(offset)
        heapq.heappush(busy, (end, offset, size))
    return offsets, top


def _most_alive(lives: Sequence[_Life]) -> int:
    """Returns the peak number of live bytes, a lower bound on the size of every assignment."""
    ends = [change for begin, end, size in lives for change in ((begin, size), (end, -size))]
    # Memory freed at a point in time is available to buffers first used at that point.
    return max(itertools.accumulate([change for _, change in sorted(ends)]), default=0)


def _by_size(lives: Sequence[_Life]) -> tuple[list[int], int]:
    """Returns the offsets of buffers, and the total size, placed in the order of decreasing size.

    Each of the largest buffers is placed at the lowest offset that is free during its lifetime. All
    others are placed by best fit in separate memory above them.
    """
    order = sorted(range(len(lives)), key=lambda k: -lives[k][2])
    large, small = order[: COSTS.placed_by_size], sorted(order[COSTS.placed_by_size :])
    offsets = [0] * len(lives)
    placed: list[int] = []  # in the order of their offsets
    top = 0
    for k in large:
        begin, end, size = lives[k]
        offset = 0
        for other in placed:
            other_begin, other_end, other_size = lives[other]
            if other_begin < end and begin < other_end:
                if offset + size <= offsets[other]:
                    break
                offset = max(offset, offsets[other] + other_size)
        offsets[k] = offset
        bisect.insort(placed, k, key=offsets.__getitem__)
        top = max(top, offset + size)
    above, small_top = _best_fit([lives[k] for k in small])
    for k, offset in zip(small, above, strict=True):
        offsets[k] = top + offset
    return offsets, top + small_top


class _Free:
    """Free ranges of memory; adjacent ranges are merged."""

    def __init__(self) -> None:
        self.by_size: list[tuple[int, int]] = []  # (size, offset), sorted
        self.size_at: dict[int, int] = {}
        self.ending_at: dict[int, int] = {}  # end -> offset

    def add(self, offset: int, size: int) -> None:
        """Marks a range as free."""
        before = self.ending_at.get(offset)
        if before is not None:
            size += self._remove(before)
            offset = before
        if offset + size in self.size_at:
            size += self._remove(offset + size)
        self.size_at[offset] = size
        self.ending_at[offset + size] = offset
        bisect.insort(self.by_size, (size, offset))

    def take(self, size: int) -> int | None:
        """Allocates `size` bytes in the smallest sufficient range; returns the offset, or None."""
        place = bisect.bisect_left(self.by_size, (size, 0))
        if place == len(self.by_size):
            return None
        n, offset = self.by_size[place]
        self._remove(offset)
        if n > size:
            self.add(offset + size, n - size)
        return offset

    def _remove(self, offset: int) -> int:
        size = self.size_at.pop(offset)
        del self.ending_at[offset + size]
        del self.by_size[bisect.bisect_left(self.by_size, (size, offset))]
        return size
