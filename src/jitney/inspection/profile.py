"""`jitney.profile`: the time of a program by step and by source line.

While a profile is recorded, programs are compiled so that they read a clock between their steps
(`plan/clocks.py`), and bypass the persistent cache. Programs compiled outside of a profile do not
read clocks.
"""

from __future__ import annotations

import html
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jitney import profiler
from jitney.compiler import pipeline
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.partition.text import bytes_text
from jitney.compiler.plan.clocks import Clocked, with_clocks
from jitney.core.settings import caches, monitoring
from jitney.core.util.record import record
from jitney.inspection import (
    collect,
    facts,
    machine,
    memory,
    profile_page,
    quantities,
    timeline,
    timing,
)
from jitney.inspection.documents import Document
from jitney.inspection.explain import places_text
from jitney.inspection.facts import Program
from jitney.inspection.figures import Figures, Function
from jitney.inspection.timing import Timed

if TYPE_CHECKING:
    from jitney.compiler.codegen.linking import CompiledProgram
    from jitney.runtime.devices.client import Client

_SHOWN_STEPS = 20
_SHOWN_LINES = 20
_SHOWN_FUNCTIONS = 10  # number of functions listed with their peak memory


@record
class Profile(Figures, Document):
    """The profile of a program, which prints as tables."""

    usual_file = "profile.html"

    _recording: profiler.Recording | None = None

    def html(self) -> str:
        """Returns a self-contained page with tables, a roofline plot, and the source with times."""
        return profile_page.page(self)

    def save_timeline(self, path: str | os.PathLike[str]) -> Path:
        """Writes the time spans of tracing, compilation and steps to a file, and returns its path.

        The file can be opened in Perfetto.

        Raises:
          ValueError: if the profile was recorded without a timeline.
        """
        if self._recording is None:
            raise ValueError(
                "Profile.save_timeline: this profile was recorded without a timeline and contains "
                "only totals; use jitney.profile(timeline=True)"
            )
        file = Path(path)
        file.write_text(self._recording.text(), encoding="utf-8")
        return file

    def __str__(self) -> str:
        lines = [*_summary(self), *_step_table(self), *_line_table(self), *_memory_table(self)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Returns the page in a frame, for notebooks."""
        shown = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{shown}" style="width:100%;height:640px;border:0"></iframe>'


@contextmanager
def profile(*, timeline: bool = False) -> Iterator[Profile]:
    """Returns a context manager that measures the time of each step of compiled functions.

    The caches of compiled programs are cleared when the context begins and when it ends, so that
    within it functions are compiled again, with clocks. The clocks cost several nanoseconds per
    step. Calls return only when their results have been computed, so the times of Python and of
    compiled functions add up to the total. If `jax.profiler` is recording a trace, the steps appear
    in it as spans.

    Args:
      timeline: whether to record when each step ran, for `save_timeline`.

    Returns:
      A context manager, whose value is a `Profile`. When the context has ended, the profile is
      complete and prints as three tables: the time by step, with operations and bytes per second;
      the time by source line; and the peak memory. `.save(path)` writes them as an HTML page.

    Raises:
      RuntimeError: if another profile is being recorded.

    Example:
      >>> with jax.profile() as p:
      ...     y = jax.jit(lambda x: jnp.tanh(x).sum())(jnp.ones(100_000))
      >>> p.steps[0].work.kind, p.steps[0].times
      ('kernel', 1)
    """
    from jitney.runtime.compilation import compiling
    from jitney.runtime.execution import async_dispatch

    if isinstance(compiling.backend_compile_and_load, _Recorder):
        raise RuntimeError(
            "jitney.profile: a profile is being recorded already, and there can only be one at a "
            "time"
        )
    result = Profile()
    recording = profiler.Recording() if timeline else None
    begun = profiler.going_on()
    recorder, load = _Recorder(bool(recording or begun)), compiling.backend_compile_and_load
    caches.clear_all()
    compiling.backend_compile_and_load = recorder
    if recording is not None:
        monitoring.register_event_duration_secs_listener(recording.add_duration)
    async_dispatch.disable()
    begin = timing.look()
    with collect.durations() as durations:
        try:
            yield result
        finally:
            async_dispatch.enable()
            seconds = dict(durations.seconds)
            ended = time.perf_counter()
            compiling.backend_compile_and_load = load
            caches.clear_all()
            result.seconds = ended - begin[1]
            result.peak_bytes = _peak_bytes()
            rate = timing.ticks_per_second(begin)
            recorder.fill(result, rate)
            result.tracing, result.lowering = seconds["tracing"], seconds["lowering"]
            result.compiling = seconds["compilation"]
            if recording is not None:
                with suppress(AssertionError):  # another caller may have cleared all listeners
                    monitoring.unregister_event_duration_listener(recording.add_duration)
                result._recording = recording
            for each in [recording, begun if begun is profiler.going_on() else None]:
                if each is not None:
                    recorder.draw(each, lambda ticks: begin[1] + (ticks - begin[0]) / rate)


@record
class _Compiled:
    """A function that was compiled with clocks."""

    module: hlo.Module
    clocked: Clocked
    _facts: Program | None = None

    @property
    def program(self) -> Program:
        """The facts of the program."""
        if self._facts is None:
            self._facts = facts.of_plan(self.module, self.clocked.original)
        return self._facts


class _Recorder:
    """A replacement for `backend_compile_and_load` that adds clocks and records the programs."""

    def __init__(self, has_timeline: bool) -> None:
        self._most_events = timeline.MOST_EVENTS if has_timeline else 0
        self._compiled: list[_Compiled] = []

    def __call__(self, backend: Client, module: hlo.Module) -> CompiledProgram:
        plan = pipeline.plan(pipeline.optimize(module))
        clocked = with_clocks(plan, self._most_events)
        self._compiled.append(_Compiled(module, clocked))
        return collect.machine_code(clocked.plan)

    def fill(self, result: Profile, rate: float) -> None:
        """Writes the records into a profile; `rate` is the clock rate in ticks per second."""
        for each in self._ran():
            clocked, program = each.clocked, each.program
            taken = [clocked.taken(i) for i in range(len(clocked.steps))]
            seconds = [(ticks / rate, times) for ticks, times in taken]
            result.steps += timing.timed(program, clocked, seconds)
            function = Function(program, clocked.calls, memory.of_program(program))
            result.functions.append(function)
        result.steps.sort(key=lambda step: -step.seconds)

    def draw(self, recording: profiler.Recording, seconds_of: Callable[[int], float]) -> None:
        """Adds the time spans of steps to a recording, with one track for each function."""
        for each in self._ran():
            spans = timeline.spans(each.program, each.clocked, seconds_of)
            recording.add_track(f"compiled {each.program.title}", spans)

    def _ran(self) -> list[_Compiled]:
        return [each for each in self._compiled if each.clocked.calls]


def _peak_bytes() -> int:
    """Returns the peak memory of the process in bytes; 0 if unknown."""
    try:
        import resource  # not available on Windows
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


# --- as text --------------------------------------------------------------------------------------


def _summary(profile: Profile) -> Iterator[str]:
    yield f"{quantities.seconds(profile.seconds)} in all:"
    for seconds, what in profile.parts():
        yield f"  {_time(seconds)} {_share(seconds, profile.seconds)}  {what}"
    if not profile.functions:
        yield ""
        yield (
            "  No compiled function ran: all operations ran in eager mode. jax.jit compiles a "
            "function that is called\n  often; `python -m cProfile` shows which lines of Python "
            "take the time."
        )


def _step_table(profile: Profile) -> Iterator[str]:
    if not profile.steps:
        return
    rates = timing.roof(profile.steps)
    yield ""
    yield "     time  share     times  compiled functions, step by step (share of the machine's roof)"
    for step in profile.steps[:_SHOWN_STEPS]:
        where = f"{step.program.title}, {places_text(step.work.sources)}: {step.work.what}"
        yield (
            f"{_time(step.seconds)} {_share(step.seconds, profile.seconds)} {step.times:9}  {where}"
            f"{_rates(step, rates)}"
        )
    others = profile.steps[_SHOWN_STEPS:]
    if others:
        seconds = sum([step.seconds for step in others])
        share = _share(seconds, profile.seconds)
        yield f"{_time(seconds)} {share}            {len(others)} other steps"
    yield ""
    yield f"  This machine: {rates}."
    if any(step.is_rated and step.is_in_caches(rates) for step in profile.steps[:_SHOWN_STEPS]):
        yield '  Steps "in caches" move their bytes faster than memory allows.'


def _line_table(profile: Profile) -> Iterator[str]:
    lines = list(profile.by_line().items())[:_SHOWN_LINES]
    if not lines:
        return
    yield ""
    yield "     time  share  line"
    for place, seconds in lines:
        yield f"{_time(seconds)} {_share(seconds, profile.seconds)}  {_line(place)}"


def _memory_table(profile: Profile) -> Iterator[str]:
    functions = sorted(profile.functions, key=lambda function: -function.memory.total)
    if functions:
        yield ""
        yield (
            "     peak  memory of compiled functions (donated buffers count in addition to "
            "results); temporary values by line"
        )
    titles = [function.program.title for function in functions]
    for function in functions[:_SHOWN_FUNCTIONS]:
        memory, lines = function.memory, function.memory.lines()
        title = function.program.title
        if titles.count(title) > 1:
            title += f"({', '.join([kind for _, kind in function.program.arguments])})"
        parts = [
            f"{bytes_text(nbytes)} of {what}"
            for what, nbytes in (
                ("arguments", memory.arguments),
                ("results", memory.results),
                ("temporary values", memory.temporary),
            )
        ]
        yield f"  {title}: {bytes_text(memory.total)} at most: {', '.join(parts)}"
        for place, nbytes in list(lines.items())[:_SHOWN_LINES]:
            yield f"{bytes_text(nbytes):>9}  {_line(place)}"
        other = memory.temporary - sum(list(lines.values())[:_SHOWN_LINES])
        if other > 0:
            yield f"{bytes_text(other):>9}  other values"
    if len(functions) > _SHOWN_FUNCTIONS:
        yield f"  and {len(functions) - _SHOWN_FUNCTIONS} functions with less"
    if profile.peak_bytes:
        yield ""
        yield f"  The process used {bytes_text(profile.peak_bytes)} of memory at its peak."


def _line(place: tuple[str, int]) -> str:
    file, line = place
    short = f"{os.path.basename(file)}:{line}"
    return f"{short:24} {facts.line_text(file, line)}".rstrip()


def _time(seconds: float) -> str:
    return f"{quantities.seconds(seconds):>9}"


def _share(seconds: float, total: float) -> str:
    return f"{100 * seconds / total:4.0f} %" if total else "     "


def _rates(step: Timed, rates: machine.Rates) -> str:
    """Formats operations and bytes per second, for steps that are long enough."""
    if not step.is_rated:
        return ""
    texts: list[str] = []
    if step.work.flops:
        texts.append(quantities.flops_rate(step.flops_rate))
    if step.work.traffic:
        texts.append(quantities.bytes_rate(step.bytes_rate))
    if texts:
        texts.append(step.roof_text(rates))
    return f"  ({', '.join(texts)})" if texts else ""
