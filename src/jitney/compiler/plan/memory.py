"""Allotting the arena: buffers whose lives do not overlap share memory."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler.plan import ir

ALIGNMENT = 64


def allot(steps: Sequence[ir.Step]) -> int:
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
            # What is alive before a loop and used in it must survive every turn.
            for buffer in _all_touched(blocks):
                if first[buffer] <= start or isinstance(step, ir.Branch):
                    last[buffer] = clock
            for buffer in ir.touched(step):
                last[buffer] = clock

    visit(steps)
    return _place([b for b in first if b.place == "arena"], first, last)


def _all_touched(blocks: Sequence[Sequence[ir.Step]]) -> set[ir.Buffer]:
    found: set[ir.Buffer] = set()
    stack = [step for block in blocks for step in block]
    while stack:
        step = stack.pop()
        found.update(ir.touched(step))
        stack.extend(s for block in ir.inner(step) for s in block)
    return found


def _place(
    buffers: list[ir.Buffer], first: dict[ir.Buffer, int], last: dict[ir.Buffer, int]
) -> int:
    free: list[tuple[int, int]] = []  # (offset, size), by offset
    busy: list[tuple[int, int, int]] = []  # (last use, offset, size)
    top = 0
    for buffer in sorted(buffers, key=lambda b: first[b]):
        now = first[buffer]
        ended = [entry for entry in busy if entry[0] <= now]
        if ended:
            busy = [entry for entry in busy if entry[0] > now]
            free = _merge(free + [(offset, size) for _, offset, size in ended])
        size = -(-max(buffer.nbytes, 1) // ALIGNMENT) * ALIGNMENT
        fitting = [(n, offset) for offset, n in free if n >= size]
        if fitting:
            n, offset = min(fitting)
            free.remove((offset, n))
            if n > size:
                free = _merge([*free, (offset + size, n - size)])
        else:
            offset, top = top, top + size
        buffer.index = offset
        busy.append((last[buffer], offset, size))
    return top


def _merge(free: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for offset, size in sorted(free):
        if merged and merged[-1][0] + merged[-1][1] == offset:
            merged[-1] = (merged[-1][0], merged[-1][1] + size)
        else:
            merged.append((offset, size))
    return merged
