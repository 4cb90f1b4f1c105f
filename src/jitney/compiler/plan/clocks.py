"""Instruments plans with clocks, which measure how long and how often each step runs.

The method is that of instrumenting profilers (Graham, Kessler and McKusick, gprof: a call graph
execution profiler, 1982), at the granularity of kernels and library calls. It costs a few
nanoseconds per step. If the body of a loop is estimated to take less than a few microseconds, only
the loop as a whole is timed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.plan import ir
from jitney.compiler.plan.estimate import operations, traffic
from jitney.core.util.record import record, replace


@record
class Clocked:
    """An instrumented plan.

    Attributes:
      plan: the plan with clocks.
      original: the plan without clocks.
      steps: the timed steps, in the order of their clocks' indices.
      counters, events: see `ir.Clock`.
    """

    plan: ir.Plan
    original: ir.Plan
    steps: list[ir.Step]
    counters: np.ndarray
    events: np.ndarray | None = None

    @property
    def calls(self) -> int:
        """The number of times that the program was called."""
        return int(self.counters[-1])

    def taken(self, index: int) -> tuple[int, int]:
        """Returns the ticks that a step took in total, and the number of times that it ran."""
        ticks, times = self.counters[1 + 2 * index : 3 + 2 * index].tolist()
        return ticks, times


def with_clocks(plan: ir.Plan, most_events: int = 0) -> Clocked:
    """Returns `plan` with a clock after each of its steps.

    Args:
      plan: a plan without clocks.
      most_events: the maximum number of clock readings to record individually, besides the sums.
    """
    steps: list[ir.Step] = []
    _find(plan.steps, steps)
    # The last pair of counters belongs to the start of calls.
    counters = np.zeros(3 + 2 * len(steps), np.int64)
    indices = {id(step): i for i, step in enumerate(steps)}
    events = np.zeros(1 + 2 * most_events, np.int64) if most_events else None
    begin = ir.Clock(counters, -1, events)
    clocked = replace(
        plan,
        steps=[begin, *_clocked(plan.steps, indices, counters, events)],
        keep_alive=[*plan.keep_alive, counters, events],
    )
    return Clocked(clocked, plan, steps, counters, events)


def _find(steps: Sequence[ir.Step], timed: list[ir.Step]) -> None:
    """Appends the steps to be timed to `timed`, nested steps first."""
    for step in steps:
        for block in ir.inner(step) if _is_opened(step) else []:
            _find(block, timed)
        if not isinstance(step, ir.SwapBuffers):
            timed.append(step)


def _is_opened(step: ir.Step) -> bool:
    """Returns whether the steps nested in `step` take long enough to be timed separately."""
    inner = [x for block in ir.inner(step) for x in ir.all_steps(block)]
    calls_out = any(isinstance(x, ir.HostCall | ir.LibraryCall) for x in inner)
    return calls_out or sum([operations(x) + traffic(x) for x in inner]) >= COSTS.clocked_work


def _clocked(
    steps: Sequence[ir.Step],
    indices: dict[int, int],
    counters: np.ndarray,
    events: np.ndarray | None,
) -> list[ir.Step]:
    done: list[ir.Step] = []
    for step in steps:
        index = indices.get(id(step))
        if index is None:
            done.append(step)
            continue
        step = ir.with_inner(step, lambda block: _clocked(block, indices, counters, events))
        done += [step, ir.Clock(counters, index, events)]
    return done
