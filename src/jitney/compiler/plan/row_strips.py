"""Launches that depend on each other row by row, strip-mined: a strip of rows goes through all of them
while it is in the caches, then the next one does.

    launch k0(input0, arena0)                        strips of 16 rows, 64 in all {
    launch k1(input0, arena0, arena256)        ->      launch k0(input0, strip0)
    launch k2(arena256, output0)                       launch k1(input0, strip0, strip64)
                                                       launch k2(strip64, output0)
                                                     }

A softmax, a normalization, a variance are such chains: sums over the elements of a row, and functions
by elements of what they give. Each kernel alone would go over all of memory. Strip mining with loop
fusion on the strips (Wolfe, "More iteration space tiling", 1989; Kennedy and McKinley, "Maximizing loop
parallelism and improving data locality via loop fusion and distribution", 1994), here of the outermost
loops alone: kernels are functions of a part of their outermost loop as it is, so their code stays what
it was, and so do the bits of their results. What only the launches of a chain touch is never in memory
as a whole.

The pass takes steps and gives steps, before buffers have places. Linear in the steps: a chain looks no
further than a bounded number of steps that do not belong to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from jitney.compiler.cost import COSTS
from jitney.compiler.plan import ir, memory
from jitney.compiler.plan.rows import Rows, rows_of
from jitney.core.record import replace


def strip_mine(steps: Sequence[ir.Step]) -> list[ir.Step]:
    """`steps`, with chains of launches over the same rows as `RowStrips`, in loops and branches too."""
    uses: Counter[ir.Buffer] = Counter()
    _count_uses(steps, uses)
    return _mined(steps, uses)


def _count_uses(steps: Sequence[ir.Step], uses: Counter[ir.Buffer]) -> None:
    for step in steps:
        uses.update(set(ir.touched(step)))
        for block in ir.inner(step):
            _count_uses(block, uses)


def _mined(steps: Sequence[ir.Step], uses: Counter[ir.Buffer]) -> list[ir.Step]:
    done: list[ir.Step] = []
    left = [_within(step, uses) for step in steps]
    left.reverse()
    while left:
        chain = _chain_from(left)
        if chain is None:
            done.append(left.pop())
            continue
        done += [*_mined(chain.before, uses), chain.mined(uses)]
        left += reversed(chain.after)
    return done


def _within(step: ir.Step, uses: Counter[ir.Buffer]) -> ir.Step:
    """`step` with the steps within it strip-mined."""
    match step:
        case ir.Loop():
            return replace(step, cond=_mined(step.cond, uses), body=_mined(step.body, uses))
        case ir.Branch():
            return replace(step, cases=[_mined(case, uses) for case in step.cases])
        case _:
            return step


def _chain_from(left: list[ir.Step]) -> _Chain | None:
    """The chain that begins with the last of `left`, whose steps are taken from there; None if none
    pays, and `left` stays as it is."""
    first = left[-1]
    if not isinstance(first, ir.Launch) or not _is_large(first):
        return None
    rows = rows_of(first)
    if rows is None:
        return None
    chain = _Chain(rows)
    taken = 1
    while taken < len(left) and len(chain.before) + len(chain.after) <= COSTS.strip_detours:
        chain.take(left[-1 - taken])
        taken += 1
    if not chain.pays():
        return None
    del left[len(left) - taken :]
    return chain


def _is_large(launch: ir.Launch) -> bool:
    """Whether one of its buffers is worth keeping in a cache."""
    return max([b.nbytes for b in launch.buffers], default=0) >= COSTS.strip_buffer


class _Chain:
    """Launches that are to run strip by strip.

    Attributes:
      members: rows of each of them, in order.
      rows: which all of them have.
      before: steps that stood among them, which come before the chain: they need nothing of it.
      after: others that stood among them, which come after it.
    """

    def __init__(self, first: Rows) -> None:
        self.members = [first]
        self.rows = first.extent
        self.before: list[ir.Step] = []
        self.after: list[ir.Step] = []
        self._written = set(first.written)
        self._touched = set(first.buffers)
        self._written_after: set[ir.Buffer] = set()
        self._touched_after: set[ir.Buffer] = set()

    def take(self, step: ir.Step) -> None:
        """Gives `step`, the next one of the program, its place: in the chain, before or after it."""
        member = rows_of(step) if isinstance(step, ir.Launch) else None
        touched, written = _effects(step)
        refused = self._refuses(member) if member is not None else ""
        if touched & self._written_after or written & self._touched_after:
            self._delay(step, touched, written)
        elif member is not None and not refused:
            self.members.append(member)
            self.rows = math.gcd(self.rows, member.extent)
            self._written |= written
            self._touched |= touched
        elif isinstance(step, ir.Launch) and not (
            touched & self._written or written & self._touched
        ):
            self.before.append(step)
        else:
            if isinstance(step, ir.Launch):
                step = replace(step, apart=refused)
            self._delay(step, touched, written)

    def _delay(self, step: ir.Step, touched: set[ir.Buffer], written: set[ir.Buffer]) -> None:
        self.after.append(step)
        self._touched_after |= touched
        self._written_after |= written

    def _refuses(self, member: Rows) -> str:
        """Why `member` cannot be one of the chain, or had better not be; "" if it can."""
        rows = math.gcd(self.rows, member.extent)
        members = [*self.members, member]
        by_row = rows >= COSTS.strip_rows and all(
            m.is_by_row(b, rows)
            for b in self._written | member.written
            for m in members
            if b in m.buffers and _uses_of(b, members) > 1
        )
        if not by_row or not self._shares(member, rows):
            return "needs other rows too"
        if _row_bytes(members, rows) > COSTS.strip_bytes:
            return "rows are too long for a strip"
        if len(members) > COSTS.strip_launches:
            return "the strips have many launches already"
        return ""

    def _shares(self, member: Rows, rows: int) -> bool:
        """Whether `member` touches, row by row, what the chain has in its caches."""
        return any(
            member.is_by_row(b, rows) and any(m.is_by_row(b, rows) for m in self.members)
            for b in member.buffers
            if b in self._touched
        )

    def pays(self) -> bool:
        """Whether as many bytes are found in caches as are worth it."""
        found: Counter[ir.Buffer] = Counter()
        for m in self.members:
            found.update(b for b in m.buffers if m.is_by_row(b, self.rows))
        return sum((n - 1) * b.nbytes for b, n in found.items()) >= COSTS.strip_above

    def mined(self, uses: Counter[ir.Buffer]) -> ir.RowStrips:
        """The step; what nothing else in the program touches becomes the strip's own."""
        rows, launches = self.rows, [m.launch for m in self.members]
        strip = min(max(COSTS.strip_bytes // _row_bytes(self.members, rows), 1), rows)
        first: dict[ir.Buffer, int] = {}
        last: dict[ir.Buffer, int] = {}
        own: dict[ir.Buffer, ir.Buffer] = {}
        for i, m in enumerate(self.members):
            for b in m.buffers:
                new = own.get(b)
                if new is None and _is_own(b, m, self.members, uses):
                    new = own[b] = ir.Buffer("strip", b.nbytes // rows * strip)
                    first[new] = i
                if new is not None:
                    last[new] = i + 1
        if memory.place(list(first), first, last) > COSTS.strip_bytes:  # alignment
            own = {}
        return ir.RowStrips(
            rows,
            strip,
            tuple(
                [replace(x, buffers=tuple([own.get(b, b) for b in x.buffers])) for x in launches]
            ),
        )


def _is_own(
    buffer: ir.Buffer, first: Rows, members: Sequence[Rows], uses: Counter[ir.Buffer]
) -> bool:
    """Whether `buffer`, which `first` is the first member to touch, lives in the chain alone."""
    return (
        buffer.place == "arena"
        and buffer in first.written
        and buffer not in first.read
        and uses[buffer] == _uses_of(buffer, members) > 1
    )


def _uses_of(buffer: ir.Buffer, members: Sequence[Rows]) -> int:
    return sum(buffer in m.buffers for m in members)


def _row_bytes(members: Sequence[Rows], rows: int) -> int:
    """Bytes that the members touch for one row, without what they read all of for each."""
    touched = {b for m in members for b in m.buffers if m.is_by_row(b, rows)}
    return max(sum([-(-b.nbytes // rows) for b in touched]), 1)


def _effects(step: ir.Step) -> tuple[set[ir.Buffer], set[ir.Buffer]]:
    """Buffers that a step touches, and those of them that it may write."""
    if isinstance(step, ir.Launch):
        written = {step.buffers[o.param] for o in step.kernel.outputs}
        if not hasattr(step.kernel, "carried"):
            return set(step.buffers), written
    touched = set(ir.touched(step)).union(
        *[_effects(s)[0] for block in ir.inner(step) for s in block]
    )
    return touched, touched
