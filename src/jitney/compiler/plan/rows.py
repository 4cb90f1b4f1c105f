"""Which part of each buffer a part of a kernel's outermost loop touches.

A kernel touches a buffer *row by row*, of r rows, if r equal parts of its outermost loop touch r equal
parts of the buffer, each its own. Launches that touch row by row what they share can all be run on some
rows, then on others (`row_strips`).
"""

from __future__ import annotations

from jitney.compiler.kernels.ir import Affine, Kernel, Load
from jitney.compiler.kernels.loop_kernel import LoopKernel
from jitney.compiler.kernels.schedule import ordered_axes, outermost, schedule
from jitney.compiler.plan import ir
from jitney.core.record import record


@record(frozen=True)
class _Reach:
    """Elements that an iteration of the outermost loop touches.

    Attributes:
      step: how much further on each iteration's are.
      low: the first of them, in the first iteration.
      high: the last.
      itemsize: bytes of each.
    """

    step: int
    low: int
    high: int
    itemsize: int

    def is_within(self, row: int, turns: int) -> bool:
        """Whether `turns` iterations touch one row, of `row` bytes, and the next ones the next row."""
        if self.low < 0 or self.step * turns * self.itemsize != row:
            return False
        return (self.high + self.step * (turns - 1) + 1) * self.itemsize <= row


@record(frozen=True, eq=False)
class KernelRows:
    """What a kernel touches in each iteration of its outermost loop.

    Attributes:
      size: iterations of that loop.
      read: params that are loaded from.
      written: params that are written.
      reaches: of each param, all that is touched; None stands for places that depend on values.
    """

    extent: int
    read: frozenset[int]
    written: frozenset[int]
    reaches: dict[int, list[_Reach | None]]


class Rows:
    """What a launch touches in each iteration of its outermost loop.

    Attributes:
      launch: which.
      size: iterations of its outermost loop.
      buffers: what it touches, in order.
      read: those of them that it reads.
      written: those that it writes.
    """

    def __init__(self, launch: ir.Launch, kernel: KernelRows) -> None:
        self.launch = launch
        self.extent = kernel.extent
        self.buffers = dict.fromkeys(launch.buffers)
        self.read = {launch.buffers[i] for i in kernel.read}
        self.written = {launch.buffers[i] for i in kernel.written}
        self._reaches = kernel.reaches

    def is_by_row(self, buffer: ir.Buffer, rows: int, nbytes: int | None = None) -> bool:
        """Whether `rows` equal parts of the outermost loop touch `rows` equal parts of `buffer`.

        Args:
          buffer: any; of one that the launch does not touch it is not true.
          rows: a divisor of the loop's size.
          nbytes: of all rows of the buffer, if it is not the buffer's own size.
        """
        turns = self.extent // rows
        row, remainder = divmod(buffer.nbytes if nbytes is None else nbytes, rows)
        if remainder or buffer not in self.buffers:
            return False
        return all(
            reach is not None and reach.is_within(row, turns)
            for param, reaches in self._reaches.items()
            if self.launch.buffers[param] is buffer
            for reach in reaches
        )


def rows_of(launch: ir.Launch, known: dict[int, KernelRows | None] | None = None) -> Rows | None:
    """Returns what `launch` touches row by row; None if its outermost loop cannot be run in parts.

    Args:
      launch: any.
      known: what is known of kernels that launches share, by id, and noted.
    """
    key = id(launch.kernel)
    if known is None or key not in known:
        known = {} if known is None else known
        known[key] = _kernel_rows(launch.kernel)
    kernel = known[key]
    return None if kernel is None else Rows(launch, kernel)


def _kernel_rows(kernel: Kernel | LoopKernel) -> KernelRows | None:
    if not isinstance(kernel, Kernel) or ordered_axes(kernel):
        return None
    axis = outermost(schedule(kernel))
    if axis is None:
        return None
    loads = [(s.param, s.index) for s in kernel.body if isinstance(s, Load)]
    outputs = [(o.param, o.index) for o in kernel.outputs]
    reaches: dict[int, list[_Reach | None]] = {}
    for param, index in dict.fromkeys([*loads, *outputs]):
        reach = _reach(kernel, axis, index, kernel.params[param].itemsize)
        reaches.setdefault(param, []).append(reach)
    read, written = (frozenset([param for param, _ in part]) for part in (loads, outputs))
    return KernelRows(kernel.extents[axis], read, written, reaches)


def _reach(kernel: Kernel, axis: int, index: Affine, itemsize: int) -> _Reach | None:
    if index.terms:
        return None
    low, high = index.bounds([1 if k == axis else n for k, n in enumerate(kernel.extents)])
    return _Reach(index.coefficients[axis], low, high, itemsize)
