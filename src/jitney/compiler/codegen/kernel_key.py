"""Keys that are equal for kernels with equal code, and the vector widths and costs of kernels."""

from __future__ import annotations

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.loop_kernel import LoopCarried, LoopKernel, LoopStatement
from jitney.compiler.kernels.schedule import Schedule, outermost, schedule
from jitney.core.util.record import record


@record(frozen=True)
class Range:
    """What the code of a kernel assumes about the range of a vectorized outermost loop.

    Attributes:
      multiple: a divisor of begin and end; a power of two, at most `COSTS.lane_chunk`.
      is_short: whether the trip count is too small for vectors.
    """

    multiple: int = 1
    is_short: bool = False


ANY_RANGE = Range()


def range_of(kernel: Kernel | LoopKernel) -> Range:
    """Returns what is known about the range if all of `kernel` is run, as a whole or in chunks."""
    plan = schedule(kernel)
    axis = outermost(plan)
    if axis is None or axis != plan.vector:
        return ANY_RANGE
    extent = kernel.extents[axis]
    divisor = min(extent & -extent, COSTS.lane_chunk)
    # Each `Range` has separate code. There are few, so that most sizes share code.
    shortest = COSTS.shortest_vector
    return Range(divisor if divisor >= shortest else 1, 0 < extent < shortest)


def content_key(kernel: Kernel) -> tuple[object, ...]:
    """Returns a key that is equal for kernels with equal code.

    The size of the outermost axis is not part of it, since it is a parameter of the code.
    """
    plan = schedule(kernel)
    outer = outermost(plan)
    extents = tuple([-1 if k == outer else n for k, n in enumerate(kernel.extents)])
    body = tuple([statement_key(s) for s in kernel.body])
    outputs = tuple([ir.output_key(o) for o in kernel.outputs])
    # The plan and the number of vectors can depend on the outermost size, and the order of the
    # additions in a sum depends on both.
    return (extents, kernel.reduced, kernel.params, body, outputs, plan, lanes_hint(kernel, plan))


def statement_key(s: LoopStatement) -> tuple[object, ...]:
    """Returns a key that is equal for statements with equal code."""
    if isinstance(s, LoopCarried):
        return ("carried", s.index, s.dtype, s.varies)
    return ir.statement_key(s)


def body_cost(kernel: Kernel | LoopKernel) -> int:
    """Returns the cost of one point of the iteration domain."""
    products = [isinstance(o, ir.Reduce) and o.factor is not None for o in kernel.outputs]
    total = len(kernel.outputs) + sum(products) * COSTS.function("mul")
    for s in kernel.body:
        total += COSTS.function(s.fn) if isinstance(s, ir.Call) else 1
    return total


def is_tile(kernel: Kernel | LoopKernel, plan: Schedule) -> bool:
    """Returns whether a kernel's sums of products form a register tile (`kernels/tiles.py`)."""
    products = [isinstance(o, ir.Reduce) and o.factor is not None for o in kernel.outputs]
    return len(products) > 1 and all(products) and not plan.reduces_lanes


def lanes_hint(kernel: Kernel | LoopKernel, plan: Schedule) -> int:
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
