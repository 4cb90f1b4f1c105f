"""Strip mining of launches that depend on each other row by row.

All launches process one strip of rows, while it is in the caches, before they process the next.

    launch k0(input0, arena0)                        strips of 16 rows, 64 in all {
    launch k1(input0, arena0, arena256)        ->      launch k0(input0, strip0)
    launch k2(arena256, output0)                       launch k1(input0, strip0, strip64)
                                                       launch k2(strip64, output0)
                                                     }

Softmax, normalization and variance are examples of such chains: sums over the elements of a row,
and elementwise functions of these sums. Without strips, each kernel would read and write complete
arrays in memory. The pass combines strip mining of the outermost loops with fusion of the loops
over strips (Wolfe, "More iteration space tiling", 1989; Kennedy and McKinley, "Maximizing loop
parallelism and improving data locality via loop fusion and distribution", 1994). The compiled
function of a kernel takes a range of its outermost loop, so neither its code nor its results
change. A buffer that only the launches of a chain access is never completely in memory.

The pass rewrites the steps of a plan before offsets are assigned to buffers. Its cost is linear in
the number of steps, since a chain skips a bounded number of steps that do not belong to it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from jitney.compiler.cost import COSTS
from jitney.compiler.plan import ir, memory, parts
from jitney.compiler.plan.accesses import reads_and_writes
from jitney.compiler.plan.rows import KernelRows, Rows, rows_of
from jitney.core.util.record import replace


def strip_mine(steps: Sequence[ir.Step]) -> list[ir.Step]:
    """Returns `steps` with chains of launches over the same rows replaced by `RowStrips`.

    Nested steps are rewritten as well.
    """
    return _Miner(steps).mined(steps)


class _Miner:
    """The state of the pass for a program.

    Attributes:
      uses: the number of steps that access each buffer.
    """

    def __init__(self, steps: Sequence[ir.Step]) -> None:
        self.uses: Counter[ir.Buffer] = Counter()
        # Keyed by `id`, and stored with the launch itself, since ids of deleted objects are reused.
        self._rows: dict[int, tuple[ir.Launch, Rows | None]] = {}
        self._kernels: dict[int, KernelRows | None] = {}
        self._count_uses(steps)

    def _count_uses(self, steps: Sequence[ir.Step]) -> None:
        for step in steps:
            self.uses.update(set(ir.touched(step)))
            for block in ir.inner(step):
                self._count_uses(block)

    def rows(self, launch: ir.Launch) -> Rows | None:
        """Returns the accesses of `launch` by row, cached because several chains can need them."""
        known = self._rows.get(id(launch))
        if known is None:
            known = self._rows[id(launch)] = launch, rows_of(launch, self._kernels)
        return known[1]

    def mined(self, steps: Sequence[ir.Step]) -> list[ir.Step]:
        """Returns `steps` with their chains replaced by `RowStrips`."""
        done: list[ir.Step] = []
        left = [self._within(step) for step in steps]
        left.reverse()
        while left:
            chain = self._chain_from(left)
            if chain is None:
                done.append(left.pop())
                continue
            done += [*self.mined(chain.before), chain.mined(self.uses)]
            left += reversed(chain.after)
        return done

    def _within(self, step: ir.Step) -> ir.Step:
        """Returns `step` with its nested steps strip-mined."""
        match step:
            case ir.Loop():
                return replace(step, cond=self.mined(step.cond), body=self.mined(step.body))
            case ir.Branch():
                return replace(step, cases=[self.mined(case) for case in step.cases])
            case _:
                return step

    def _has_large_buffer(self, launch: ir.Launch) -> bool:
        """Returns whether `launch` accesses a buffer worth keeping in cache for the next launch."""
        return any(b.nbytes >= COSTS.strip_buffer and self.uses[b] > 1 for b in launch.buffers)

    def _chain_from(self, left: list[ir.Step]) -> _Chain | None:
        """Removes a chain that starts with the last step of `left` from `left`, and returns it.

        Returns None, and leaves `left` unchanged, if no chain pays off.
        """
        first = left[-1]
        rows = None
        if isinstance(first, ir.Launch) and self._has_large_buffer(first):
            rows = self.rows(first)
        if rows is None:
            return None
        chain = _Chain(rows)
        taken = 1
        while taken < len(left) and len(chain.before) + len(chain.after) <= COSTS.strip_detours:
            step = left[-1 - taken]
            member = None
            if isinstance(step, ir.Launch) and chain.touches(step):
                member = self.rows(step)
            chain.take(step, member)
            taken += 1
        if not chain.pays():
            return None
        del left[len(left) - taken :]
        return chain


class _Chain:
    """A chain of launches to be run strip by strip.

    Attributes:
      members: the accesses by row of each launch, in order.
      rows: the number of rows, which is the same for all of them.
      before: the steps between the launches that are moved before the chain, because they do not
        depend on it.
      after: the steps between the launches that are moved after the chain.
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

    def touches(self, launch: ir.Launch) -> bool:
        """Returns whether `launch` shares a buffer with the chain, so that joining can pay off."""
        return any(b in self._touched for b in launch.buffers)

    def take(self, step: ir.Step, member: Rows | None) -> None:
        """Adds the next step of the program to the chain, or to the steps before or after it."""
        touched, written = _effects(step)
        refused = self._refuses(member) if member is not None else ""
        if touched & self._written_after or written & self._touched_after:
            self._delay(step, touched, written)
        elif member is not None and not refused:
            self._add(member)
        elif isinstance(step, ir.Launch) and not (
            touched & self._written or written & self._touched
        ):
            self.before.append(step)
        elif isinstance(step, ir.Launch) and not self._takes_part_of(step):
            self._delay(replace(step, apart=refused), touched, written)
        elif not isinstance(step, ir.Launch):
            self._delay(step, touched, written)

    def _takes_part_of(self, launch: ir.Launch) -> bool:
        """Adds partial sums of `launch` to the chain if it is a sum over rows.

        Each strip sums its own rows, and launches after the chain add up the partial sums. Returns
        whether the partial sums were added.
        """
        division = parts.by_rows(launch, self.rows, self.rows * _row_bytes(self.members, self.rows))
        if division is None:
            return False
        part, last = division
        member = rows_of(part)
        if member is None or self._refuses(member):
            return False
        self._add(member)
        for each in last:
            self._delay(each, *_effects(each))
        return True

    def _add(self, member: Rows) -> None:
        self.members.append(member)
        self.rows = math.gcd(self.rows, member.extent)
        self._written |= member.written
        self._touched |= set(member.buffers)

    def _delay(self, step: ir.Step, touched: set[ir.Buffer], written: set[ir.Buffer]) -> None:
        self.after.append(step)
        self._touched_after |= touched
        self._written_after |= written

    def _refuses(self, member: Rows) -> str:
        """Returns the reason why `member` should not be part of the chain, or "" if it should."""
        rows = math.gcd(self.rows, member.extent)
        members = [*self.members, member]
        by_row = rows >= COSTS.strip_rows and all(
            m.is_by_row(b, rows)
            for b in self._written | member.written
            for m in members
            if b in m.buffers and _uses_of(b, members) > 1
        )
        if not by_row or not self._shares(member, rows):
            return "it needs other rows, too"
        if _row_bytes(members, rows) > COSTS.strip_bytes:
            return "rows are too long for a strip"
        if len(members) > COSTS.strip_launches:
            return "the strips have the maximum number of launches"
        return ""

    def _shares(self, member: Rows, rows: int) -> bool:
        """Returns whether `member` accesses, row by row, a buffer that the chain keeps in cache."""
        return any(
            member.is_by_row(b, rows) and any(m.is_by_row(b, rows) for m in self.members)
            for b in member.buffers
            if b in self._touched
        )

    def pays(self) -> bool:
        """Returns whether the chain reuses enough bytes from cache to pay off."""
        if len(self.members) == 1:
            return False
        uses: Counter[ir.Buffer] = Counter()
        for m in self.members:
            uses.update(b for b in m.buffers if m.is_by_row(b, self.rows))
        return sum((n - 1) * b.nbytes for b, n in uses.items()) >= COSTS.strip_above

    def mined(self, uses: Counter[ir.Buffer]) -> ir.RowStrips:
        """Returns the chain as a step.

        Buffers that no other step of the program accesses become buffers of the strip.
        """
        rows = self.rows
        strip = min(max(COSTS.strip_bytes // _row_bytes(self.members, rows), 1), rows)
        own, nbytes = self._own_buffers(strip, uses)
        while nbytes > COSTS.strip_stack and strip > 1:
            strip = -(-strip // 2)
            own, nbytes = self._own_buffers(strip, uses)
        if nbytes > COSTS.strip_stack:
            own = {}
        launches = [m.launch for m in self.members]
        buffers = [tuple([own.get(b, b) for b in launch.buffers]) for launch in launches]
        mined = [replace(x, buffers=bs) for x, bs in zip(launches, buffers, strict=True)]
        return ir.RowStrips(rows, strip, tuple(mined))

    def _own_buffers(
        self, strip: int, uses: Counter[ir.Buffer]
    ) -> tuple[dict[ir.Buffer, ir.Buffer], int]:
        """Returns the strip buffers that replace complete buffers, and their total bytes."""
        first: dict[ir.Buffer, int] = {}
        last: dict[ir.Buffer, int] = {}
        own: dict[ir.Buffer, ir.Buffer] = {}
        for i, m in enumerate(self.members):
            for b in m.buffers:
                if b not in own and _is_own(b, m, self.members, uses):
                    own[b] = ir.Buffer("strip", b.nbytes // self.rows * strip)
                    first[own[b]] = i
                if b in own:
                    last[own[b]] = i + 1
        return own, memory.place(list(first), first, last)


def _is_own(
    buffer: ir.Buffer, first: Rows, members: Sequence[Rows], uses: Counter[ir.Buffer]
) -> bool:
    """Returns whether a buffer of the strip can replace `buffer`.

    Only the chain may access the buffer. `first`, the first member that accesses it, must write and
    not read it.
    """
    return (
        buffer.place == "arena"
        and buffer in first.written
        and buffer not in first.read
        and uses[buffer] == _uses_of(buffer, members) > 1
    )


def _uses_of(buffer: ir.Buffer, members: Sequence[Rows]) -> int:
    return sum(buffer in m.buffers for m in members)


def _row_bytes(members: Sequence[Rows], rows: int) -> int:
    """Returns the bytes that members access per row, without buffers that every row needs."""
    touched = {b for m in members for b in m.buffers if m.is_by_row(b, rows)}
    return max(sum([-(-b.nbytes // rows) for b in touched]), 1)


def _effects(step: ir.Step) -> tuple[set[ir.Buffer], set[ir.Buffer]]:
    """Returns the buffers that a step accesses, and the buffers that it may write."""
    if isinstance(step, ir.Launch):
        return set(step.buffers), set(reads_and_writes(step)[1])
    touched = set(ir.touched(step)).union(
        *[_effects(s)[0] for block in ir.inner(step) for s in block]
    )
    return touched, touched
