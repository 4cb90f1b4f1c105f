"""Prints kernels as text, as in `as_text("kernels")`.

    kernel k0(p0: float32, p1: float32) for i < 1000 {
      %0 = load p0[i] : float32
      %1 = sin %0 : float32
      store p1[i] <- %1
    }

`parse` reads it back.
"""

from __future__ import annotations

from jitney.compiler.hlo.text import number_text
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.loop_kernel import LoopCarried, LoopKernel

_AXES = "ijklmnopqrstuvw"


def axis_name(k: int) -> str:
    """Returns the letter of axis k."""
    return _AXES[k] if k < len(_AXES) else f"a{k}"


def index_text(index: ir.Affine) -> str:
    """Returns the text of an index, like `i*4 + j + 7`."""
    parts = [
        axis_name(k) if c == 1 else f"{axis_name(k)}*{c}"
        for k, c in enumerate(index.coefficients)
        if c
    ]
    parts += [f"%{s}" if f == 1 else f"%{s}*{f}" for s, f in index.terms]
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts)


def statement_text(s: ir.Statement) -> str:
    """Returns the text of a statement, without its number."""
    match s:
        case ir.Const():
            return f"{s.dtype.name} {number_text(s.value)}"
        case ir.IndexValue():
            return f"index {index_text(s.index)} : {s.dtype.name}"
        case ir.Load():
            return f"load p{s.param}[{index_text(s.index)}] : {s.dtype.name}"
        case ir.Call():
            return f"{s.fn} {', '.join(f'%{a}' for a in s.args)} : {s.dtype.name}"


def output_text(o: ir.Store | ir.Reduce) -> str:
    """Returns the text of an output."""
    if isinstance(o, ir.Store):
        verb, end = "store", "" if o.where is None else f" where %{o.where}"
    else:
        verb, end = f"reduce {o.fn}", "" if o.factor is None else f" * %{o.factor}"
    return f"{verb} p{o.param}[{index_text(o.index)}] <- %{o.value}{end}"


def print_kernel(kernel: ir.Kernel, name: str = "kernel") -> str:
    """Returns the text of a kernel."""
    params = ", ".join(f"p{i}: {d.name}" for i, d in enumerate(kernel.params))
    kept = len(kernel.parallel)
    axes = [
        f"{'for' if k < kept else 'reduce'} {axis_name(k)} < {n}"
        for k, n in enumerate(kernel.extents)
    ]
    order = " in order" if kernel.in_order else ""
    head = f"kernel {name}({params}) {', '.join(axes)}".rstrip() + order
    lines = [f"  %{i} = {statement_text(s)}" for i, s in enumerate(kernel.body)]
    lines += [f"  {output_text(o)}" for o in kernel.outputs]
    return "\n".join([head + " {", *lines, "}"])


def print_loop(kernel: LoopKernel, name: str = "loop") -> str:
    """Returns the text of a loop kernel."""
    params = ", ".join(f"p{i}: {d.name}" for i, d in enumerate(kernel.params))
    axes = "".join(f" for {axis_name(k)} < {n}" for k, n in enumerate(kernel.extents))
    lines = [
        f"  carried {i} = p{p.start}[{index_text(p.index)}] : {p.dtype.name}"
        + (" by lane" if p.varies else "")
        for i, p in enumerate(kernel.carried)
    ]
    for i, s in enumerate(kernel.body):
        text = (
            f"carried {s.index} : {s.dtype.name}"
            if isinstance(s, LoopCarried)
            else statement_text(s)
        )
        lines.append(f"  %{i} = {text}")
    lines.append(f"  while %{kernel.condition}")
    lines += [f"  {output_text(o)}" for o in kernel.outputs]
    lines += [f"  carried {i} <- %{f}" for i, f in enumerate(kernel.next_values)]
    lines += [
        f"  finally p{p.finish}[{index_text(p.index)}] <- carried {i}"
        for i, p in enumerate(kernel.carried)
    ]
    return "\n".join([f"loop {name}({params}){axes} {{", *lines, "}"])
