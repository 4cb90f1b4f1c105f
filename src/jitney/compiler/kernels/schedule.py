"""Schedules the loops of kernels: coalesces axes, and chooses the vector axis and the loop order.

The transformations are loop coalescing (Polychronopoulos 1987), loop interchange, and outer-loop
vectorization (Nuzman and Zaks 2008). The cost is estimated with each possible vector axis, and the
cheapest schedule is chosen. Schedules affect only the speed of a kernel, not its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.block_transposition import BlockTransposition, find_block_transposition
from jitney.compiler.kernels.ir import Affine, Kernel
from jitney.core.settings import caches
from jitney.core.util.record import record, replace


def map_indices(kernel: Kernel, change: Callable[[Affine], Affine]) -> Kernel:
    """Returns `kernel` with `change` applied to every index."""
    body = tuple(
        [
            replace(s, index=change(s.index)) if isinstance(s, ir.Load | ir.IndexValue) else s
            for s in kernel.body
        ]
    )
    outputs = tuple([replace(o, index=change(o.index)) for o in kernel.outputs])
    loop = kernel.loop
    if loop is not None:
        carries = tuple([replace(c, index=change(c.index)) for c in loop.carries])
        loop = replace(loop, carries=carries)
    return replace(kernel, body=body, outputs=outputs, loop=loop)


def indices(kernel: Kernel) -> list[Affine]:
    """Returns all indices of a kernel."""
    accesses = [s.index for s in kernel.body if isinstance(s, ir.Load | ir.IndexValue)]
    accesses += [o.index for o in kernel.outputs]
    return accesses if kernel.loop is None else accesses + [c.index for c in kernel.loop.carries]


def collapse(kernel: Kernel) -> Kernel:
    """Returns `kernel` with adjacent axes coalesced where all indices allow it.

    Axes of size 1 are removed.
    """
    if 0 in kernel.extents:
        return kernel
    first_reduced = len(kernel.extents) - kernel.reduced
    used = indices(kernel)
    groups: list[list[int]] = []
    for k, n in enumerate(kernel.extents):
        if n == 1:
            continue
        previous = groups[-1] if groups else None
        if previous is not None and (previous[-1] < first_reduced) == (k < first_reduced):
            last = previous[-1]
            if all(i.coefficients[last] == i.coefficients[k] * n for i in used):
                previous.append(k)
                continue
        groups.append([k])
    extents: list[int] = []
    for axes in groups:
        extent = 1
        for k in axes:
            extent *= kernel.extents[k]
        extents.append(extent)
    reduced = sum(1 for axes in groups if axes[0] >= first_reduced)

    def change(index: Affine) -> Affine:
        coefficients = tuple([index.coefficients[axes[-1]] for axes in groups])
        return Affine(index.offset, coefficients, index.terms)

    joined = map_indices(kernel, change)
    return replace(joined, extents=tuple(extents), reduced=reduced)


@record(frozen=True)
class Schedule:
    """An order of loops, with one of the axes vectorized.

    Attributes:
      outer: the parallel axes of the outer scalar loops, outermost first.
      vector: the vectorized axis, whose points are lanes; None for a domain without axes.
      inner: the reduced axes of the scalar loops inside the vector loop, outermost first.
      reduces_lanes: whether the vectorized axis is reduced.
      strip: the length of a strip of the reduced axis, which all vectors of lanes process before
        the next strip begins; 0 if each vector of lanes reduces the complete axis.
      transposition: the loads that read transposed blocks; their axis is the last one of `outer`.
    """

    outer: tuple[int, ...]
    vector: int | None
    inner: tuple[int, ...]
    reduces_lanes: bool
    strip: int = 0
    transposition: BlockTransposition | None = None


@caches.memoized("schedules of kernels", "the kernel", 64)  # each one is requested several times
def schedule(kernel: Kernel) -> Schedule:
    """Returns the schedule of the collapsed kernel `kernel`."""
    axes = range(len(kernel.extents))
    if not axes:
        return Schedule((), None, (), False)
    ordered = ordered_axes(kernel)
    kept = len(axes) - kernel.reduced
    free = [k for k in axes if not ordered or _is_spread(kernel, k, ordered)]
    if kernel.in_order:
        free = [k for k in free if k < kept]
    if not free:
        return Schedule(tuple(axes[:kept]), None, tuple(axes[kept:]), False)
    vector = free[0]
    if len(free) > 1:
        vector = min(reversed(free), key=lambda k: estimate(kernel, k))
    transposed = _with_transposed_blocks(kernel, vector, free) if not ordered else None
    if transposed is not None:
        return transposed
    plan = _order(kernel, vector)
    return replace(plan, strip=COSTS.reduced_strip) if _reduces_columns(kernel, plan) else plan


def _with_transposed_blocks(kernel: Kernel, vector: int, free: Sequence[int]) -> Schedule | None:
    """Returns the cheapest schedule with transposed blocks, if it beats lanes along `vector`."""
    if kernel.reduced or len(kernel.extents) < 2:
        return None
    accesses = [s.index for s in kernel.body if isinstance(s, ir.Load)]
    accesses += [o.index for o in kernel.outputs]
    if all(abs(index.coefficients[vector]) <= COSTS.picked_stride for index in accesses):
        return None
    least = estimate(kernel, vector)
    best: Schedule | None = None
    for lanes in free:
        for axis in range(len(kernel.extents)):
            transposition = None if axis == lanes else find_block_transposition(kernel, lanes, axis)
            cost = least if transposition is None else estimate(kernel, lanes, transposition)
            if transposition is not None and cost < least:
                plan = _order(kernel, lanes)
                others = tuple([k for k in plan.outer if k != axis])
                least = cost
                best = replace(plan, outer=(*others, axis), transposition=transposition)
    return best


def _reduces_columns(kernel: Kernel, plan: Schedule) -> bool:
    """Returns whether lanes reduce columns of large matrices, using little of each long row.

    It is then faster to reduce strips of rows in all lanes, so that memory is read along rows.
    Between strips the partial results are kept in the outputs, which must therefore have the dtype
    of the accumulators. The order of the additions in each sum does not change.
    """
    vector = plan.vector
    if kernel.reduced != 1 or plan.reduces_lanes or vector is None:
        return False
    written = {o.param for o in kernel.outputs}
    for o in kernel.outputs:
        dtype = kernel.params[o.param]
        held = kernel.body[o.value].dtype == dtype and dtype.kind != "b"
        if not held or o.index.coefficients[vector] != 1 or o.index.terms:
            return False
    loads = [s for s in kernel.body if isinstance(s, ir.Load)]
    if kernel.extents[vector] < COSTS.column_lanes or any(s.param in written for s in loads):
        return False
    for s in loads:
        row = s.index.coefficients[-1] * s.dtype.itemsize
        along = s.index.coefficients[vector] == 1 and not s.index.terms
        if along and row >= COSTS.column_row and row * kernel.extents[-1] >= COSTS.column_bytes:
            return True
    return False


def loop_order(plan: Schedule) -> tuple[int, ...]:
    """Returns the axes in the order of their loops, outermost first."""
    lanes = () if plan.vector is None else (plan.vector,)
    if plan.reduces_lanes:
        return (*plan.outer, *plan.inner, *lanes)
    return (*plan.outer, *lanes, *plan.inner)


def outermost(plan: Schedule) -> int | None:
    """Returns the axis of the outermost loop, the range of which is divided among threads."""
    if plan.outer:
        return plan.outer[0]
    return plan.vector if not plan.reduces_lanes else None


def outer_extent(kernel: Kernel) -> int:
    """Returns the number of iterations of the outermost loop; 1 if there is none."""
    axis = outermost(schedule(kernel))
    return 1 if axis is None else kernel.extents[axis]


def ordered_axes(kernel: Kernel) -> set[int]:
    """Returns the axes along which points may write to the same element, and have to run in order.

    These are the axes along which the addresses of stores depend on values or do not change.
    """
    if kernel.loop is not None:
        return set()  # lanes are independent of each other
    stores = [o for o in kernel.outputs if isinstance(o, ir.Store)]
    still = {
        k
        for o in stores
        for k, n in enumerate(kernel.extents)
        if n > 1 and not o.index.coefficients[k]
    }
    if not any(o.index.terms for o in stores):
        return still
    along: list[set[int]] = []

    def of(index: Affine) -> set[int]:
        axes = {k for k, c in enumerate(index.coefficients) if c}
        return axes.union(*[along[t] for t, _ in index.terms])

    for s in kernel.body:
        match s:
            case ir.Load() | ir.IndexValue():
                along.append(of(s.index))
            case ir.Call():
                along.append(set[int]().union(*[along[a] for a in s.args]))
            case _:
                along.append(set())
    return still.union(*[along[t] for o in stores for t, _ in o.index.terms])


def is_independent(kernel: Kernel, axis: int) -> bool:
    """Returns whether points that differ along `axis` access different elements of the outputs.

    This is true of axes that are not ordered, and of an ordered axis if all other contributions to
    an address are smaller than one step along the axis. An example is the batch axis of scatters,
    since positions are clamped.
    """
    if axis not in ordered_axes(kernel):
        return True
    places = {o.param: o.index for o in kernel.outputs}
    loads = [s for s in kernel.body if isinstance(s, ir.Load) and s.param in places]
    return (
        all(isinstance(o, ir.Store) for o in kernel.outputs)
        and len(places) == len(kernel.outputs)
        and all(s.index == places[s.param] for s in loads)
        and all(_is_separated(kernel, index, axis) for index in places.values())
    )


def _is_separated(kernel: Kernel, index: Affine, axis: int) -> bool:
    """Returns whether a step along `axis` exceeds the sum of all other parts of an address."""
    most = 0
    for k, (coefficient, extent) in enumerate(zip(index.coefficients, kernel.extents, strict=True)):
        most += abs(coefficient) * (extent - 1) if k != axis else 0
    for statement, factor in index.terms:
        bound = _greatest(kernel, statement)
        if bound is None:
            return False
        most += abs(factor) * bound
    return most < abs(index.coefficients[axis])


def _greatest(kernel: Kernel, statement: int) -> int | None:
    """Returns the upper bound of a position that is clamped to [0, bound], else None."""
    s = kernel.body[statement]
    if not isinstance(s, ir.Call):
        return None
    if s.fn == "convert" and s.dtype == np.int64:
        return _greatest(kernel, s.args[0])
    if s.fn != "min":
        return None
    x, limit = (kernel.body[a] for a in s.args)
    is_low = x.dtype.kind == "u" or (
        isinstance(x, ir.Call) and x.fn == "max" and _is_zero(kernel.body[x.args[1]])
    )
    return int(limit.value) if is_low and isinstance(limit, ir.Const) else None


def _is_zero(s: ir.Statement) -> bool:
    return isinstance(s, ir.Const) and s.value == 0


def _is_spread(kernel: Kernel, axis: int, ordered: set[int]) -> bool:
    """Returns whether points along `axis` write to different elements regardless of any values."""
    return axis not in ordered and all(o.index.coefficients[axis] for o in kernel.outputs)


def _order(kernel: Kernel, vector: int) -> Schedule:
    """Returns the schedule with lanes along `vector`."""
    rank = len(kernel.extents)
    kept = tuple(range(rank - kernel.reduced))
    reduced = tuple(range(rank - kernel.reduced, rank))
    outer = tuple([k for k in kept if k != vector])
    inner = tuple([k for k in reduced if k != vector])
    return Schedule(outer, vector, inner, vector in reduced)


def least_estimate(kernel: Kernel) -> float:
    """Returns the estimated cost of a kernel in vector additions; infinite if it has no lanes."""
    vector = schedule(kernel).vector
    return float("inf") if vector is None else estimate(kernel, vector)


def estimate(kernel: Kernel, vector: int, transposition: BlockTransposition | None = None) -> float:
    """Returns the estimated cost of all loops with lanes along axis `vector`, in vector additions.

    Each statement runs once per iteration of the loops on which it depends. Contiguous lanes are
    loaded by a single instruction, lanes with a small stride are extracted from vectors by
    shuffles, the loads of `transposition` read transposed blocks, and all other lanes are loaded
    one by one.
    """
    plan = _order(kernel, vector)
    order = (
        (*plan.outer, *plan.inner, vector)
        if plan.reduces_lanes
        else (*plan.outer, vector, *plan.inner)
    )
    lanes = _lanes_used(kernel.extents[vector])
    runs = [1]
    for axis in order:
        n = kernel.extents[axis]
        runs.append(runs[-1] * (-(-n // lanes) if axis == vector else n))

    rows = _offsets_by_row(kernel)
    places = {} if transposition is None else transposition.places()

    def one(s: ir.Load | ir.Store | ir.Reduce, each: float) -> float:
        if isinstance(s, ir.Load) and (s.param, s.index) in places:
            return COSTS.transposed_vector
        stride = abs(s.index.coefficients[vector])
        if stride == s.index.coefficients[vector] and stride <= 1:
            return 1.0
        if stride > COSTS.picked_stride:
            return each * lanes
        # If loads share all vectors, each costs one vector and one shuffle; otherwise each costs
        # all vectors that its elements span.
        near = sum(abs(offset - s.index.offset) < stride for offset in rows[_row_of(s)])
        return 2.0 if near == stride else float(stride + 1)

    total = COSTS.iteration * sum(runs[1:])
    depths = _depths(kernel, order)
    for s, depth in zip(kernel.body, depths, strict=True):
        if isinstance(s, ir.Load):
            total += runs[depth] * one(s, COSTS.gathered_lane)
        elif isinstance(s, ir.IndexValue):
            total += runs[depth]
        elif isinstance(s, ir.Call):
            total += runs[depth] * COSTS.function(s.fn)
    folds_at = len(plan.outer) + (not plan.reduces_lanes)
    for o in kernel.outputs:
        if isinstance(o, ir.Reduce) and o.factor is not None:
            total += runs[max(depths[o.value], depths[o.factor])] * COSTS.function("mul")
        if isinstance(o, ir.Store):
            total += runs[-1] * one(o, COSTS.scattered_lane)
        elif plan.reduces_lanes:
            total += runs[-1] + runs[folds_at] * (1 + COSTS.halving * (lanes.bit_length() - 1))
        else:
            total += runs[-1] + runs[folds_at] * one(o, COSTS.scattered_lane)
    return total


def _lanes_used(extent: int) -> int:
    """Returns the lanes used along an axis: those of the longest vector that is over half full."""
    lanes = COSTS.lanes
    while lanes > 1 and lanes >= 2 * extent:
        lanes //= 2
    return lanes


def _depths(kernel: Kernel, order: Sequence[int]) -> list[int]:
    """Returns, for each statement of the body, the number of loops that contain it.

    Args:
      kernel: the kernel.
      order: the axes of the loops, outermost first.
    """
    place = {axis: depth for depth, axis in enumerate(order, start=1)}
    depths: list[int] = []
    for s in kernel.body:
        match s:
            case ir.Load() | ir.IndexValue():
                used = [place[k] for k, c in enumerate(s.index.coefficients) if c]
                depth = max([*used, *[depths[t] for t, _ in s.index.terms]], default=0)
            case ir.Call():
                depth = max([depths[a] for a in s.args], default=0)
            case ir.Const():
                depth = 0
            case ir.Carried():
                depth = len(order)
        depths.append(depth)
    return depths


def _offsets_by_row(kernel: Kernel) -> dict[tuple[object, ...], list[int]]:
    """Groups the offsets of loads, and those of stores, whose addresses differ by a constant."""
    rows: dict[tuple[object, ...], list[int]] = {}
    for s in (*kernel.body, *kernel.outputs):
        if isinstance(s, ir.Load | ir.Store | ir.Reduce):
            rows.setdefault(_row_of(s), []).append(s.index.offset)
    return rows


def _row_of(s: ir.Load | ir.Store | ir.Reduce) -> tuple[object, ...]:
    """Returns a key that is equal for loads, or stores, whose addresses differ by a constant."""
    return (isinstance(s, ir.Load), s.param, s.index.coefficients, s.index.terms)
