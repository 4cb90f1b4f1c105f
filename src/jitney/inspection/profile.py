"""`jitney.profile`: where the time of a program goes, by step and by line of its source.

While a profile is taken, programs are compiled with clocks between their steps (`plan/clocks.py`), and
neither read from disk nor kept there. Programs without a profile have no clocks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jitney.compiler import pipeline
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.plan.clocks import Clocked, with_clocks
from jitney.core import caches
from jitney.core.record import field, record
from jitney.inspection import collect, facts
from jitney.inspection.explain import places_text
from jitney.inspection.facts import Program, Source, Work

if TYPE_CHECKING:
    from jitney.compiler.codegen.linking import CompiledProgram
    from jitney.runtime.client import Client

_SHOWN_STEPS = 20
_SHOWN_LINES = 20
_LEAST_RATED = 2e-6  # seconds that a step takes for its rates to be shown
_LEAST_SPAN = 0.02  # seconds between the two looks at both clocks


@record
class Timed:
    """What a step took.

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
        """Operations a second."""
        return self.work.flops * self.times / self.seconds if self.seconds else 0.0

    @property
    def bytes_rate(self) -> float:
        """Bytes a second that were read and written."""
        return self.work.traffic * self.times / self.seconds if self.seconds else 0.0


@record
class _Compiled:
    """A function that was compiled with clocks."""

    module: hlo.Module
    clocked: Clocked


@record
class Profile:
    """Where the time went; prints as tables.

    Attributes:
      seconds: of the whole context.
      tracing, lowering, compiling: of them, before compiled functions ran.
      steps: of compiled functions, the longest first.
    """

    seconds: float = 0.0
    tracing: float = 0.0
    lowering: float = 0.0
    compiling: float = 0.0
    steps: list[Timed] = field(default_factory=list)

    @property
    def running(self) -> float:
        """Seconds in compiled functions."""
        return sum([step.seconds for step in self.steps])

    @property
    def python(self) -> float:
        """Seconds in everything else: Python, operations outside of compiled functions, waiting."""
        rest = self.seconds - self.tracing - self.lowering - self.compiling - self.running
        return max(rest, 0.0)

    def by_line(self) -> dict[tuple[str, int], float]:
        """Seconds of compiled functions by (file, line) of the source, the longest first.

        The time of a step that computes several expressions is shared among their lines evenly.
        """
        found: dict[tuple[str, int], float] = {}
        for step in self.steps:
            places = dict.fromkeys([(s.file, s.line) for s in step.work.sources])
            for place in places:
                found[place] = found.get(place, 0.0) + step.seconds / len(places)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def __str__(self) -> str:
        return "\n".join([*_summary(self), *_step_table(self), *_line_table(self)])

    __repr__ = __str__


@contextmanager
def profile() -> Iterator[Profile]:
    """A context whose compiled functions are timed, step by step.

    Functions are compiled anew within it, with clocks: all that was compiled before is forgotten, and
    so is what is compiled here when it ends. The clocks cost some nanoseconds a step.

    Returns: a context with a `Profile`, which is complete when the context has ended. It prints as
    tables of time by step, with operations and bytes a second, and by line of the source.

    Raises:
      RuntimeError: within another one.

    Example:
      >>> with jax.profile() as p:
      ...     y = jax.jit(lambda x: jnp.tanh(x).sum())(jnp.ones(100_000))
      >>> p.steps[0].work.kind, p.steps[0].times
      ('kernel', 1)
    """
    from jitney.runtime import compiling

    if isinstance(compiling.backend_compile_and_load, _Recorder):
        raise RuntimeError(
            "jitney.profile: a profile is being taken already, and there is one at a time"
        )
    recorder, load = _Recorder(), compiling.backend_compile_and_load
    result = Profile()
    caches.clear_all()
    compiling.backend_compile_and_load = recorder
    begin = recorder.look()
    with collect.durations() as durations:
        try:
            yield result
        finally:
            seconds = dict(durations.seconds)
            time.sleep(max(_LEAST_SPAN - (time.perf_counter() - begin[1]), 0.0))
            end = recorder.look()
            compiling.backend_compile_and_load = load
            caches.clear_all()
            recorder.fill(result, begin, end)
            result.tracing, result.lowering = seconds["tracing"], seconds["lowering"]
            result.compiling = seconds["compilation"]


class _Recorder:
    """Compiles with clocks in place of `backend_compile_and_load`, and notes what it compiled.

    Attributes:
      compiled: the functions, in order.
    """

    def __init__(self) -> None:
        self.compiled: list[_Compiled] = []

    def __call__(self, backend: Client, module: hlo.Module) -> CompiledProgram:
        clocked = with_clocks(pipeline.plan(pipeline.optimize(module)))
        self.compiled.append(_Compiled(module, clocked))
        return pipeline.run(clocked.plan, first="codegen", last="codegen")

    def look(self) -> tuple[int, float]:
        """(ticks of the processor's clock, seconds of Python's) at one time."""
        from jitney.api.jit import jit

        @jit
        def look_at_the_clock(x: float) -> object:
            return -x

        count = len(self.compiled)
        look_at_the_clock(0.0)
        start = time.perf_counter()
        look_at_the_clock(1.0)
        seconds = (start + time.perf_counter()) / 2
        own = self.compiled.pop(count)
        return int(own.clocked.counters[0]), seconds

    def fill(self, result: Profile, begin: tuple[int, float], end: tuple[int, float]) -> None:
        """Writes what was noted into a profile."""
        result.seconds = end[1] - begin[1]
        rate = (end[0] - begin[0]) / result.seconds
        for each in self.compiled:
            result.steps += _timed(each, rate)
        result.steps.sort(key=lambda step: -step.seconds)


def _timed(compiled: _Compiled, rate: float) -> list[Timed]:
    """The steps of one function that ran.

    Args:
      compiled: the function.
      rate: ticks a second.
    """
    clocked = compiled.clocked
    if not clocked.calls:
        return []

    program = facts.of_plan(compiled.module, clocked.original)
    indices = {id(step): i for i, step in enumerate(clocked.steps)}
    found: list[Timed] = []
    for work in program.everything():
        known = [indices[id(step)] for step in work.steps if id(step) in indices]
        taken = [clocked.taken(i) for i in known]
        if taken and any([times for _, times in taken]):
            seconds = sum([ticks for ticks, _ in taken]) / rate
            found.append(Timed(program, work, seconds, max([times for _, times in taken])))
    return found


def _summary(profile: Profile) -> Iterator[str]:
    yield f"{profile.seconds:.3f} s in all:"
    for seconds, what in (
        (profile.tracing, "tracing"),
        (profile.lowering, "lowering"),
        (profile.compiling, "compilation"),
        (profile.running, "compiled functions"),
        (profile.python, "Python, and operations outside of compiled functions"),
    ):
        yield f"  {seconds:9.3f} s {_share(seconds, profile.seconds)}  {what}"


def _step_table(profile: Profile) -> Iterator[str]:
    if not profile.steps:
        return
    yield ""
    yield "  seconds  share     times  compiled functions, step by step"
    for step in profile.steps[:_SHOWN_STEPS]:
        where = f"{step.program.name}, {places_text(step.work.sources)}: {step.work.what}"
        yield (
            f"{step.seconds:9.3f} {_share(step.seconds, profile.seconds)} {step.times:9}  {where}"
            f"{_rates(step)}"
        )
    rest = profile.steps[_SHOWN_STEPS:]
    if rest:
        seconds = sum([step.seconds for step in rest])
        yield f"{seconds:9.3f} {_share(seconds, profile.seconds)}            {len(rest)} other steps"


def _line_table(profile: Profile) -> Iterator[str]:
    lines = list(profile.by_line().items())[:_SHOWN_LINES]
    if not lines:
        return
    yield ""
    yield "  seconds  share  line"
    for (file, line), seconds in lines:
        text = Source(file, "", line, 0, line, 1 << 20).text
        place = f"{os.path.basename(file)}:{line}"
        yield f"{seconds:9.3f} {_share(seconds, profile.seconds)}  {place:24} {text}".rstrip()


def _share(seconds: float, whole: float) -> str:
    return f"{100 * seconds / whole:4.0f} %" if whole else "     "


def _rates(step: Timed) -> str:
    """Operations and bytes a second, of steps that are long enough for them to mean something."""
    if step.work.kind in ("loop", "branch") or step.seconds < _LEAST_RATED * step.times:
        return ""
    rates: list[str] = []
    if step.work.flops:
        rates.append(f"{step.flops_rate / 1e9:.3g} Gflop/s")
    if step.work.traffic:
        rates.append(f"{step.bytes_rate / 1e9:.3g} GB/s")
    return f"  ({', '.join(rates)})" if rates else ""
