"""Prints plans with the kernels that they launch, for `as_text("kernels")`."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler import library
from jitney.compiler.hlo import node_calls
from jitney.compiler.kernels.loop_kernel import LoopKernel
from jitney.compiler.kernels.text import print_kernel, print_loop
from jitney.compiler.library import params_text
from jitney.compiler.plan import ir


def print_plan(plan: ir.Plan) -> str:
    """Returns the text of the program's steps, then of its kernels."""
    inputs = ", ".join(f"input{i}: {t}" for i, t in enumerate(plan.inputs))
    outputs = ", ".join(f"output{i}: {t}" for i, t in enumerate(plan.outputs))
    head = f"program {plan.name}({inputs}) -> ({outputs}), arena {plan.arena_bytes} bytes {{"
    kernels: list[str] = []
    body = _block(plan.steps, "  ", kernels)
    return "\n".join([head, *body, "}", *kernels])


def _block(steps: Sequence[ir.Step], indent: str, kernels: list[str]) -> list[str]:
    """Returns the lines of steps; appends the texts of launched kernels to `kernels`."""
    lines: list[str] = []
    for step in steps:
        match step:
            case ir.Launch():
                lines.append(f"{indent}{_launch(step, kernels)}")
            case ir.RowStrips():
                lines.append(f"{indent}strips of {step.strip} rows, {step.rows} in all {{")
                lines += _block(step.launches, indent + "  ", kernels)
                lines.append(f"{indent}}}")
            case ir.Loop():
                lines.append(f"{indent}while {{")
                lines += _block(step.cond, indent + "  ", kernels)
                lines.append(f"{indent}}} {step.predicate} do {{")
                lines += _block(step.body, indent + "  ", kernels)
                lines.append(f"{indent}}}")
            case ir.Branch():
                lines.append(f"{indent}switch {step.index} {{")
                for i, case in enumerate(step.cases):
                    lines.append(f"{indent}  case {i}:")
                    lines += _block(case, indent + "    ", kernels)
                lines.append(f"{indent}}}")
            case _:
                lines.append(f"{indent}{_line(step)}")
    return lines


def _launch(step: ir.Launch, kernels: list[str]) -> str:
    """Returns the line of a launch, and appends the kernel's text to `kernels`.

    The kernel is named by its index there.
    """
    name = f"k{len(kernels)}"
    if isinstance(step.kernel, LoopKernel):
        kernels.append(print_loop(step.kernel, name))
    else:
        kernels.append(print_kernel(step.kernel, name))
    why = f"  ; {step.apart}" if step.apart else ""
    return f"launch {name}({_buffers(step.buffers)}){why}"


def _line(
    step: ir.Gemm | ir.LibraryCall | ir.Collective | ir.HostCall | ir.Wait | ir.Copy
    | ir.SwapBuffers | ir.Clock,
) -> str:  # fmt: skip
    """Returns the line of a step that contains no other steps and launches no kernel."""
    match step:
        case ir.Gemm():
            x, y = ("^T" if t else "" for t in (step.trans_x, step.trans_y))
            sign = "<-+" if step.adds else "<-"
            size = f"{step.batch} x {step.m}x{step.n}x{step.k}"
            return f"gemm.{step.dtype.name} {step.out} {sign} {step.x}{x} @ {step.y}{y} ({size})"
        case ir.LibraryCall():
            call = f"{_called(step.call)}({_buffers(step.args)})"
            batch = "" if step.native is None else f", {step.native.batch} times"
            return f"library_call {call} -> ({_buffers(step.results)}){batch}"
        case ir.Collective():
            node = step.node
            what = f"collective {node.kind}{params_text((*node.axes, *node.params))}"
            return f"{what}({_buffers(step.args)}) -> ({step.result})"
        case ir.HostCall():
            args = _buffers([b for b, _ in step.args])
            results = _buffers([b for b, _ in step.results])
            return f"host_call {step.name}({args}) -> ({results})"
        case ir.Wait():
            results = _buffers([b for b, _ in step.call.results])
            return f"wait {step.call.name} -> ({results})"
        case ir.Copy():
            return f"copy {step.to} <- {step.source} ({step.to.nbytes} bytes)"
        case ir.SwapBuffers():
            return f"swap {step.carry} <-> {step.after}"
        case ir.Clock():
            return f"clock {step.index}"


def _called(call: library.Call) -> str:
    """Returns the name of the function that is called, with its parameters.

    For a node's reference implementation it is only the name.
    """
    is_node = call.name.startswith(f"{node_calls.PREFIX}.")
    return call.name if is_node else str(call.routine)


def _buffers(buffers: Sequence[ir.Buffer]) -> str:
    return ", ".join(map(str, buffers))
