"""Unroll-and-jam: each iteration of the remaining loops computes all points along a short axis.

    for i < n, for j < 2, reduce k < m                  for i < n, reduce k < m
      %0 = load p0[i*m + k]                             %0 = load p0[i*m + k]
      %1 = load p1[k*2 + j]                       ->    %1 = load p1[k*2]
      reduce add p2[i*2 + j] <- %0 * %1                 %2 = load p1[k*2 + 1]
                                                        reduce add p2[i*2] <- %0 * %1
                                                        reduce add p2[i*2 + 1] <- %0 * %2

Unroll-and-jam is also known as register tiling (Callahan, Cocke and Kennedy, "Estimating interlock
and improving balance for pipelined architectures", 1988). Statements that do not depend on the
unrolled axis are computed once, and several sums are accumulated concurrently. The compile time is
linear in the number of resulting statements.
"""

from __future__ import annotations

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Kernel, Reduce
from jitney.compiler.kernels.schedule import least_estimate, map_indices
from jitney.core.util.record import replace


def write_out_short_axes(kernel: Kernel) -> Kernel:
    """Returns `kernel` with each short parallel axis unrolled if that reduces the work.

    The order of the additions in sums does not change. Kernels without reductions are not changed,
    since their axes are coalesced where possible.
    """
    if not kernel.reduced:
        return kernel
    for axis in reversed(range(len(kernel.parallel))):
        if 2 <= kernel.extents[axis] <= COSTS.short_axis:
            written = unroll(kernel, axis)
            shares = _computed(written) < kernel.extents[axis] * _computed(kernel)
            if (
                shares
                and len(written.body) <= COSTS.kernel_statements
                and least_estimate(written) < COSTS.unrolled_share * least_estimate(kernel)
            ):
                kernel = written
    return kernel


def unroll_and_jam(kernel: Kernel) -> Kernel:
    """Returns `kernel` unrolled and jammed by four along an axis.

    Returns `kernel` itself if it is not a large reduction, or if no axis makes it cheaper. Shared
    operands are loaded once for all four points, as in a matrix product.
    """
    if not kernel.reduced or kernel.points < COSTS.jam_above:
        return kernel
    for axis in reversed(range(len(kernel.parallel))):
        if kernel.extents[axis] % COSTS.short_axis or kernel.extents[axis] == COSTS.short_axis:
            continue
        written = unroll(divided(kernel, axis, COSTS.short_axis), axis + 1)
        if (
            len(written.outputs) <= COSTS.jammed_sums
            and len(written.body) <= COSTS.kernel_statements
            and least_estimate(written) < COSTS.unrolled_share * least_estimate(kernel)
        ):
            return written
    return kernel


def divided(kernel: Kernel, axis: int, n: int) -> Kernel:
    """Returns `kernel` with the parallel axis `axis` split into two; the second has size `n`."""

    def change(index: Affine) -> Affine:
        c = index.coefficients
        two = (c[axis] * n, c[axis])
        return Affine(index.offset, (*c[:axis], *two, *c[axis + 1 :]), index.terms)

    extents = kernel.extents
    two = (extents[axis] // n, n)
    return replace(
        map_indices(kernel, change), extents=(*extents[:axis], *two, *extents[axis + 1 :])
    )


def _computed(kernel: Kernel) -> int:
    """Returns the number of statements other than constants."""
    return sum([not isinstance(s, ir.Const) for s in kernel.body])


def unroll(kernel: Kernel, axis: int) -> Kernel:
    """Returns `kernel` with its parallel axis `axis` unrolled.

    Each point of the result writes all elements along the axis. Points along the axis must write
    different elements, and read none of the elements written.
    """
    body: list[ir.Statement] = []
    known: dict[object, int] = {}
    outputs: list[ir.Store | Reduce] = []

    def add(s: ir.Statement) -> int:
        number = known.setdefault(ir.statement_key(s), len(body))
        if number == len(body):
            body.append(s)
        return number

    for at in range(kernel.extents[axis]):
        number: list[int] = []

        def moved(index: Affine, at: int = at, number: list[int] = number) -> Affine:
            c = index.coefficients
            terms = tuple([(number[t], factor) for t, factor in index.terms])
            return Affine(index.offset + at * c[axis], (*c[:axis], *c[axis + 1 :]), terms)

        for s in kernel.body:
            match s:
                case ir.Load() | ir.IndexValue():
                    s = replace(s, index=moved(s.index))
                case ir.Call():
                    s = replace(s, args=tuple([number[a] for a in s.args]))
                case _:
                    pass
            number.append(add(s))
        for o in kernel.outputs:
            o = replace(o, index=moved(o.index), value=number[o.value])
            if isinstance(o, ir.Store):
                if o.where is not None:
                    o = replace(o, where=number[o.where])
            elif o.factor is not None:
                o = replace(o, factor=number[o.factor])
            outputs.append(o)
    extents = (*kernel.extents[:axis], *kernel.extents[axis + 1 :])
    return replace(kernel, extents=extents, body=tuple(body), outputs=tuple(outputs))
