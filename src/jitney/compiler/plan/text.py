"""Plans as text, with the kernels that they launch: `as_text("kernels")`."""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler import library
from jitney.compiler.hlo import node_calls
from jitney.compiler.kernels.loop_kernel import LoopKernel
from jitney.compiler.kernels.text import print_kernel, print_loop
from jitney.compiler.library import params_text
from jitney.compiler.plan import ir


def print_plan(plan: ir.Plan) -> str:
    """The program's steps, then its kernels."""
    kernels: list[str] = []

    def block(steps: Sequence[ir.Step], indent: str) -> list[str]:
        lines: list[str] = []
        for step in steps:
            match step:
                case ir.Launch():
                    name = f"k{len(kernels)}"
                    if isinstance(step.kernel, LoopKernel):
                        kernels.append(print_loop(step.kernel, name))
                    else:
                        kernels.append(print_kernel(step.kernel, name))
                    why = f"  ; {step.apart}" if step.apart else ""
                    lines.append(f"{indent}launch {name}({_buffers(step.buffers)}){why}")
                case ir.RowStrips():
                    size = f"{step.strip} rows, {step.rows} in all"
                    lines.append(f"{indent}strips of {size} {{")
                    lines += block(step.launches, indent + "  ")
                    lines.append(f"{indent}}}")
                case ir.Gemm():
                    x, y = ("^T" if t else "" for t in (step.trans_x, step.trans_y))
                    sign = "<-+" if step.adds else "<-"
                    size = f"{step.batch} x {step.m}x{step.n}x{step.k}"
                    lines.append(
                        f"{indent}gemm.{step.dtype.name} {step.out} {sign} {step.x}{x} @ {step.y}{y} "
                        f"({size})"
                    )
                case ir.LibraryCall():
                    call = f"{_called(step.call)}({_buffers(step.args)})"
                    batch = "" if step.native is None else f", {step.native.batch} times"
                    lines.append(
                        f"{indent}library_call {call} -> ({_buffers(step.results)}){batch}"
                    )
                case ir.Collective():
                    node = step.node
                    what = f"collective {node.kind}{params_text((*node.axes, *node.params))}"
                    lines.append(f"{indent}{what}({_buffers(step.args)}) -> ({step.result})")
                case ir.HostCall():
                    args = _buffers([b for b, _ in step.args])
                    results = _buffers([b for b, _ in step.results])
                    lines.append(f"{indent}host_call {step.name}({args}) -> ({results})")
                case ir.Wait():
                    results = _buffers([b for b, _ in step.call.results])
                    lines.append(f"{indent}wait {step.call.name} -> ({results})")
                case ir.Copy():
                    lines.append(
                        f"{indent}copy {step.to} <- {step.source} ({step.to.nbytes} bytes)"
                    )
                case ir.SwapBuffers():
                    lines.append(f"{indent}swap {step.carry} <-> {step.after}")
                case ir.Clock():
                    lines.append(f"{indent}clock {step.index}")
                case ir.Loop():
                    lines.append(f"{indent}while {{")
                    lines += block(step.cond, indent + "  ")
                    lines.append(f"{indent}}} {step.predicate} do {{")
                    lines += block(step.body, indent + "  ")
                    lines.append(f"{indent}}}")
                case ir.Branch():
                    lines.append(f"{indent}switch {step.index} {{")
                    for i, case in enumerate(step.cases):
                        lines.append(f"{indent}  case {i}:")
                        lines += block(case, indent + "    ")
                    lines.append(f"{indent}}}")
        return lines

    inputs = ", ".join(f"input{i}: {t}" for i, t in enumerate(plan.inputs))
    outputs = ", ".join(f"output{i}: {t}" for i, t in enumerate(plan.outputs))
    head = f"program {plan.name}({inputs}) -> ({outputs}), arena {plan.arena_bytes} bytes {{"
    body = block(plan.steps, "  ")
    return "\n".join([head, *body, "}", *kernels])


def _called(call: library.Call) -> str:
    """The function and its parameters; of a node's reference implementation, the node's name."""
    is_node = call.name.startswith(f"{node_calls.PREFIX}.")
    return call.name if is_node else str(call.routine)


def _buffers(buffers: Sequence[ir.Buffer]) -> str:
    return ", ".join(map(str, buffers))
