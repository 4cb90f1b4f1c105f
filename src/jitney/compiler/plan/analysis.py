"""Estimates of what a plan's steps cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jitney.compiler.kernels import ir as kernels
from jitney.compiler.plan import ir


def _applied(launch: ir.Launch) -> float:
    """Returns how many scalar functions a launch applies."""
    kernel = launch.kernel
    calls = sum(isinstance(s, kernels.Call) for s in kernel.body)
    # A sum of products is a multiplication and an addition.
    reductions = sum(
        1 + (o.factor is not None) for o in kernel.outputs if isinstance(o, kernels.Reduce)
    )
    return float((calls + reductions) * math.prod(kernel.extents))


def plan_cost(plan: ir.Plan) -> dict[str, float]:
    """ "flops" (scalar functions applied) and "bytes accessed"; loops count one iteration."""
    flops = 0.0
    moved = 0.0

    def visit(steps: Sequence[ir.Step]) -> None:
        nonlocal flops, moved
        for step in steps:
            match step:
                case ir.Launch():
                    flops += _applied(step)
                case ir.RowStrips():
                    flops += sum(map(_applied, step.launches))
                case ir.Gemm():
                    flops += 2.0 * step.batch * step.m * step.n * step.k
                case _:
                    pass
            moved += sum(b.nbytes for b in ir.touched(step))
            for block in ir.inner(step):
                visit(block)

    visit(plan.steps)
    return {"flops": flops, "bytes accessed": moved}
