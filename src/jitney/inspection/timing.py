"""Times of the steps of compiled programs that contain clocks.

The programs of `plan/clocks.py` count ticks of the processor's clock, whose rate is measured with
Python's clock.
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
from jitney.core.types.avals import ShapedArray
from jitney.core.util.record import record
from jitney.inspection import machine, quantities
from jitney.inspection.collect import machine_code
from jitney.inspection.facts import Program, Work
from jitney.inspection.machine import Rates

if TYPE_CHECKING:
    from jitney.compiler.codegen.linking import CompiledProgram
    from jitney.core.typing import Value
    from jitney.runtime.execution.executable import Executable

_LEAST_RATED = 2e-6  # seconds that a step must take for its rates to be shown
_LEAST_SPAN = 0.02  # seconds between two readings of both clocks
_BUDGET = 0.3  # total seconds of the measured calls
_MOST_CALLS = 50
_MOST_SHARE = 1.005  # fraction of the roof that is still rounded to 100 %
_LEAST_MEMORY = 1 << 26  # bytes that a step must move to be limited by memory


@record
class Timed:
    """The time of a step.

    Attributes:
      program: the program that it belongs to.
      work: the facts of the step; for a loop or branch, without the steps within it.
      seconds: total over all runs.
      times: the number of runs.
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
        """Whether its work is known and it takes long enough for its rates to be meaningful."""
        return (
            self.work.kind not in ("loop", "branch")
            and not self.work.is_of_unknown_length
            and self.seconds >= _LEAST_RATED * self.times
        )

    def roof_text(self, machine: Rates) -> str:
        """Formats the fraction of the roof that the step reached.

        Returns "in caches" if the step exceeds the memory bandwidth.
        """
        in_caches = self.is_in_caches(machine)
        return "in caches" if in_caches else quantities.share(self.share_of_roof(machine))

    def is_in_caches(self, machine: Rates) -> bool:
        """Returns whether the step moves more bytes per second than the memory can."""
        return self.share_of_roof(machine) >= _MOST_SHARE

    def share_of_roof(self, machine: Rates) -> float:
        """Returns the ratio of the minimum time, at the peak rates, to the measured time."""
        least = self.times * machine.least_seconds(self.work.traffic, self.work.flops)
        return least / self.seconds if self.seconds else 0.0


def roof(steps: Iterable[Timed]) -> Rates:
    """Returns the machine's peak rates, raised to the rates that steps of a program reached.

    The peak rates are measured within a second, during which other processes can slow the machine
    down. Steps that move less data than the caches hold do not raise the memory bandwidth.
    """
    measured = machine.rates()
    rated = [step for step in steps if step.is_rated]
    operations = max([step.flops_rate for step in rated], default=0.0)
    far = [step.bytes_rate for step in rated if step.work.traffic >= _LEAST_MEMORY]
    return measured.raised(operations, max(far, default=0.0))


def timed(program: Program, clocked: Clocked, taken: Sequence[tuple[float, int]]) -> list[Timed]:
    """Returns the times of the steps of a function that ran.

    Args:
      program: the facts of the plan without clocks.
      clocked: the program with clocks.
      taken: the (seconds, number of runs) of each step that has a clock.
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
    """Returns a program that reads the processor's clock, and the array for its reading."""
    counters = np.zeros(3, np.int64)
    plan = plans.Plan("clock", [plans.Clock(counters, -1)], (), (), keep_alive=[counters])
    return executable(machine_code(plan)), counters


def look() -> tuple[int, float]:
    """Returns the readings of both clocks: the processor's in ticks, and Python's in seconds."""
    program, counters = _clock()
    start = time.perf_counter()
    program.run([])
    return int(counters[0]), (start + time.perf_counter()) / 2


def ticks_per_second(begin: tuple[int, float]) -> float:
    """Returns the rate of the processor's clock since an earlier `look`."""
    time.sleep(max(_LEAST_SPAN - (time.perf_counter() - begin[1]), 0.0))
    end = look()
    return (end[0] - begin[0]) / (end[1] - begin[1])


# --- calls ------------------------------------------------------------------------------------------


def executable(program: CompiledProgram) -> Executable:
    """Returns an executable of a program for the default device, without donation."""
    from jitney.runtime.execution.assignment import assign
    from jitney.runtime.execution.executable import Executable

    inputs, outputs = [
        [ShapedArray(t.shape, t.dtype) for t in types]
        for types in (program.inputs, program.outputs)
    ]
    return Executable("measured", program, inputs, outputs, assign(()))


def can_run_again(plan: plans.Plan) -> bool:
    """Returns whether a program has no side effects and can be run by this thread alone."""
    effects = (plans.HostCall, plans.Wait, plans.Collective)
    return not any(isinstance(step, effects) for step in plans.all_steps(plan.steps))


def of_calls(clocked: Clocked, arguments: Sequence[Value]) -> tuple[list[tuple[float, int]], int]:
    """Runs a program a few times.

    Args:
      clocked: a program for which `can_run_again` is true.
      arguments: the arguments of each call; they are not donated.

    Returns:
      A list with the (seconds, number of runs) of each step in a call, and the number of calls. The
      seconds are medians over all calls except the first one, which runs with cold caches.
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
    """Returns the mean (seconds, number of runs) of each step per call, over past calls."""
    rate = ticks_per_second(look())
    means: list[tuple[float, int]] = []
    for i in range(len(clocked.steps)):
        ticks, times = clocked.taken(i)
        means.append((ticks / rate / clocked.calls, -(-times // clocked.calls)))
    return means
