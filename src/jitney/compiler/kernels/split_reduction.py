"""Parallel reductions in two stages: kernels for partial results, then for their reduction.

The first stage is divided among threads. Large reductions with few results are split
(`split_fold`), and so are sums over the rows of arrays that are computed strip by strip (`split`,
for `plan/row_strips.py`). The partition does not depend on the number of threads, and therefore
neither does the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.build import row_major
from jitney.compiler.kernels.ir import Affine, Kernel, Load, Reduce
from jitney.compiler.kernels.schedule import map_indices
from jitney.core.util.record import record, replace


@record(eq=False)
class Split:
    """A reduction in two stages.

    Attributes:
      inputs: the parameters that the reduction loads from, which are the first ones of `parts`.
      parts: the kernels that compute partial results, in the dtype of the accumulator. The partial
        results of each output are written to a separate buffer, which follows the inputs.
      count: the number of partial results of each output.
      last: for each output, the kernel that reduces the partial results in its first buffer to the
        result in its second buffer.
    """

    inputs: list[int]
    parts: list[Kernel]
    count: int
    last: list[Kernel]


def split_fold(kernel: Kernel) -> Split | None:
    """Returns a collapsed kernel split along its first reduced axis, if that pays off."""
    axis = len(kernel.extents) - kernel.reduced
    if not kernel.reduced or kernel.in_order or kernel.points < COSTS.split_above:
        return None
    kept, n = math.prod(kernel.parallel), kernel.extents[axis]
    row = kept * math.prod(kernel.extents[axis + 1 :])
    length = max(COSTS.split_points // row, -(-COSTS.split_least * kept // row), 1)
    if kept * len(kernel.outputs) > COSTS.split_results or n // length < 2:
        return None
    return split(kernel, length)


def split(kernel: Kernel, length: int) -> Split:
    """Returns `kernel` split along its first reduced axis into parts of `length` and a rest."""
    axis = len(kernel.extents) - kernel.reduced
    kept = math.prod(kernel.parallel)
    parts, remainder = divmod(kernel.extents[axis], length)
    strides = row_major(kernel.parallel)
    written = {o.param for o in kernel.outputs}
    inputs = [i for i in range(len(kernel.params)) if i not in written]
    params = [kernel.params[i] for i in inputs] + [
        kernel.body[o.value].dtype for o in kernel.outputs
    ]

    def part(change: Callable[[Affine], Affine], extents: tuple[int, ...], at: Affine) -> Kernel:
        moved = map_indices(kernel, change)
        body = [
            replace(s, param=inputs.index(s.param)) if isinstance(s, Load) else s
            for s in moved.body
        ]
        outputs = [
            replace(o, param=j, index=at) for j, o in enumerate(moved.outputs, start=len(inputs))
        ]
        return Kernel(extents, kernel.reduced, tuple(params), tuple(body), tuple(outputs))

    def divided(index: Affine) -> Affine:
        c = index.coefficients
        return Affine(index.offset, (c[axis] * length, *c), index.terms)

    def tail(index: Affine) -> Affine:
        c = index.coefficients
        return Affine(index.offset + c[axis] * parts * length, c, index.terms)

    reduced = (0,) * kernel.reduced
    inner = (length, *kernel.extents[axis + 1 :])
    kernels = [
        part(divided, (parts, *kernel.parallel, *inner), Affine(0, (kept, *strides, *reduced))),
    ]
    if remainder:
        extents = (*kernel.parallel, remainder, *kernel.extents[axis + 1 :])
        kernels.append(part(tail, extents, Affine(kept * parts, (*strides, *reduced))))
    count = parts + bool(remainder)
    outputs = cast("tuple[Reduce, ...]", kernel.outputs)
    last = [_last(kernel, o, count) for o in outputs]
    return Split(inputs, kernels, count * kept, last)


def _last(kernel: Kernel, o: Reduce, count: int) -> Kernel:
    """Returns the kernel that reduces `count` partial results of output `o` of `kernel`."""
    dtype = kernel.body[o.value].dtype
    kept = len(kernel.parallel)
    at = Affine(0, (*row_major(kernel.parallel), math.prod(kernel.parallel)))
    to = Affine(o.index.offset, (*o.index.coefficients[:kept], 0), o.index.terms)
    return Kernel(
        (*kernel.parallel, count),
        1,
        (dtype, kernel.params[o.param]),
        (Load(0, at, dtype),),
        (Reduce(1, to, o.fn, 0, node=o.node),),
    )
