"""Which part of each buffer a part of a kernel's outermost loop touches.

A kernel touches a buffer *row by row*, of r rows, if r equal parts of its outermost loop touch r equal
parts of the buffer, each its own. Launches that touch row by row what they share can all be run on some
rows, then on others (`row_strips`).
"""

from __future__ import annotations

from jitney.compiler.kernels.ir import Affine, Kernel, Load
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


class Rows:
    """What a launch touches in each iteration of its outermost loop.

    Attributes:
      launch: which.
      extent: iterations of its outermost loop.
      read, written: its buffers.
    """

    def __init__(self, launch: ir.Launch, kernel: Kernel, axis: int) -> None:
        self.launch = launch
        self.extent = kernel.extents[axis]
        self.read: set[ir.Buffer] = set()
        self.written: set[ir.Buffer] = set()
        self._reaches: dict[ir.Buffer, list[_Reach | None]] = {}  # None: places depend on values
        for s in kernel.body:
            if isinstance(s, Load):
                self.read.add(self._note(kernel, axis, s.param, s.index))
        for o in kernel.outputs:
            self.written.add(self._note(kernel, axis, o.param, o.index))
        self.buffers = dict.fromkeys(launch.buffers)

    def _note(self, kernel: Kernel, axis: int, param: int, index: Affine) -> ir.Buffer:
        buffer = self.launch.buffers[param]
        found = self._reaches.setdefault(buffer, [])
        if index.terms:
            found.append(None)
            return buffer
        low = high = index.offset
        for k, (c, n) in enumerate(zip(index.coefficients, kernel.extents, strict=True)):
            if k != axis:
                low, high = low + min(c * (n - 1), 0), high + max(c * (n - 1), 0)
        itemsize = kernel.params[param].itemsize
        found.append(_Reach(index.coefficients[axis], low, high, itemsize))
        return buffer

    def is_by_row(self, buffer: ir.Buffer, rows: int, nbytes: int | None = None) -> bool:
        """Whether `rows` equal parts of the outermost loop touch `rows` equal parts of `buffer`.

        Args:
          buffer: any; of one that the launch does not touch it is not true.
          rows: a divisor of the loop's extent.
          nbytes: of all rows of the buffer, if it is not the buffer's own size.
        """
        turns = self.extent // rows
        nbytes = buffer.nbytes if nbytes is None else nbytes
        reaches = self._reaches.get(buffer)
        if not reaches or nbytes % rows:
            return False
        for r in reaches:
            if r is None:
                return False
            row, rest = divmod(nbytes // rows, r.itemsize)
            last = r.high + r.step * (turns - 1)
            if rest or r.step * turns != row or r.low < 0 or last >= row:
                return False
        return True


def rows_of(launch: ir.Launch) -> Rows | None:
    """What `launch` touches row by row; None if its outermost loop cannot be run in parts."""
    kernel = launch.kernel
    if not isinstance(kernel, Kernel) or ordered_axes(kernel):
        return None
    axis = outermost(schedule(kernel))
    return None if axis is None else Rows(launch, kernel, axis)
