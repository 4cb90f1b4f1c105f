"""Analyzes which part of each buffer is accessed by a part of a kernel's outermost loop.

A kernel accesses a buffer *row by row*, with r rows, if the k-th of r equal parts of its outermost
loop accesses only the k-th of r equal parts of the buffer. Launches that access all shared buffers
row by row can be run together on one strip of rows after another (`row_strips`).
"""

from __future__ import annotations

from jitney.compiler.kernels.ir import Affine, Kernel, Load
from jitney.compiler.kernels.schedule import ordered_axes, outermost, schedule
from jitney.compiler.plan import ir
from jitney.core.util.record import record


@record(frozen=True)
class _Reach:
    """The elements that an iteration of the outermost loop accesses.

    Attributes:
      step: the offset between the elements of consecutive iterations.
      low: the position of the first element that the first iteration accesses.
      high: the position of the last element that it accesses.
      itemsize: the size of an element in bytes.
    """

    step: int
    low: int
    high: int
    itemsize: int

    def is_within(self, row: int, iterations: int) -> bool:
        """Returns whether groups of `iterations` iterations access one row of `row` bytes each.

        Consecutive groups must access consecutive rows.
        """
        if self.low < 0 or self.step * iterations * self.itemsize != row:
            return False
        return (self.high + self.step * (iterations - 1) + 1) * self.itemsize <= row


@record(frozen=True, eq=False)
class KernelRows:
    """The accesses of a kernel in an iteration of its outermost loop.

    Attributes:
      extent: the number of iterations of that loop.
      read: the parameters that are loaded from.
      written: the parameters that are stored to.
      reaches: all accesses of each parameter; None stands for data-dependent indices.
    """

    extent: int
    read: frozenset[int]
    written: frozenset[int]
    reaches: dict[int, list[_Reach | None]]


class Rows:
    """The accesses of a launch in an iteration of its outermost loop.

    Attributes:
      launch: the launch.
      extent: the number of iterations of its outermost loop.
      buffers: the buffers that it accesses, in order.
      read: the buffers that it reads.
      written: the buffers that it writes.
    """

    def __init__(self, launch: ir.Launch, kernel: KernelRows) -> None:
        self.launch = launch
        self.extent = kernel.extent
        self.buffers = dict.fromkeys(launch.buffers)
        self.read = {launch.buffers[i] for i in kernel.read}
        self.written = {launch.buffers[i] for i in kernel.written}
        self._reaches = kernel.reaches

    def is_by_row(self, buffer: ir.Buffer, rows: int, nbytes: int | None = None) -> bool:
        """Returns whether `rows` equal parts of the outermost loop access equal parts of `buffer`.

        Args:
          buffer: any buffer; the result is False if the launch does not access it.
          rows: the number of parts, a divisor of the number of iterations.
          nbytes: the size in bytes of all rows of the buffer, if it differs from the buffer's own
            size.
        """
        iterations = self.extent // rows
        row, remainder = divmod(buffer.nbytes if nbytes is None else nbytes, rows)
        if remainder or buffer not in self.buffers:
            return False
        return all(
            reach is not None and reach.is_within(row, iterations)
            for param, reaches in self._reaches.items()
            if self.launch.buffers[param] is buffer
            for reach in reaches
        )


def rows_of(launch: ir.Launch, known: dict[int, KernelRows | None] | None = None) -> Rows | None:
    """Returns the accesses of `launch` by row, or None if its outermost loop cannot be divided.

    Args:
      launch: any launch.
      known: a cache for kernels that several launches share, keyed by `id`.
    """
    key = id(launch.kernel)
    if known is None or key not in known:
        known = {} if known is None else known
        known[key] = _kernel_rows(launch.kernel)
    kernel = known[key]
    return None if kernel is None else Rows(launch, kernel)


def _kernel_rows(kernel: Kernel) -> KernelRows | None:
    if kernel.loop is not None or ordered_axes(kernel):
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
