"""The memory of a program: which temporary values are live at each step, and where they come from.

Values share memory if their lifetimes do not overlap, or if one is computed in the memory of
another. So the bytes in use are the bytes of the arena that at least one live value occupies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jitney.compiler.hlo import ir as hlo
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.accesses import reads_and_writes
from jitney.core.util.record import record
from jitney.inspection.facts import Program, Source, source_of
from jitney.inspection.values import Values


@record
class Held:
    """A value that is live.

    Attributes:
      what: the expression whose value it is, or the operation if that is unknown.
      source: the location of the expression.
      nbytes: its size.
    """

    what: str
    source: Source | None
    nbytes: int


@record
class Memory:
    """The memory of a program.

    Attributes:
      arguments, results: total bytes; a result that aliases a donated argument is counted in both.
      live: bytes of temporary values in use during each of the outermost steps.
      peak: the index of the first step at which `live` is largest; -1 if nothing is stored.
      held: the values that are live at the peak, the largest first.
    """

    arguments: int
    results: int
    live: list[int]
    peak: int
    held: list[Held]

    @property
    def temporary(self) -> int:
        """Bytes of temporary values at the peak."""
        return max(self.live, default=0)

    @property
    def total(self) -> int:
        """Bytes of arguments, results, and temporary values at the peak."""
        return self.arguments + self.results + self.temporary

    def lines(self) -> dict[tuple[str, int], int]:
        """Returns the bytes of values at the peak by (file, line), in descending order.

        Values without a known line are omitted.
        """
        totals: dict[tuple[str, int], int] = {}
        for value in self.held:
            if value.source is not None:
                place = value.source.file, value.source.line
                totals[place] = totals.get(place, 0) + value.nbytes
        return dict(sorted(totals.items(), key=lambda item: -item[1]))


def of_program(program: Program) -> Memory:
    """Computes the memory of a program over its outermost steps."""
    arguments = sum([each.nbytes for each in program.plan.inputs])
    results = sum([each.nbytes for each in program.plan.outputs])
    first: dict[plans.Buffer, int] = {}
    last: dict[plans.Buffer, int] = {}
    for at, work in enumerate(program.work):
        for step in work.steps:
            for buffer in plans.all_touched(step):
                if buffer.place == "arena":
                    first.setdefault(buffer, at)
                    last[buffer] = at
    alive: list[list[plans.Buffer]] = [[] for _ in program.work]
    for buffer, start in first.items():
        for at in range(start, last[buffer] + 1):
            alive[at].append(buffer)
    live = [_covered(buffers) for buffers in alive]
    if not any(live):
        return Memory(arguments, results, live, -1, [])
    peak = live.index(max(live))
    writers = _writers(program.plan.steps)
    held: list[Held] = []
    seen: list[tuple[int, int]] = []
    for buffer in sorted(alive[peak], key=lambda b: -b.nbytes):
        start, end = buffer.index, buffer.index + buffer.nbytes
        if any(low <= start and end <= high for low, high in seen):
            continue  # within the bytes of a larger one
        seen.append((start, end))
        held.append(_held(writers.get(buffer), buffer.nbytes, program.values))
    return Memory(arguments, results, live, peak, held)


def _covered(buffers: Iterable[plans.Buffer]) -> int:
    """Returns the number of bytes of the arena that `buffers` cover."""
    total = reached = 0
    for start, end in sorted((b.index, b.index + b.nbytes) for b in buffers):
        total += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return total


def _writers(steps: Sequence[plans.Step]) -> dict[plans.Buffer, hlo.Node]:
    """Returns the first node whose value each buffer holds."""
    writers: dict[plans.Buffer, hlo.Node] = {}
    for step in plans.all_steps(steps):
        for each in step.launches if isinstance(step, plans.RowStrips) else (step,):
            if not isinstance(each, plans.ComputingStep) or not each.nodes:
                continue
            _, written = reads_and_writes(each)
            nodes = each.nodes if len(each.nodes) == len(written) else each.nodes[:1] * len(written)
            for buffer, node in zip(written, nodes, strict=True):
                writers.setdefault(buffer, node)
    return writers


def _held(node: hlo.Node | None, nbytes: int, values: Values) -> Held:
    if node is None:
        return Held("an intermediate value", None, nbytes)
    named = values.named(node)
    what = hlo.word(node) if named is None else named.text
    return Held(what, source_of(node), nbytes)
