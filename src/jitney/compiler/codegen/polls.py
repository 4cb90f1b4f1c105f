"""Polling for signals in compiled code, so that Ctrl-C interrupts infinite loops.

Programs call the runtime's `i32 poll(ptr call)` periodically: at the ends of loop iterations, between
steps, between the chunks of a large kernel, and within kernels if one iteration of the outermost loop
is much work. A poll mostly reads the clock, which takes some 30 ns. So polls are some hundred
microseconds apart, by the cost model: loops with short iterations count down to the next poll, or run
in strips.

Every function returns 1 when it has finished. If a poll reports that the program has to end, the
functions return 0, from the innermost outwards.
"""

from __future__ import annotations

import math

from jitney.compiler.codegen.kernel_key import body_cost
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.loop_kernel import LoopKernel
from jitney.compiler.kernels.schedule import loop_order, schedule
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant

POLL = "poll"  # the runtime's function
SUCCEEDED = constant(1, "i32")


def check(e: Emitter, status: Value) -> None:
    """Returns from the function unless `status`, the result of a call, reports success."""
    n = e.fresh()[1:]
    e.branch(e.icmp("eq", status, SUCCEEDED), f"fine.{n}", f"failed.{n}")
    e.label(f"failed.{n}")
    e.line("ret i32 0")
    e.label(f"fine.{n}")


def poll(e: Emitter) -> None:
    """Polls for signals; returns from the function if the program has to end.

    The poll is declared cold, so that LLVM spills registers on this path only.
    """
    e.declarations.add(f"declare i32 @jitney.{POLL}(ptr) cold")
    check(e, e.emit(f"call i32 @jitney.{POLL}(ptr %call)", "i32"))


def _period(cost: int) -> int:
    """Returns the number of iterations of `cost` between two polls."""
    return max(min(COSTS.poll_loop // max(cost, 1), COSTS.poll_iterations), 1)


class Unwatched:
    """A loop with few iterations, which does not poll."""

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
    """A loop whose iterations count down to the next poll.

    Args:
      e: the emitter.
      head: label of the loop's first block.
      cost: cost of one iteration.
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
        self.e.lines.append("")  # the phi: its other edges follow after the body

    def repeat(self) -> list[tuple[str, bool]]:
        """Ends an iteration: branches back to the head.

        Returns the labels of the blocks that do, and whether carried values there are the next
        iteration's.
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
    """A loop that counts up to a bound, in strips; it polls between them.

    The counter is compared with the end of the strip, not with the bound, so iterations cost no
    more.

    Args:
      e: the emitter, in the block before the loop.
      head: label of the loop's first block.
      cost: cost of one iteration.
      counter: number of the carried scalar that counts.
      start: its first value.
      bound: its limit.
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
        """Returns the end of the strip that begins with `at`."""
        period = constant(self.period, at.kind)
        return self.e.intrinsic(
            "llvm.smin", [self.e.intrinsic("llvm.sadd.sat", [at, period]), self.bound]
        )

    def begin(self, before: str) -> None:
        """Begins the head of the loop, the successor of block `before`."""
        self.before = before
        self.end = Value(self.e.fresh(), self.first.kind)
        self.place = len(self.e.lines)
        self.e.lines.append("")  # the phi: its other edges follow after the body

    def branch(self, at: Value, body: str, done: str) -> None:
        """Branches to `body` with the counter `at`, or to `done`."""
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


def polling_position(kernel: Kernel | LoopKernel) -> int | None:
    """Returns the position, in the loop order, of the loop that polls; None if none does.

    Kernels are called for chunks of their outermost loop, and the caller polls between these.
    """
    order = () if isinstance(kernel, LoopKernel) else loop_order(schedule(kernel))
    if not order:
        return None
    costs = [
        body_cost(kernel) * math.prod([kernel.extents[axis] for axis in order[p + 1 :]])
        for p in range(len(order))
    ]
    if costs[0] < COSTS.poll_index:
        return None
    return max(p for p, cost in enumerate(costs) if cost >= COSTS.poll_loop)


def has_polls(kernel: Kernel | LoopKernel) -> bool:
    """Returns whether a kernel polls for signals itself, and may therefore be interrupted."""
    if isinstance(kernel, LoopKernel):
        return kernel.trips is None or kernel.trips > _period(body_cost(kernel))
    return polling_position(kernel) is not None
