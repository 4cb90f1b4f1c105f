"""Keys that are equal for kernels with equal code."""

from __future__ import annotations

from jitney.compiler.codegen.kernel_costs import lanes_hint
from jitney.compiler.codegen.polls import has_polls
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.schedule import outermost, schedule
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


def range_of(kernel: Kernel) -> Range:
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
    body = tuple([ir.statement_key(s) for s in kernel.body])
    outputs = tuple([ir.output_key(o) for o in kernel.outputs])
    # The plan and the number of vectors can depend on the outermost size, and the order of the
    # additions in a sum depends on both.
    return (
        extents, kernel.reduced, kernel.params, body, outputs, plan, lanes_hint(kernel, plan),
        None if kernel.loop is None else _loop_key(kernel, kernel.loop),
    )  # fmt: skip


def _loop_key(kernel: Kernel, loop: ir.While) -> tuple[object, ...]:
    """Returns the part of a kernel's key for its loop; the code does not depend on `loop.trips`."""
    return (loop.carries, loop.condition, loop.next_values, has_polls(kernel))
