"""Polling for signals in compiled code, so that Ctrl-C interrupts infinite loops.

Programs periodically call the runtime's function `i32 poll(ptr call)`: at the end of loop
iterations, between steps, between the chunks of a large kernel, and within a kernel if one
iteration of its outermost loop takes long. Most polls only read the clock, which takes about 30 ns.
By the cost model, polls are a few hundred microseconds apart: loops with short iterations count
down to the next poll, or are divided into strips.

Every function returns 1 when it has finished. If a poll reports that the program has to stop, all
active functions return 0, innermost first.
"""

from __future__ import annotations

import math

from jitney.compiler.codegen.kernel_costs import body_cost
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.schedule import loop_order, schedule
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant

POLL = "poll"  # the runtime's function
SUCCEEDED = constant(1, "i32")


def check(e: Emitter, status: Value) -> None:
    """Writes a return from the function unless `status`, the result of a call, reports success."""
    n = e.fresh()[1:]
    e.branch(e.icmp("eq", status, SUCCEEDED), f"fine.{n}", f"failed.{n}")
    e.label(f"failed.{n}")
    e.line("ret i32 0")
    e.label(f"fine.{n}")


def poll(e: Emitter) -> None:
    """Writes a poll for signals, and a return from the function if the program has to stop.

    The poll is declared cold, so that LLVM spills registers on this path only.
    """
    e.declarations.add(f"declare i32 @jitney.{POLL}(ptr) cold")
    check(e, e.emit(f"call i32 @jitney.{POLL}(ptr %call)", "i32"))


def _period(cost: int) -> int:
    """Returns the number of iterations of cost `cost` between two polls."""
    return max(min(COSTS.poll_loop // max(cost, 1), COSTS.poll_iterations), 1)


class Unwatched:
    """The polling of a loop with few iterations, which never polls."""

    def __init__(self, e: Emitter, head: str) -> None:
        self.e = e
        self.head = head

    def begin(self, before: str) -> None:
        """Begins the head of the loop, the successor of block `before`."""

    def repeat(self) -> list[tuple[str, bool]]:
        """Ends an iteration; see `Countdown.repeat`."""
        last = self.e.block
        self.e.jump(self.head)
        return [(last, True)]


class Countdown:
    """The polling of a loop in which iterations count down to the next poll.

    Args:
      e: the emitter.
      head: the label of the first block of the loop.
      cost: the cost of one iteration.
    """

    def __init__(self, e: Emitter, head: str, cost: int) -> None:
        self.e = e
        self.head = head
        self.period = _period(cost)

    def begin(self, before: str) -> None:
        """Begins the head of the loop, the successor of block `before`."""
        self.before = before
        self.left = Value(self.e.fresh(), "i64")
        self.place = len(self.e.lines)
        self.e.lines.append("")  # the phi, completed after the body

    def repeat(self) -> list[tuple[str, bool]]:
        """Ends an iteration with branches back to the head.

        Returns the labels of the branching blocks, and whether carried values in each of them are
        those of the next iteration.
        """
        e = self.e
        if self.period == 1:
            poll(e)
            last = e.block
            e.jump(self.head)
            return [(last, True)]
        n = e.fresh()[1:]
        after = e.sub(self.left, constant(1, "i64"))
        last = e.block
        e.branch(e.icmp("ne", after, constant(0, "i64")), self.head, f"look.{n}")
        e.label(f"look.{n}")
        poll(e)
        look = e.block
        e.jump(self.head)
        period = constant(self.period, "i64").text
        e.lines[self.place] = (
            f"  {self.left.text} = phi i64 [{period}, %{self.before}], "
            f"[{after.text}, %{last}], [{period}, %{look}]"
        )
        return [(last, True), (look, True)]


class Strips:
    """The polling of a loop that counts up to a bound: it runs in strips, and polls between them.

    The counter is compared with the end of the strip instead of the bound, so polling does not slow
    down iterations.

    Args:
      e: the emitter, in the block before the loop.
      head: the label of the first block of the loop.
      cost: the cost of one iteration.
      counter: the number of the carried scalar that counts.
      start: its initial value.
      bound: its bound.
    """

    def __init__(
        self, e: Emitter, head: str, cost: int, counter: int, start: Value, bound: Value
    ) -> None:
        self.e = e
        self.head = head
        self.period = _period(cost)
        self.counter = counter
        self.bound = bound
        self.first = self._end(start)

    def _end(self, at: Value) -> Value:
        """Returns the end of the strip that begins at `at`."""
        period = constant(self.period, at.kind)
        return self.e.intrinsic(
            "llvm.smin", [self.e.intrinsic("llvm.sadd.sat", [at, period]), self.bound]
        )

    def begin(self, before: str) -> None:
        """Begins the head of the loop, the successor of block `before`."""
        self.before = before
        self.end = Value(self.e.fresh(), self.first.kind)
        self.place = len(self.e.lines)
        self.e.lines.append("")  # the phi, completed after the body

    def branch(self, at: Value, body: str, done: str) -> None:
        """Branches to block `body`, or to `done` if the counter `at` has reached the bound."""
        self.at, self.done = at, done
        self.rim = f"rim.{self.e.fresh()[1:]}"
        self.e.branch(self.e.icmp("slt", at, self.end), body, self.rim)

    def repeat(self) -> list[tuple[str, bool]]:
        """Ends an iteration; see `Countdown.repeat`."""
        e = self.e
        last = e.block
        e.jump(self.head)
        e.label(self.rim)
        e.branch(e.icmp("slt", self.at, self.bound), f"look.{self.rim}", self.done)
        e.label(f"look.{self.rim}")
        poll(e)
        following = self._end(self.at)
        look = e.block
        e.jump(self.head)
        e.lines[self.place] = (
            f"  {self.end.text} = phi {self.end.type} [{self.first.text}, %{self.before}], "
            f"[{self.end.text}, %{last}], [{following.text}, %{look}]"
        )
        return [(last, True), (look, False)]


def polling_position(kernel: Kernel) -> int | None:
    """Returns the position, in the loop order, of the loop that polls, or None if none does.

    Kernels are called for chunks of their outermost loop, and the caller polls between the chunks.
    """
    order = () if kernel.loop is not None else loop_order(schedule(kernel))
    if not order:
        return None
    costs = [
        body_cost(kernel) * math.prod([kernel.extents[axis] for axis in order[p + 1 :]])
        for p in range(len(order))
    ]
    if costs[0] < COSTS.poll_index:
        return None
    return max(p for p, cost in enumerate(costs) if cost >= COSTS.poll_loop)


def has_polls(kernel: Kernel) -> bool:
    """Returns whether a kernel itself polls for signals, so that it can be interrupted."""
    if kernel.loop is not None:
        trips = kernel.loop.trips
        return trips is None or trips > _period(body_cost(kernel))
    return polling_position(kernel) is not None
