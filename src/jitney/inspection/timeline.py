"""Time spans of the steps of compiled programs, from clock readings, for trace viewers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jitney.compiler.hlo.partition.text import bytes_text
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.clocks import Clocked
from jitney.inspection import quantities
from jitney.inspection.explain import places_text
from jitney.inspection.facts import Program, Work

Span = tuple[str, float, float, dict[str, str]]

MOST_EVENTS = 1 << 18  # clock readings kept per program


def spans(program: Program, clocked: Clocked, seconds_of: Callable[[int], float]) -> Iterator[Span]:
    """Yields (name, begin, end, details) of each call and of each step within it, in seconds.

    If several threads call the program at the same time, their steps are mixed.

    Args:
      program: the facts of the plan without clocks.
      clocked: the program with clocks, and the events that it recorded.
      seconds_of: a function that converts ticks of the processor's clock to seconds.
    """
    events = clocked.events
    assert events is not None, "a program that notes its events"
    count = min(int(events[0]), events.size // 2)
    looks = events[1 : 1 + 2 * count].reshape(count, 2).tolist()
    named = _named(program, clocked)
    within = _within(clocked)
    call: list[tuple[int, int, int]] = []  # (step, begin, end) of the call so far
    begin = last = -1
    for index, ticks in looks:
        if index < 0:
            yield from _of_call(program.title, begin, call, named, seconds_of)
            call, begin = [], ticks
        else:
            start = last
            for step, earlier, _ in reversed(call):
                if step not in within[index]:
                    break
                start = earlier
            call.append((index, start, ticks))
        last = ticks
    yield from _of_call(program.title, begin, call, named, seconds_of)


def _of_call(
    name: str,
    begin: int,
    call: list[tuple[int, int, int]],
    named: dict[int, tuple[str, dict[str, str]]],
    seconds_of: Callable[[int], float],
) -> Iterator[Span]:
    if not call:
        return
    yield name, seconds_of(begin), seconds_of(call[-1][2]), {}
    for step, start, end in sorted(call, key=lambda span: (span[1], -span[2])):
        if step in named:
            what, details = named[step]
            yield what, seconds_of(start), seconds_of(end), details


def _named(program: Program, clocked: Clocked) -> dict[int, tuple[str, dict[str, str]]]:
    """Returns the names and details of the steps that have clocks, by index."""
    indices = {id(step): i for i, step in enumerate(clocked.steps)}
    labels: dict[int, tuple[str, dict[str, str]]] = {}
    for work in program.everything():
        for step in work.steps:
            if id(step) in indices:
                labels[indices[id(step)]] = work.what, _details(work)
    return labels


def _details(work: Work) -> dict[str, str]:
    details = {"lines": places_text(work.sources), "kind": work.kind}
    if work.traffic:
        details["moved"] = bytes_text(work.traffic)
    if work.flops:
        details["operations"] = quantities.flops(work.flops)
    return details


def _within(clocked: Clocked) -> list[set[int]]:
    """Returns, for each step with a clock, the steps with clocks that are nested in it."""
    indices = {id(step): i for i, step in enumerate(clocked.steps)}
    return [
        {
            indices[id(inner)]
            for block in plans.inner(step)
            for inner in plans.all_steps(block)
            if id(inner) in indices
        }
        for step in clocked.steps
    ]
