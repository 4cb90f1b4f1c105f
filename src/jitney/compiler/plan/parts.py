"""Launches of split reductions: those that compute partial results and those that combine them."""

from __future__ import annotations

import math

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.split_reduction import Split, split
from jitney.compiler.plan import ir
from jitney.core.util.record import replace


def launches(launch: ir.Launch, division: Split) -> tuple[list[ir.Launch], list[ir.Launch]]:
    """Returns launches that compute partial results of `launch`, and launches that combine them."""
    kernel, buffers = launch.kernel, launch.buffers
    partial = [
        ir.Buffer("arena", division.count * kernel.body[o.value].dtype.itemsize)
        for o in kernel.outputs
    ]
    between = (*[buffers[i] for i in division.inputs], *partial)
    parts = [replace(launch, kernel=part, buffers=between) for part in division.parts]
    ends = zip(kernel.outputs, division.last, partial, strict=True)
    return parts, [
        replace(launch, kernel=last, buffers=(mine, buffers[o.param])) for o, last, mine in ends
    ]


def by_rows(
    launch: ir.Launch, strips: int, nbytes: int
) -> tuple[ir.Launch, list[ir.Launch]] | None:
    """Splits a sum over rows into partial sums over a few rows each, and launches that add them up.

    Returns None if `launch` is not a sum over rows.

    Args:
      launch: any launch.
      strips: the maximum number of strips; each strip contains complete partial sums.
      nbytes: the bytes that all strips together access; a strip must have room for the rows of a
        partial sum.
    """
    kernel = launch.kernel
    if not kernel.reduced or kernel.in_order:
        return None
    rows = kernel.extents[len(kernel.parallel)]
    fitting = COSTS.strip_bytes * rows // (2 * nbytes)  # half a strip: the chain can grow
    most = min(fitting, COSTS.summed_rows_most, rows // 2)
    lengths = [
        n
        for n in range(COSTS.summed_rows, most + 1)
        if rows % n == 0 and math.gcd(strips, rows // n) >= COSTS.strip_rows
    ]
    if not lengths or math.prod(kernel.parallel) == 1:
        return None
    (part,), last = launches(launch, split(kernel, lengths[-1]))
    return part, last
