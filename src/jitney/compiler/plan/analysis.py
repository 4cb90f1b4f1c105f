"""Cost analysis of plans: operations and memory traffic of their steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jitney.compiler.kernels import ir as kernels
from jitney.compiler.plan import ir


def _applied(launch: ir.Launch) -> float:
    """Returns the number of scalar operations that a launch executes."""
    kernel = launch.kernel
    calls = sum(isinstance(s, kernels.Call) for s in kernel.body)
    # Each term of a sum of products takes a multiplication and an addition.
    reductions = sum(
        1 + (o.factor is not None) for o in kernel.outputs if isinstance(o, kernels.Reduce)
    )
    return float((calls + reductions) * math.prod(kernel.extents))


def plan_cost(plan: ir.Plan) -> dict[str, float]:
    """Returns "flops" (scalar operations) and "bytes accessed"; a loop counts as one iteration."""
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
                case ir.LibraryCall(native=native) if native is not None:
                    flops += native.operations
                case _:
                    pass
            moved += sum(b.nbytes for b in ir.touched(step))
            for block in ir.inner(step):
                visit(block)

    visit(plan.steps)
    return {"flops": flops, "bytes accessed": moved}
