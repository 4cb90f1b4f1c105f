"""Generates code with debug locations that identify the tensor IR node of each instruction.

Only inspection tools use this module; code that is compiled to be run has no debug locations. A
location is a line of a fictitious file: line n + 2 stands for the n-th node, and line 1 for the
code of loops. LLVM propagates locations to machine instructions, which they do not affect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jitney.compiler.codegen.kernel import KernelWriter
from jitney.compiler.codegen.kernel_key import Range
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.kernels import ir
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import Value

# Numbers of metadata nodes; smaller ones are used by the module itself.
_UNIT, _FIRST = 100, 110
_HEAD = f"""\
!llvm.dbg.cu = !{{!{_UNIT}}}
!llvm.module.flags = !{{!{_UNIT + 1}, !{_UNIT + 2}}}
!{_UNIT} = distinct !DICompileUnit(language: DW_LANG_C99, file: !{_UNIT + 3}, emissionKind: 2)
!{_UNIT + 1} = !{{i32 2, !"Debug Info Version", i32 3}}
!{_UNIT + 2} = !{{i32 7, !"Dwarf Version", i32 4}}
!{_UNIT + 3} = !DIFile(filename: "nodes", directory: "")
!{_UNIT + 4} = !DISubroutineType(types: !{_UNIT + 5})
!{_UNIT + 5} = !{{}}
"""
_LOCATION = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)")


class Marks:
    """The tensor IR nodes of a module's instructions, and its metadata.

    Attributes:
      lines: the lines of each function's text, with their nodes, by the name of the function.
    """

    def __init__(self) -> None:
        self.lines: dict[str, list[tuple[str, hlo.Node | None]]] = {}
        self._nodes: list[hlo.Node] = []
        self._numbers: dict[hlo.Node, int] = {}
        self._metadata: list[str] = []

    def writer(
        self,
        kernel: ir.Kernel,
        target: Target,
        name: str,
        shared: Emitter,
        bounds: Range,
    ) -> KernelWriter:
        """Returns a writer of a kernel, like `KernelWriter`, that records nodes in this object."""
        writer = _Marking(kernel, target, name, shared, bounds)
        writer.marks, writer.nodes = self, {}
        return writer

    def define(self, text: str) -> str:
        """Adds a metadata node and returns a reference to it."""
        self._metadata.append(text)
        return f"!{_FIRST + len(self._metadata) - 1}"

    def line_of(self, node: hlo.Node | None) -> int:
        """Returns the line number that stands for a node."""
        if node is None:
            return 1
        if node not in self._numbers:
            self._numbers[node] = len(self._nodes) + 2
            self._nodes.append(node)
        return self._numbers[node]

    def node_at(self, line: int) -> hlo.Node | None:
        """Returns the node for which a line number stands."""
        return self._nodes[line - 2] if line >= 2 else None

    def module_text(self) -> str:
        """Returns the text of the metadata to which functions refer."""
        rows = [f"!{_FIRST + i} = {text}" for i, text in enumerate(self._metadata)]
        return _HEAD + "\n".join(rows)

    def annotated(self, name: str, lines: Sequence[str], nodes: Sequence[hlo.Node | None]) -> str:
        """Returns the text of a function with debug locations.

        Args:
          name: the name of the function.
          lines: the lines of its definition.
          nodes: the node of each line.
        """
        self.lines[name] = list(zip(lines, nodes, strict=True))
        scope = self.define(
            f'distinct !DISubprogram(name: "{name}", scope: !{_UNIT + 3}, file: !{_UNIT + 3}, line: 1, '
            f"type: !{_UNIT + 4}, unit: !{_UNIT}, spFlags: DISPFlagDefinition)"
        )
        places: dict[int, str] = {}
        head, *body = lines
        annotated_lines = [f"{head.removesuffix('{')}!dbg {scope} {{"]
        for text, node in zip(body, nodes[1:], strict=True):
            if not text.startswith("  "):  # a label or the end of the function
                annotated_lines.append(text)
                continue
            line = self.line_of(node)
            if line not in places:
                places[line] = self.define(f"!DILocation(line: {line}, column: 0, scope: {scope})")
            annotated_lines.append(f"{text}, !dbg {places[line]}")
        return "\n".join(annotated_lines)


def line_of_directive(text: str) -> int | None:
    """Returns the line number in a `.loc` directive of assembly, or None for other lines."""
    match = _LOCATION.match(text)
    return None if match is None else int(match[1])


class _Marking(KernelWriter):
    """A kernel writer that records the node of each instruction."""

    marks: Marks
    nodes: dict[int, hlo.Node]  # by line number

    def text(self) -> str:
        lines = super().text().split("\n")
        first = len(lines) - 1 - len(self.e.lines)
        nodes = [self.nodes.get(i - first) for i in range(len(lines))]
        return self.marks.annotated(self.name, lines, nodes)

    def _note(self, first: int, node: hlo.Node | None) -> None:
        """Assigns `node` to all lines from number `first` that have no node yet."""
        if node is not None:
            for i in range(first, len(self.e.lines)):
                self.nodes.setdefault(i, node)

    def statement(self, i: int, s: ir.Statement) -> Value:
        first = len(self.e.lines)
        value = super().statement(i, s)
        self._note(first, s.node if isinstance(s, ir.Load | ir.Call) else None)
        return value

    def _store_output(self, j: int, o: ir.Store) -> None:
        first = len(self.e.lines)
        super()._store_output(j, o)
        self._note(first, o.node)

    def _accumulate(self, j: int, o: ir.Reduce) -> None:
        first = len(self.e.lines)
        super()._accumulate(j, o)
        self._note(first, o.node)

    def store(self, o: ir.Store | ir.Reduce, value: Value) -> None:
        first = len(self.e.lines)
        super().store(o, value)
        self._note(first, o.node)
