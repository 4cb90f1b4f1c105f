"""Buffer assignment: buffers of the arena whose live ranges do not overlap share memory.

Dynamic storage allocation with known lifetimes. Buffers are placed in the order of their first use,
each into the smallest hole that holds it (best fit), freed after their last; a loop's body extends
what it uses to the loop's end. O(n log n) in the number of buffers.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Sequence

from jitney.compiler.plan import ir

ALIGNMENT = 64


def assign_buffers(steps: Sequence[ir.Step]) -> int:
    """Gives every arena buffer an offset; returns the size of the arena in bytes."""
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
            # What is alive before a loop and used in it must survive every iteration.
            for buffer in _all_touched(blocks):
                if first[buffer] <= start or isinstance(step, ir.Branch):
                    last[buffer] = clock
            for buffer in ir.touched(step):
                last[buffer] = clock

    visit(steps)
    return place([b for b in first if b.place == "arena"], first, last)


def _all_touched(blocks: Sequence[Sequence[ir.Step]]) -> set[ir.Buffer]:
    found: set[ir.Buffer] = set()
    stack = [step for block in blocks for step in block]
    while stack:
        step = stack.pop()
        found.update(ir.touched(step))
        stack.extend(s for block in ir.inner(step) for s in block)
    return found


def place(buffers: list[ir.Buffer], first: dict[ir.Buffer, int], last: dict[ir.Buffer, int]) -> int:
    """Gives each of `buffers`, which live from `first` to `last`, an offset; returns their end."""
    free = _Free()
    busy: list[tuple[int, int, int]] = []  # a heap of (last use, offset, size)
    top = 0
    for buffer in sorted(buffers, key=lambda b: first[b]):
        while busy and busy[0][0] <= first[buffer]:
            _, offset, size = heapq.heappop(busy)
            free.add(offset, size)
        size = -(-max(buffer.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        offset = free.take(size)
        if offset is None:
            offset, top = top, top + size
        buffer.index = offset
        heapq.heappush(busy, (last[buffer], offset, size))
    return top


class _Free:
    """Stretches of memory that nobody uses; neighbours are one."""

    def __init__(self) -> None:
        self.by_size: list[tuple[int, int]] = []  # (size, offset), in order
        self.size_at: dict[int, int] = {}
        self.ending_at: dict[int, int] = {}  # end -> offset

    def add(self, offset: int, size: int) -> None:
        """Notes that a stretch is free."""
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
        """The offset of `size` bytes of the smallest stretch that has them; None if there is none."""
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
