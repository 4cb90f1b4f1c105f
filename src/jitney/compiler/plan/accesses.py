"""Memory accesses of a step: the buffers, and the byte ranges in them, that it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir as kernels
from jitney.compiler.plan import ir
from jitney.core.util.record import record


def reads_and_writes(step: ir.Step) -> tuple[list[ir.Buffer], list[ir.Buffer]]:
    """Returns the buffers that `step` itself reads, and those that it writes."""
    match step:
        case ir.Launch():
            kernel = step.kernel
            reads = {s.param for s in kernel.body if isinstance(s, kernels.Load)}
            writes = {o.param for o in kernel.outputs}
            if kernel.loop is not None:
                reads |= {c.start for c in kernel.loop.carries}
                writes |= {c.finish for c in kernel.loop.carries}
            return [step.buffers[i] for i in sorted(reads)], [
                step.buffers[i] for i in sorted(writes)
            ]
        case ir.Gemm():
            return [step.x, step.y, *([step.out] if step.adds else [])], [step.out]
        case ir.RowStrips():
            return _reads_and_writes_in_strips(step)
        case ir.LibraryCall():
            return [*step.beside[:1], *step.args], [*step.beside[1:], *step.results]
        case ir.Collective():
            return list(step.args), [step.result]
        case ir.HostCall():
            return [b for b, _ in step.args], [b for b, _ in step.results]
        case ir.Wait():
            return reads_and_writes(step.call)
        case ir.Copy():
            return [step.source], [step.to]
        case ir.SwapBuffers():
            return [step.after], [step.carry, step.after]
        case _:
            return [], []


def _reads_and_writes_in_strips(step: ir.RowStrips) -> tuple[list[ir.Buffer], list[ir.Buffer]]:
    reads: list[ir.Buffer] = []
    writes: list[ir.Buffer] = []
    for launch in step.launches:
        read, written = reads_and_writes(launch)
        reads += [b for b in read if b not in writes and b.place != "strip"]
        writes += [b for b in written if b.place != "strip"]
    return reads, writes


@record(frozen=True, eq=False)
class Access:
    """A read or a write of a byte range of a buffer by a step.

    Attributes:
      buffer: the buffer.
      writes: whether it is a write.
      start: the offset of the first byte.
      end: the offset after the last byte.
      moved: an upper bound of the bytes transferred from or to memory, in whole cache lines.
    """

    buffer: ir.Buffer
    writes: bool
    start: int
    end: int
    moved: int

    def conflicts(self, other: Access) -> bool:
        """Returns whether two accesses of the same buffer must stay in order.

        This is the case if they overlap and at least one of them is a write.
        """
        return (self.writes or other.writes) and self.start < other.end and other.start < self.end


def accesses(step: ir.Step) -> Iterator[Access]:
    """Yields the accesses of a step and of nested steps."""
    if isinstance(step, ir.Launch) and step.kernel.loop is None:
        yield from _accesses_of_launch(step, step.kernel)
        return
    blocks = ir.inner(step)
    if not blocks:
        reads, writes = reads_and_writes(step)
        for some, is_write in ((reads, False), (writes, True)):
            for buffer in some:
                yield _whole(buffer, is_write)
        return
    for buffer in ir.touched(step):
        yield _whole(buffer, True)
    for block in blocks:
        for inner in block:
            yield from accesses(inner)


def _whole(buffer: ir.Buffer, is_write: bool) -> Access:
    return Access(buffer, is_write, 0, buffer.nbytes, buffer.nbytes)


def _accesses_of_launch(step: ir.Launch, kernel: kernels.Kernel) -> Iterator[Access]:
    loads = [s for s in kernel.body if isinstance(s, kernels.Load)]
    for some, is_write in ((loads, False), (kernel.outputs, True)):
        for place in some:
            size = kernel.params[place.param].itemsize
            yield _access(step.buffers[place.param], is_write, place.index, kernel.extents, size)


def _access(
    buffer: ir.Buffer, is_write: bool, index: kernels.Affine, extents: Sequence[int], size: int
) -> Access:
    """Returns the range that a kernel accesses at an index.

    It is the whole buffer if the index depends on values.
    """
    elements, stride = 1, COSTS.line_bytes
    for c, n in zip(index.coefficients, extents, strict=True):
        if n > 1 and (c or index.terms):
            elements *= n
            stride = min(stride, abs(c) * size) if c else stride
    if index.terms:
        start, end = 0, buffer.nbytes
    else:
        low, high = index.bounds(extents)
        start, end = low * size, (high + 1) * size
    return Access(buffer, is_write, start, end, min(elements * stride, end - start))
