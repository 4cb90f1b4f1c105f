"""Prints plans with the kernels that they launch, for `as_text("kernels")`."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler import library
from jitney.compiler.hlo import node_calls
from jitney.compiler.kernels.text import print_kernel
from jitney.compiler.library import params_text
from jitney.compiler.plan import ir


def print_plan(plan: ir.Plan) -> str:
    """Returns the text of the program's steps, followed by that of its kernels.

    Before memory is assigned, arena buffers are numbered in the order of their first use.
    """
    inputs = ", ".join(f"input{i}: {t}" for i, t in enumerate(plan.inputs))
    outputs = ", ".join(f"output{i}: {t}" for i, t in enumerate(plan.outputs))
    memory = "" if plan.arena_bytes < 0 else f", arena {plan.arena_bytes} bytes"
    head = f"program {plan.name}({inputs}) -> ({outputs}){memory} {{"
    printer = _Printer()
    body = printer.block(plan.steps, "  ")
    return "\n".join([head, *body, "}", *printer.kernels])


class _Printer:
    """Prints the steps of a plan.

    Attributes:
      kernels: the texts of launched kernels, which are named after their index in this list.
      numbers: the numbers of buffers without assigned memory.
    """

    def __init__(self) -> None:
        self.kernels: list[str] = []
        self.numbers: dict[ir.Buffer, int] = {}

    def block(self, steps: Sequence[ir.Step], indent: str) -> list[str]:
        """Returns the lines of text of `steps`."""
        lines: list[str] = []
        for step in steps:
            match step:
                case ir.Launch():
                    lines.append(f"{indent}{self.launch(step)}")
                case ir.RowStrips():
                    lines.append(f"{indent}strips of {step.strip} rows, {step.rows} in all {{")
                    lines += self.block(step.launches, indent + "  ")
                    lines.append(f"{indent}}}")
                case ir.Loop():
                    lines.append(f"{indent}while {{")
                    lines += self.block(step.cond, indent + "  ")
                    lines.append(f"{indent}}} {self.name(step.predicate)} do {{")
                    lines += self.block(step.body, indent + "  ")
                    lines.append(f"{indent}}}")
                case ir.Branch():
                    lines.append(f"{indent}switch {self.name(step.index)} {{")
                    for i, case in enumerate(step.cases):
                        lines.append(f"{indent}  case {i}:")
                        lines += self.block(case, indent + "    ")
                    lines.append(f"{indent}}}")
                case _:
                    lines.append(f"{indent}{self.line(step)}")
        return lines

    def name(self, buffer: ir.Buffer) -> str:
        """Returns the name of a buffer."""
        if buffer.place != "constant" and buffer.index < 0:
            return f"buffer{self.numbers.setdefault(buffer, len(self.numbers))}"
        return str(buffer)

    def names(self, buffers: Sequence[ir.Buffer]) -> str:
        return ", ".join(map(self.name, buffers))

    def launch(self, step: ir.Launch) -> str:
        """Returns the line of a launch, and adds the text of its kernel."""
        name = f"k{len(self.kernels)}"
        self.kernels.append(print_kernel(step.kernel, name))
        why = f"  ; {step.apart}" if step.apart else ""
        return f"launch {name}({self.names(step.buffers)}){why}"

    def line(
        self,
        step: ir.Gemm | ir.LibraryCall | ir.Collective | ir.HostCall | ir.Wait | ir.Copy
        | ir.SwapBuffers | ir.Clock,
    ) -> str:  # fmt: skip
        """Returns the line of a step that has no nested steps and launches no kernel."""
        match step:
            case ir.Gemm():
                x, y = ("^T" if t else "" for t in (step.trans_x, step.trans_y))
                x, y = f"{self.name(step.x)}{x}", f"{self.name(step.y)}{y}"
                sign = "<-+" if step.adds else "<-"
                size = f"{step.batch} x {step.m}x{step.n}x{step.k}"
                return f"gemm.{step.dtype.name} {self.name(step.out)} {sign} {x} @ {y} ({size})"
            case ir.LibraryCall():
                call = f"{_called(step.call)}({self.names(step.args)})"
                batch = "" if step.native is None else f", {step.native.batch} times"
                return f"library_call {call} -> ({self.names(step.results)}){batch}"
            case ir.Collective():
                node = step.node
                what = f"collective {node.kind}{params_text((*node.axes, *node.params))}"
                return f"{what}({self.names(step.args)}) -> ({self.name(step.result)})"
            case ir.HostCall():
                args = self.names([b for b, _ in step.args])
                results = self.names([b for b, _ in step.results])
                return f"host_call {step.name}({args}) -> ({results})"
            case ir.Wait():
                results = self.names([b for b, _ in step.call.results])
                return f"wait {step.call.name} -> ({results})"
            case ir.Copy():
                size = f"({step.to.nbytes} bytes)"
                return f"copy {self.name(step.to)} <- {self.name(step.source)} {size}"
            case ir.SwapBuffers():
                return f"swap {self.name(step.carry)} <-> {self.name(step.after)}"
            case ir.Clock():
                return f"clock {step.index}"


def _called(call: library.Call) -> str:
    """Returns the name of the called function, with its parameters.

    For the reference implementation of a node, it is only the name.
    """
    is_node = call.name.startswith(f"{node_calls.PREFIX}.")
    return call.name if is_node else str(call.routine)
