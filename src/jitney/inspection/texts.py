"""The text of a program at each stage; each line refers to the source lines that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from jitney.compiler import pipeline
from jitney.compiler.codegen import program as codegen
from jitney.compiler.codegen.marked import Marks, line_of_directive
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.text import print_module
from jitney.compiler.kernels.text import print_kernel
from jitney.compiler.plan import ir as plans
from jitney.compiler.plan.groups import nodes_of
from jitney.core.program.jaxpr import Jaxpr
from jitney.core.program.text import Settings, format_jaxpr
from jitney.core.util.record import record
from jitney.inspection.facts import Program, Source, source_of

# Lines of LLVM or machine code shown per kernel.
_CODE_LINES = 1500

_NOTE = re.compile(r"\s*# (.*):(\d+):(\d+) \(.*\)$")
_MARK = re.compile(r" \x00(\d*)$")
_LABEL = re.compile(r"^([A-Za-z_][\w.$]*):")
_END = re.compile(r"^\.?Lfunc_end")
_LEFT_OUT = re.compile(r"^\s*(\.(cfi|p2align|size|loc|file)|#|\.?L(tmp|func_begin)\d*:)")
_STATEMENT = re.compile(r"^\s*%(\d+) = ")
_OUTPUT = re.compile(r"^\s*(store|reduce) ")


@record
class Line:
    """A line of a text.

    Attributes:
      text: the line.
      places: indices in `Places.locations` of the source lines that it comes from.
    """

    text: str
    places: tuple[int, ...] = ()


@record
class Block:
    """Lines under a title: a kernel, a function of the assembly, a file."""

    title: str
    lines: list[Line]


class Places:
    """The numbered source lines that a program comes from.

    Attributes:
      found: the (file, line) of each source line.
    """

    def __init__(self) -> None:
        self.locations: list[tuple[str, int]] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def number(self, file: str, line: int) -> int:
        """Returns the number of a source line."""
        place = file, line
        if place not in self._numbers:
            self._numbers[place] = len(self.locations)
            self.locations.append(place)
        return self._numbers[place]

    def of(self, sources: Iterable[Source | None]) -> tuple[int, ...]:
        """Returns the numbers of the source lines of expressions."""
        lines = [
            self.number(source.file, line)
            for source in sources
            if source is not None
            for line in range(source.line, source.end_line + 1)
        ]
        return tuple(dict.fromkeys(lines))


def of_jaxpr(jaxpr: Jaxpr, places: Places) -> list[Line]:
    """Returns the lines of a jaxpr."""
    lines: list[Line] = []
    for text in format_jaxpr(jaxpr, Settings(source_info=True)).splitlines():
        note = _NOTE.search(text)
        if note is None:
            lines.append(Line(text.rstrip()))
        else:
            place = places.number(note[1], int(note[2]))
            lines.append(Line(text[: note.start()].rstrip(), (place,)))
    return lines


def of_tensor_ir(module: hlo.Module, places: Places) -> list[Line]:
    """Returns the lines of a program in the tensor IR, after all passes."""
    marks: list[tuple[int, ...]] = []

    def mark(node: hlo.Node) -> str:
        marks.append(places.of([source_of(node)]))
        return f" \x00{len(marks) - 1}"

    lines: list[Line] = []
    for text in print_module(pipeline.optimize(module), note=mark).splitlines():
        match = _MARK.search(text)
        if match is None:
            lines.append(Line(text))
        else:
            lines.append(Line(text[: match.start()], marks[int(match[1])]))
    return lines


def of_source(places: Places, around: int = 2) -> list[Block]:
    """Returns the source lines of a program, with context lines."""
    import linecache

    blocks: list[Block] = []
    for file in dict.fromkeys([file for file, _ in places.locations]):
        numbers = {line: i for i, (name, line) in enumerate(places.locations) if name == file}
        shown = {n for line in numbers for n in range(line - around, line + around + 1)}
        lines: list[Line] = []
        last = 0
        for n in sorted(shown):
            text = linecache.getline(file, n)
            if not text:
                continue
            if last and n > last + 1:
                lines.append(Line("..."))
            last = n
            place = (numbers[n],) if n in numbers else ()
            lines.append(Line(f"{n:5}  {text.rstrip()}", place))
        blocks.append(Block(file, lines))
    return blocks


def of_kernels(program: Program, places: Places) -> list[Block]:
    """Returns each kernel once; its heading refers to the source lines of all its launches."""
    blocks: list[Block] = []
    for kernel, name, whole in _kernels(program, places):
        outputs = iter(kernel.outputs)
        lines: list[Line] = []
        for text in print_kernel(kernel, name).splitlines():
            number = _STATEMENT.match(text)
            part: object = None
            if number is not None:
                part = kernel.body[int(number[1])]
            elif _OUTPUT.match(text):
                part = next(outputs, None)
            lines.append(Line(text, _of_node(getattr(part, "node", None), places)))
        lines[0].places = whole
        blocks.append(Block(name, lines))
    return blocks


def of_code(program: Program, places: Places) -> tuple[list[Block], list[Block]]:
    """Returns the LLVM IR of the kernels, and their machine code.

    Instructions refer to the source lines of their nodes, and headings to those of the entire
    kernel. Loop-control instructions, and instructions that LLVM has merged, refer to none.
    """
    marks = Marks()
    functions = functions_of(codegen.asm_text(program.plan, marks))
    llvm: list[Block] = []
    machine: list[Block] = []
    for _, name, whole in _kernels(program, places):
        written = [Line(text, _of_node(node, places)) for text, node in marks.lines.get(name, [])]
        known = [
            Line(text.expandtabs(8), _of_node(marks.node_at(line), places))
            for text, line in functions.get(name, [])
        ]
        for blocks, lines in ((llvm, written), (machine, known)):
            if lines:
                lines[0].places = whole
            shown = lines[:_CODE_LINES]
            if len(lines) > _CODE_LINES:
                shown.append(Line(f"... and {len(lines) - _CODE_LINES} lines"))
            blocks.append(Block(f"{name}, {len(lines)} lines", shown))
    return llvm, machine


def functions_of(assembly: str) -> dict[str, list[tuple[str, int]]]:
    """Splits assembly into functions, as lists of instructions and labels with their source lines.

    The number of a line is 0 if it is unknown.
    """
    functions: dict[str, list[tuple[str, int]]] = {}
    current: list[tuple[str, int]] | None = None
    at = 0
    for line in assembly.splitlines():
        label = _LABEL.match(line)
        location = line_of_directive(line)
        if _END.match(line):
            current = None
        elif label is not None and not line.startswith((".", "L")):
            current, at = functions.setdefault(label[1], []), 0
        elif location is not None:
            at = location
        elif current is not None and not _LEFT_OUT.match(line):
            text = line.partition("#")[0].rstrip() if line.startswith("\t") else line
            current.append((text, at if line.startswith("\t") else 0))
    return functions


def _of_node(node: hlo.Node | None, places: Places) -> tuple[int, ...]:
    return () if node is None else places.of([source_of(node)])


def _kernels(program: Program, places: Places) -> list[tuple[plans.Kernel, str, tuple[int, ...]]]:
    """Returns (kernel, name, places) of each kernel, in the order of their names."""
    names = codegen.kernel_names(program.plan)
    first: dict[str, plans.Kernel] = {}
    lines: dict[str, dict[int, None]] = {}
    for launch in _launches(program.plan.steps):
        name = names[launch.kernel]
        first.setdefault(name, launch.kernel)
        nodes = nodes_of(launch, program.plan.stored)
        lines.setdefault(name, {}).update(dict.fromkeys(places.of(map(source_of, nodes))))
    return [(kernel, name, tuple(lines[name])) for name, kernel in first.items()]


def _launches(steps: Iterable[plans.Step]) -> Iterable[plans.Launch]:
    for step in plans.all_steps(steps):
        if isinstance(step, plans.Launch):
            yield step
        elif isinstance(step, plans.RowStrips):
            yield from step.launches
