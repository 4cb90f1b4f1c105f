"""Estimates of the work of a kernel, and the number of vectors to process per iteration."""

from __future__ import annotations

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.schedule import Schedule


def body_cost(kernel: Kernel) -> int:
    """Returns the cost of one point of the iteration domain."""
    products = [isinstance(o, ir.Reduce) and o.factor is not None for o in kernel.outputs]
    total = len(kernel.outputs) + sum(products) * COSTS.function("mul")
    for s in kernel.body:
        total += COSTS.function(s.fn) if isinstance(s, ir.Call) else 1
    return total


def is_tile(kernel: Kernel, plan: Schedule) -> bool:
    """Returns whether a kernel's sums of products form a register tile (`kernels/tiles.py`)."""
    products = [isinstance(o, ir.Reduce) and o.factor is not None for o in kernel.outputs]
    return len(products) > 1 and all(products) and not plan.reduces_lanes


def lanes_hint(kernel: Kernel, plan: Schedule) -> int:
    """Returns the number of vectors per iteration.

    The number depends on the sizes of axes, so it is part of the key of a kernel.
    """
    if plan.vector is None or not kernel.reduced:
        return 1
    extent = kernel.extents[plan.vector]
    if is_tile(kernel, plan):
        fitting = min(COSTS.tile_sums // len(kernel.outputs), extent // COSTS.lanes)
        at_once = min(fitting, COSTS.accumulators)
        return 1 << max(at_once.bit_length() - 1, 0)
    if body_cost(kernel) > COSTS.light_body:
        return 1
    if not plan.reduces_lanes and extent < COSTS.accumulators_above:
        return 1
    return (
        2 * COSTS.accumulators
        if extent >= COSTS.more_accumulators_above and body_cost(kernel) <= COSTS.lightest_body
        else COSTS.accumulators
    )
