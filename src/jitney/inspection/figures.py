"""The numbers of a profile: the time and the memory of functions, steps and lines."""

from __future__ import annotations

from jitney.core.util.record import field, record
from jitney.inspection.facts import Program, with_inner
from jitney.inspection.memory import Memory
from jitney.inspection.timing import Timed


@record
class Function:
    """A compiled function that ran.

    Attributes:
      program: the facts of its program.
      calls: the number of its calls.
      memory: the memory that it uses in each step.
    """

    program: Program
    calls: int
    memory: Memory


@record
class Figures:
    """The time and memory of a program.

    Attributes:
      seconds: the duration of the context.
      tracing, lowering, compiling: the parts of it before compiled functions ran.
      steps: the steps of compiled functions, the longest first.
      functions: the compiled functions that ran, in the order of their compilation.
      peak_bytes: peak memory of the process from its start to the end of the context; 0 if the
        system does not report it.
    """

    seconds: float = 0.0
    tracing: float = 0.0
    lowering: float = 0.0
    compiling: float = 0.0
    steps: list[Timed] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    peak_bytes: int = 0

    @property
    def running(self) -> float:
        """Seconds in compiled functions."""
        return sum([step.seconds for step in self.steps])

    @property
    def python(self) -> float:
        """Seconds outside of compiled functions: Python, eager operations, and waiting."""
        other = self.seconds - self.tracing - self.lowering - self.compiling - self.running
        return max(other, 0.0)

    def parts(self) -> list[tuple[float, str]]:
        """Returns (seconds, activity) pairs that add up to the total."""
        return [
            (self.tracing, "tracing"),
            (self.lowering, "lowering"),
            (self.compiling, "compilation"),
            (self.running, "compiled functions"),
            (self.python, "Python, and operations outside of compiled functions"),
        ]

    def by_line(self) -> dict[tuple[str, int], float]:
        """Returns seconds of compiled functions by (file, line) of the source, in descending order.

        The time of a step that computes several expressions is divided evenly among their lines.
        So is the time of a loop whose steps have no clocks of their own.
        """
        totals: dict[tuple[str, int], float] = {}
        clocked = {id(step.work) for step in self.steps}
        for step in self.steps:
            works = [step.work]
            inner = list(with_inner(step.work.within))
            if not any(id(work) in clocked for work in inner):
                works += inner
            places = dict.fromkeys([(s.file, s.line) for work in works for s in work.sources])
            for place in places:
                totals[place] = totals.get(place, 0.0) + step.seconds / len(places)
        return dict(sorted(totals.items(), key=lambda item: -item[1]))

    def peak_by_line(self) -> dict[tuple[str, int], int]:
        """Returns bytes of temporary values by (file, line) of the source, in descending order.

        These values are live when the memory use of a function is at its peak. If several functions
        have values on a line, the largest number of bytes counts.
        """
        peaks: dict[tuple[str, int], int] = {}
        for function in self.functions:
            for place, nbytes in function.memory.lines().items():
                peaks[place] = max(peaks.get(place, 0), nbytes)
        return dict(sorted(peaks.items(), key=lambda item: -item[1]))
