"""`jitney.explore`: a page that shows a function's source beside all that became of it.

The page is one HTML file without references to anything else: the texts and facts as JSON, and the
program that draws them (`page.html`).
"""

from __future__ import annotations

import html
import json
import os
import webbrowser
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.partition.text import bytes_text
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.accesses import reads_and_writes
from jitney.inspection import facts, texts
from jitney.inspection.explain import Explanation, flops_text, places_text
from jitney.inspection.facts import Program, Work

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

# Steps that the picture of the fusion shows; pages of more list the others in words.
_DRAWN_STEPS = 200


class Exploration:
    """What became of functions, as a page.

    Attributes:
      programs: the facts, one for each function.
    """

    def __init__(self, modules: Sequence[hlo.Module]) -> None:
        self.programs = [facts.of_module(module) for module in modules]
        self._modules = modules

    def html(self) -> str:
        """The page: one HTML document that needs no other file and no network."""
        functions = [
            _function(module, program)
            for module, program in zip(self._modules, self.programs, strict=True)
        ]
        names = ", ".join([program.name for program in self.programs])
        # In a script element nothing but "</" could end the text before its time.
        data = json.dumps(functions, separators=(",", ":")).replace("<", "\\u003c")
        template = resources.files(__package__ or "jitney.inspection").joinpath("page.html")
        page = template.read_text(encoding="utf-8")
        return page.replace("{{title}}", html.escape(names)).replace("{{data}}", data)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page to a file; gives its path."""
        file = Path(path)
        file.write_text(self.html(), encoding="utf-8")
        return file

    def open(self, path: str | os.PathLike[str] = "explore.html") -> Path:
        """Writes the page to a file, and shows it in the browser."""
        file = self.save(path)
        webbrowser.open(file.resolve().as_uri())
        return file

    def __repr__(self) -> str:
        names = ", ".join([program.name for program in self.programs])
        return f"<page of {names}: .save(path), .open()>"

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own."""
        page = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'


def explore(fun: Callable[..., Any], *args: PyTree, **kwargs: PyTree) -> Exploration:
    """Shows the compiled `fun` as a page: its source beside jaxpr, tensor IR, kernels and assembly.

    A click on a line lights up what it comes from and what became of it in all columns. The page has
    a picture of the fusion, with the bytes between the steps, and of the memory in use over time, too.

    Args:
      fun: a function as for `jit`, or a function that `jit` has returned.
      args, kwargs: its arguments; arrays may be `ShapeDtypeStruct`s. Nothing is run.

    Returns: an `Exploration`, which `.save(path)` writes to a file and `.open()` shows; notebooks show
    it as it is.

    Raises:
      What tracing and lowering `fun` raise.

    Example:
      >>> page = jax.explore(lambda x: jnp.tanh(x).sum(), jnp.ones(1000))
      >>> page.html().count("<html")
      1
    """
    return Exploration([facts.lowered_module(fun, args, kwargs)])


def _function(module: hlo.Module, program: Program) -> dict[str, Any]:
    """The data of one function."""
    places = texts.Places()
    jaxpr = [] if module.jaxpr is None else texts.of_jaxpr(module.jaxpr, places)
    tensor_ir = texts.of_tensor_ir(module, places)
    kernels = texts.of_kernels(program, places)
    steps = [_step(work, places) for work in program.work[:_DRAWN_STEPS]]
    assembly = texts.of_assembly(program, places)
    columns = [
        ("source", texts.of_source(places)),
        ("jaxpr", [texts.Block("", jaxpr)]),
        ("tensor IR", [texts.Block("", tensor_ir)]),
        ("kernels", kernels),
        ("assembly", assembly),
    ]
    return {
        "name": program.name,
        "explanation": str(Explanation(program)),
        "places": [f"{os.path.basename(file)}:{line}" for file, line in places.found],
        "columns": [
            {"title": title, "blocks": [_block(block) for block in blocks]}
            for title, blocks in columns
        ],
        "steps": steps,
        "undrawn": max(len(program.work) - _DRAWN_STEPS, 0),
        "edges": edges(program.work[:_DRAWN_STEPS]),
        "memory": live_bytes(program),
    }


def _block(block: texts.Block) -> dict[str, Any]:
    return {
        "title": block.title,
        "lines": [[line.text, *line.places] for line in block.lines],
    }


def _step(work: Work, places: texts.Places) -> dict[str, Any]:
    moved, flops = work.total()
    costs = [bytes_text(moved), *([flops_text(flops)] if flops else [])]
    return {
        "kind": work.kind,
        "what": work.what,
        "lines": places_text(work.sources),
        "operations": ", ".join(work.operations),
        "costs": ", ".join(costs),
        "reasons": [f"{value.type} in memory: {value.reason}" for value in work.stored],
        "places": list(places.of(work.sources)),
    }


def edges(work: Sequence[Work]) -> list[tuple[int, int, str]]:
    """(from, to, bytes) for each value that one step writes and a later one reads.

    Args:
      work: the outermost steps of a program.
    """
    found: dict[tuple[int, int], int] = {}
    writer: dict[plans.Buffer, int] = {}
    for i, each in enumerate(work):
        read, written = _effects(each.steps)
        for buffer in dict.fromkeys(read):
            if buffer in writer and writer[buffer] != i:
                key = writer[buffer], i
                found[key] = found.get(key, 0) + buffer.nbytes
        writer.update(dict.fromkeys(written, i))
    return [(i, j, bytes_text(nbytes)) for (i, j), nbytes in found.items()]


def _effects(steps: Sequence[plans.Step]) -> tuple[list[plans.Buffer], list[plans.Buffer]]:
    """What steps read and write, with the steps within them."""
    read: list[plans.Buffer] = []
    written: list[plans.Buffer] = []
    for each in plans.all_steps(steps):
        reads, writes = reads_and_writes(each)
        read += reads
        written += writes
    return read, written


def live_bytes(program: Program) -> list[int]:
    """Bytes of temporary values that are alive in each of the outermost steps, at the most."""
    first: dict[plans.Buffer, int] = {}
    last: dict[plans.Buffer, int] = {}
    numbers = [i for i, work in enumerate(program.work) for _ in work.steps]
    steps = [step for work in program.work for step in work.steps]
    for at, step in enumerate(steps):
        for buffer in plans.all_touched(step):
            if buffer.place == "arena":
                first.setdefault(buffer, at)
                last[buffer] = at
    live = [0] * len(steps)
    for buffer, start in first.items():
        for at in range(start, last[buffer] + 1):
            live[at] += buffer.nbytes
    return [
        max([n for n, number in zip(live, numbers, strict=True) if number == i])
        for i in range(len(program.work))
    ]
