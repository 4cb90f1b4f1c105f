"""Times of the steps of compiled programs: programs with clocks, and their counts.

`plan/clocks.py` counts in ticks of the processor's clock; how many a second has, Python's clock says.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.clocks import Clocked
from jitney.core.avals import ShapedArray
from jitney.core.record import record
from jitney.inspection import machine, quantities
from jitney.inspection.collect import machine_code
from jitney.inspection.facts import Program, Work
from jitney.inspection.machine import Rates

if TYPE_CHECKING:
    from jitney.compiler.codegen.linking import CompiledProgram
    from jitney.core.typing import Value
    from jitney.runtime.executable import Executable

_LEAST_RATED = 2e-6  # seconds that a step takes for its rates to be shown
_LEAST_SPAN = 0.02  # seconds between the two looks at both clocks
_BUDGET = 0.3  # seconds of the calls that are measured
_MOST_CALLS = 50
_MOST_SHARE = 1.005  # of the roof, rounded to 100 %
_LEAST_MEMORY = 1 << 26  # bytes that a step moves for its rate to be that of memory


@record
class Timed:
    """The time of a step.

    Attributes:
      program: the function that it belongs to.
      work: the step; of a loop or branch only what is not in the steps within it.
      seconds: of all its runs together.
      times: how often it ran.
    """

    program: Program
    work: Work
    seconds: float
    times: int

    @property
    def flops_rate(self) -> float:
        """Operations per second."""
        return self.work.flops * self.times / self.seconds if self.seconds else 0.0

    @property
    def bytes_rate(self) -> float:
        """Bytes read and written per second."""
        return self.work.traffic * self.times / self.seconds if self.seconds else 0.0

    @property
    def is_rated(self) -> bool:
        """Whether its work is known, and it takes long enough to rate."""
        return (
            self.work.kind not in ("loop", "branch")
            and not self.work.is_of_unknown_length
            and self.seconds >= _LEAST_RATED * self.times
        )

    def roof_text(self, machine: Rates) -> str:
        """Formats the share of the roof; "in caches" if it moves bytes faster than memory allows."""
        in_caches = self.is_in_caches(machine)
        return "in caches" if in_caches else quantities.share(self.share_of_roof(machine))

    def is_in_caches(self, machine: Rates) -> bool:
        """Returns whether it is faster than memory allows."""
        return self.share_of_roof(machine) >= _MOST_SHARE

    def share_of_roof(self, machine: Rates) -> float:
        """Returns the least time at the machine's rates over the measured time: 1 is the roof."""
        least = self.times * machine.least_seconds(self.work.traffic, self.work.flops)
        return least / self.seconds if self.seconds else 0.0


def roof(steps: Iterable[Timed]) -> Rates:
    """Returns the machine's rates, or those that steps of a program reached if these are higher.

    The machine is measured in a second, in which it may have other things to do. Steps that move less
    than caches hold say nothing of memory.
    """
    measured = machine.rates()
    rated = [step for step in steps if step.is_rated]
    operations = max([step.flops_rate for step in rated], default=0.0)
    far = [step.bytes_rate for step in rated if step.work.traffic >= _LEAST_MEMORY]
    return measured.raised(operations, max(far, default=0.0))


def timed(program: Program, clocked: Clocked, taken: Sequence[tuple[float, int]]) -> list[Timed]:
    """Returns the times of the steps of a function that ran.

    Args:
      program: the facts of its plan without clocks.
      taken: (seconds, times) of each step that has a clock.
    """
    indices = {id(step): i for i, step in enumerate(clocked.steps)}
    timings: list[Timed] = []
    for work in program.everything():
        counts = [taken[indices[id(step)]] for step in work.steps if id(step) in indices]
        if any([times for _, times in counts]):
            seconds, times = zip(*counts, strict=True)
            timings.append(Timed(program, work, sum(seconds), max(times)))
    return timings


# --- ticks ------------------------------------------------------------------------------------------


@cache
def _clock() -> tuple[Executable, np.ndarray]:
    """Returns a program that reads the processor's clock, and the array for its readings."""
    counters = np.zeros(3, np.int64)
    plan = plans.Plan("clock", [plans.Clock(counters, -1)], (), (), keep_alive=[counters])
    return executable(machine_code(plan)), counters


def look() -> tuple[int, float]:
    """Reads both clocks: ticks of the processor's, seconds of Python's."""
    program, counters = _clock()
    start = time.perf_counter()
    program.run([])
    return int(counters[0]), (start + time.perf_counter()) / 2


def ticks_per_second(begin: tuple[int, float]) -> float:
    """Returns the rate of the processor's clock between an earlier `look` and now."""
    time.sleep(max(_LEAST_SPAN - (time.perf_counter() - begin[1]), 0.0))
    end = look()
    return (end[0] - begin[0]) / (end[1] - begin[1])


# --- calls ------------------------------------------------------------------------------------------


def executable(program: CompiledProgram) -> Executable:
    """Makes an executable for the default device, without donation."""
    from jitney.runtime.assignment import assign
    from jitney.runtime.executable import Executable

    inputs, outputs = [
        [ShapedArray(t.shape, t.dtype) for t in types]
        for types in (program.inputs, program.outputs)
    ]
    return Executable("measured", program, inputs, outputs, assign(()))


def can_run_again(plan: plans.Plan) -> bool:
    """Returns whether running a program only computes, in this thread."""
    effects = (plans.HostCall, plans.Wait, plans.Collective)
    return not any(isinstance(step, effects) for step in plans.all_steps(plan.steps))


def of_calls(clocked: Clocked, arguments: Sequence[Value]) -> tuple[list[tuple[float, int]], int]:
    """Runs a program a few times; returns (seconds, times) of each step per call, and the calls.

    Seconds are medians, without the first call, which finds neither code nor memory in caches.

    Args:
      clocked: the program; see `can_run_again`.
      arguments: of each call. They are not donated.
    """
    program = executable(machine_code(clocked.plan))
    begin = look()
    counts: list[np.ndarray] = []
    while len(counts) <= _MOST_CALLS:
        before = clocked.counters.copy()
        program.run(arguments)
        counts.append(clocked.counters - before)
        if time.perf_counter() - begin[1] > _BUDGET:
            break
    rate = ticks_per_second(begin)
    calls = counts[1:] or counts
    medians: list[tuple[float, int]] = []
    for i in range(len(clocked.steps)):
        ticks = statistics.median([int(count[1 + 2 * i]) for count in calls])
        medians.append((ticks / rate, int(calls[0][2 + 2 * i])))
    return medians, len(calls)


def of_own_calls(clocked: Clocked) -> list[tuple[float, int]]:
    """Returns the mean (seconds, times) of each step per call, over a program's past calls."""
    rate = ticks_per_second(look())
    means: list[tuple[float, int]] = []
    for i in range(len(clocked.steps)):
        ticks, times = clocked.taken(i)
        means.append((ticks / rate / clocked.calls, -(-times // clocked.calls)))
    return means
