"""Prints kernels as text, as in `as_text("kernels")`.

    kernel k0(p0: float32, p1: float32) for i < 1000 {
      %0 = load p0[i] : float32
      %1 = sin %0 : float32
      store p1[i] <- %1
    }

The loop at each point of a kernel is written like this:

    kernel k0(p0: float32, p1: float32, p2: float32) for i < 8, while %2 (4 trips) {
      carried 0 = p0[i] : float32 by lane
      %0 = carried 0 : float32
      %1 = mul %0, %0 : float32
      ...
      store p2[i] <- %1
      carried 0 <- %1
      finally p1[i] <- carried 0
    }

`parse` reads it back.
"""

from __future__ import annotations

from jitney.compiler.hlo.text import number_text
from jitney.compiler.kernels import ir

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
        case ir.Carried():
            return f"carried {s.carry} : {s.dtype.name}"


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
    loop = kernel.loop
    if loop is not None:
        trips = "" if loop.trips is None else f" ({loop.trips} trips)"
        axes.append(f"while %{loop.condition}{trips}")
    order = " in order" if kernel.in_order else ""
    head = f"kernel {name}({params}) {', '.join(axes)}".rstrip() + order
    carries = () if loop is None else loop.carries
    lines = [f"  carried {i} = {_carry_text(c)}" for i, c in enumerate(carries)]
    lines += [f"  %{i} = {statement_text(s)}" for i, s in enumerate(kernel.body)]
    lines += [f"  {output_text(o)}" for o in kernel.outputs]
    if loop is not None:
        lines += [f"  carried {i} <- %{value}" for i, value in enumerate(loop.next_values)]
        lines += [
            f"  finally p{c.finish}[{index_text(c.index)}] <- carried {i}"
            for i, c in enumerate(carries)
        ]
    return "\n".join([head + " {", *lines, "}"])


def _carry_text(carry: ir.Carry) -> str:
    """Returns the text of the initial value of a carry."""
    lanes = " by lane" if carry.varies else ""
    return f"p{carry.start}[{index_text(carry.index)}] : {carry.dtype.name}{lanes}"
