"""Dependence analysis: the loop of the nest in which each statement is computed, and uniformity.

A statement depends on the loops whose counters occur in its index, and on the loops on which its
operands depend. The loop of a kernel (`ir.While`) is inside those over its axes, and carries depend
on it. Buffers that the kernel writes can change in the innermost loop, so loads from them are not
hoisted out of it.
"""

from __future__ import annotations

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Kernel


def dependence(
    kernel: Kernel, order: tuple[int, ...], vector: int | None
) -> tuple[list[int], list[bool]]:
    """Returns, for each statement, the depth of its loop, and whether it varies between lanes."""
    depths: list[int] = []
    varies: list[bool] = []

    def of_index(index: Affine) -> tuple[int, bool]:
        depth = max([j + 1 for j, axis in enumerate(order) if index.coefficients[axis]], default=0)
        differs = vector is not None and index.coefficients[vector] != 0
        for t, _ in index.terms:
            depth = max(depth, depths[t])
            differs = differs or varies[t]
        return depth, differs

    written = {o.param for o in kernel.outputs}
    innermost = len(order) + (kernel.loop is not None)
    for s in kernel.body:
        match s:
            case ir.Const():
                depth, differs = 0, False
            case ir.Carried():
                depth, differs = innermost, s.varies
            case ir.Call():
                depth = max([depths[a] for a in s.args], default=0)
                differs = any(varies[a] for a in s.args)
            case _:
                depth, differs = of_index(s.index)
                if isinstance(s, ir.Load) and s.param in written:
                    depth = innermost  # loads must see earlier stores
        depths.append(depth)
        varies.append(differs)
    return depths, varies
