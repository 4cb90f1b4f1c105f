"""`jitney.explore`: a page that shows a function's source next to every stage of its compilation.

The page is a self-contained HTML file, which contains the texts and facts as JSON and a script that
draws them (`page.html`). This module generates the data, the diagrams of times, and the tables.
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.compiler import pipeline
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.partition.text import bytes_text
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.accesses import reads_and_writes
from jitney.compiler.plan.clocks import with_clocks
from jitney.core.messages.messages import counted
from jitney.core.util.record import record
from jitney.inspection import facts, machine, memory, quantities, roofline, tables, texts, timing
from jitney.inspection.collect import Run
from jitney.inspection.documents import Document, filled
from jitney.inspection.explain import Explanation, places_text
from jitney.inspection.facts import Program, Work
from jitney.inspection.timing import Timed

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

# Number of steps in the diagram of the fusion; the others are only described in words.
_DRAWN_STEPS = 200
_HELD = 12  # values listed at the peak of memory


@record
class _Explored:
    """A function on a page.

    Attributes:
      module: the program as lowered.
      program: its facts.
      steps: the steps with their times in one call; empty if these were not measured.
      how: how the times were measured, or why they were not.
    """

    module: hlo.Module
    program: Program
    steps: list[Timed]
    how: str


class Exploration(Document):
    """The compiled forms of functions, as a page.

    Attributes:
      programs: the facts about each function, one `facts.Program` per function.
    """

    usual_file = "explore.html"

    def __init__(self, runs: Sequence[Run]) -> None:
        """Measures the times of steps: functions that can be run again are run a few times."""
        self._explored = [_explored(run) for run in runs]
        self.programs = [each.program for each in self._explored]

    def html(self) -> str:
        """Returns the page, a self-contained HTML document."""
        steps = [step for each in self._explored for step in each.steps]
        rates = timing.roof(steps) if steps else None
        functions = [_function(each, rates) for each in self._explored]
        names = ", ".join([program.title for program in self.programs])
        # Only "</" could end the text of a script element early.
        data = json.dumps(functions, separators=(",", ":")).replace("<", "\\u003c")
        return filled("page.html", title=html.escape(names), data=data)

    def __repr__(self) -> str:
        names = ", ".join([program.title for program in self.programs])
        return f"<page of {names}: .save(path), .open()>"

    def _repr_html_(self) -> str:
        """Returns the page in a frame, for notebooks."""
        page = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'


def explore(fun: Callable[..., Any], *args: PyTree, **kwargs: PyTree) -> Exploration:
    """Returns a page with the source, jaxpr, tensor IR, kernels and assembly of `fun` side by side.

    Clicking a line highlights the corresponding lines in all columns. The page also contains a
    diagram of the fusion, with the bytes that pass between steps, a diagram of the memory in use at
    each step, and a roofline plot of the steps.

    Args:
      fun: a function that `jit` accepts, or a jitted function.
      args, kwargs: its arguments; `ShapeDtypeStruct`s can take the place of arrays. If all arrays
        are given, the compiled program is run repeatedly for a third of a second, and its steps are
        timed, unless it calls Python or needs several devices. No argument is donated.

    Returns:
      An `Exploration`. `.save(path)` writes it to a file, and `.open()` shows it in the browser.
      Notebooks display it.

    Raises:
      Any exception that tracing and lowering `fun` raises.

    Example:
      >>> page = jax.explore(lambda x: jnp.tanh(x).sum(), jnp.ones(1000))
      >>> page.html().count("<html")
      1
    """
    module = facts.lowered_module(fun, args, kwargs)
    return Exploration([Run(module, facts.operands_of(fun, args, kwargs))])


def _explored(run: Run) -> _Explored:
    """Compiles a function and measures the times of its steps, if that is possible."""
    clocked = run.clocked
    if clocked is None:
        clocked = with_clocks(pipeline.plan(pipeline.optimize(run.module)))
    program = facts.of_plan(run.module, clocked.original)
    if timing.can_run_again(clocked.original) and run.arguments is not None:
        taken, calls = timing.of_calls(clocked, run.arguments)
        how = f"Medians of {calls} calls with the arguments of the first call."
    elif clocked.calls:
        taken = timing.of_own_calls(clocked)
        how = f"Means of the {clocked.calls} calls that the program made itself."
    else:
        return _Explored(
            run.module,
            program,
            [],
            "Not measured: no call has finished, and there are no arguments to run the function with.",
        )
    return _Explored(run.module, program, timing.timed(program, clocked, taken), how)


def _function(explored: _Explored, rates: machine.Rates | None) -> dict[str, object]:
    """Returns the data of one function."""
    module, program = explored.module, explored.program
    places = texts.Places()
    jaxpr = [] if module.jaxpr is None else texts.of_jaxpr(module.jaxpr, places)
    tensor_ir = texts.of_tensor_ir(module, places)
    kernels = texts.of_kernels(program, places)
    steps = [_step(work, places) for work in program.work[:_DRAWN_STEPS]]
    llvm, assembly = texts.of_code(program, places)
    times = _times(explored, places, rates)
    held = _memory(program, places)
    columns = [
        ("source", texts.of_source(places)),
        ("jaxpr", [texts.Block("", jaxpr)]),
        ("tensor IR", [texts.Block("", tensor_ir)]),
        ("kernels", kernels),
        ("LLVM", llvm),
        ("assembly", assembly),
    ]
    return {
        "name": program.title,
        "explanation": str(Explanation(program)),
        "places": [f"{os.path.basename(file)}:{line}" for file, line in places.locations],
        "columns": [
            {"title": title, "blocks": [_block(block) for block in blocks]}
            for title, blocks in columns
        ],
        "steps": steps,
        "undrawn": max(len(program.work) - _DRAWN_STEPS, 0),
        "edges": edges(program.work[:_DRAWN_STEPS]),
        "memory": held,
        "times": times,
    }


def _block(block: texts.Block) -> dict[str, object]:
    return {
        "title": block.title,
        "lines": [[line.text, *line.places] for line in block.lines],
    }


def _step(work: Work, places: texts.Places) -> dict[str, object]:
    moved, flops = work.total()
    costs = [bytes_text(moved), *([quantities.flops(flops)] if flops else [])]
    return {
        "kind": work.kind,
        "what": work.what,
        "lines": places_text(work.sources),
        "operations": ", ".join(work.operations),
        "costs": ", ".join(costs),
        "reasons": [f"{value.type} in memory: {value.reason}" for value in work.stored],
        "places": list(places.of(work.sources)),
    }


def _times(explored: _Explored, places: texts.Places, rates: machine.Rates | None) -> str:
    """Returns the roofline diagram and the table of measured times, as HTML."""
    hint = f'<p class="hint">{html.escape(explored.how)}'
    steps = sorted(explored.steps, key=lambda step: -step.seconds)
    if not steps or rates is None:
        return f"{hint}</p>"
    total = sum([step.seconds for step in steps])
    everything = list(explored.program.everything())
    positions = {id(work): i for i, work in enumerate(everything)}
    labels = explored.program.labels()
    rows: list[list[tables.Cell]] = []
    dots: list[roofline.Dot] = []
    linked: list[tuple[int, ...]] = []
    for step in steps:
        at = positions[id(step.work)]
        lines = places_text(step.work.sources)
        rows.append(tables.step_row(step, labels[at], at, lines, total, rates))
        linked.append(places.of(step.work.sources))
        dot = tables.dot(step, labels[at], f"step {labels[at]}", total, rates, linked[-1])
        dots += [] if dot is None else [dot]
    hint += f" This machine: {rates}. {tables.HINT}</p>"
    picture = roofline.svg(dots, rates) if dots else ""
    caption = f"steps of one call, {quantities.seconds(total)}"
    return f"{hint}{picture}{tables.table(caption, tables.STEP_HEADS, rows, linked)}"


def _memory(program: Program, places: texts.Places) -> dict[str, object]:
    """Returns the data of the memory diagram."""
    usage = memory.of_program(program)
    held = [
        {
            "text": f"{bytes_text(value.nbytes)}  {places_text([value.source] if value.source else [])}"
            f"  {value.what}",
            "places": list(places.of([value.source])),
        }
        for value in usage.held[:_HELD]
    ]
    remaining = usage.held[_HELD:]
    if remaining:
        total = bytes_text(sum([value.nbytes for value in remaining]))
        held.append({"text": f"{total}  {counted(len(remaining), 'further value')}", "places": []})
    return {
        "live": usage.live,
        "texts": [bytes_text(n) for n in usage.live],
        "peak": usage.peak,
        "held": held,
    }


def edges(work: Sequence[Work]) -> list[tuple[int, int, str]]:
    """Returns (from, to, bytes) for each value that one step writes and a later one reads.

    Args:
      work: the outermost steps of a program.
    """
    sizes: dict[tuple[int, int], int] = {}
    writer: dict[plans.Buffer, int] = {}
    for i, each in enumerate(work):
        read, written = _effects(each.steps)
        for buffer in dict.fromkeys(read):
            if buffer in writer and writer[buffer] != i:
                key = writer[buffer], i
                sizes[key] = sizes.get(key, 0) + buffer.nbytes
        writer.update(dict.fromkeys(written, i))
    return [(i, j, bytes_text(nbytes)) for (i, j), nbytes in sizes.items()]


def _effects(steps: Sequence[plans.Step]) -> tuple[list[plans.Buffer], list[plans.Buffer]]:
    """Returns the buffers that steps read and write, nested steps included."""
    read: list[plans.Buffer] = []
    written: list[plans.Buffer] = []
    for each in plans.all_steps(steps):
        reads, writes = reads_and_writes(each)
        read += reads
        written += writes
    return read, written
