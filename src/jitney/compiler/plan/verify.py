"""Verifies plans: kernels are well formed, and simultaneously live buffers do not share memory.

Whether buffers overlap is checked by abstract execution of the steps, with two iterations of each
loop. It records which buffer was last written to each range of the arena; a step that reads a
buffer must find that buffer there.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from jitney.compiler.kernels import ir as kernels
from jitney.compiler.kernels.verify import verify
from jitney.compiler.plan import ir
from jitney.compiler.plan.accesses import accesses, reads_and_writes
from jitney.compiler.plan.rows import rows_of


class PlanError(AssertionError):
    """A plan violates a constraint; the message starts with its identifier.

    P1  kernels are well formed, and have a buffer of the right element size for each parameter
    P2  every buffer that a step reads was written before, on every path to the step
    P3  a buffer that a step reads has not been overwritten by another buffer in the same memory
    P4  buffers are within the arena, and aligned
    P5  copies and swaps are between buffers of equal size
    P6  launches of a strip access row by row each buffer that one writes and another accesses;
        buffers of the strip are written, by launches of the strip, before they are read
    P7  between an asynchronous call and its wait, no step accesses the call's results or writes
        its operands; each call has one wait, in the same list of steps
    """


def verify_plan(plan: ir.Plan) -> None:
    """Raises PlanError if `plan` violates a constraint."""
    _Memory(plan.arena_bytes).steps(plan.steps)


class _Memory:
    """The state of the arena: the buffer that each range contains."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.iterations = 2  # of each loop
        self.held: dict[int, tuple[int, ir.Buffer]] = {}  # offset -> (end, buffer)
        self.written: set[ir.Buffer] = set()
        self.filling: set[ir.Buffer] = set()  # buffers that loops write part by part
        self.partner: dict[ir.Buffer, ir.Buffer] = {}  # carry -> the buffer it can be swapped with

    def copy(self) -> _Memory:
        new = _Memory(self.size)
        new.iterations = self.iterations
        new.held, new.written = dict(self.held), set(self.written)
        new.partner, new.filling = dict(self.partner), self.filling
        return new

    def join(self, others: Sequence[_Memory]) -> None:
        """Merges the states after alternative branches into this state."""
        self.held = {
            offset: entry
            for offset, entry in others[0].held.items()
            if all(o.held.get(offset) == entry for o in others)
        }
        self.written = others[0].written.intersection(*[o.written for o in others[1:]])

    def read(self, buffer: ir.Buffer, what: str) -> None:
        if not buffer.nbytes or buffer.place in ("input", "constant"):
            return
        if buffer not in self.written:
            raise PlanError(f"P2: {what} reads {buffer}, which has not been written")
        self.check_held(buffer, what)
        partner = self.partner.get(buffer)
        if partner is not None:
            self.check_held(partner, f"{what}, whose buffers may be swapped,")

    def check_held(self, buffer: ir.Buffer, what: str) -> None:
        if buffer.place == "arena" and self.held.get(buffer.index, (0, None))[1] is not buffer:
            raise PlanError(f"P3: {what} needs {buffer}, which has been overwritten")

    def write(self, buffer: ir.Buffer, what: str) -> None:
        if not buffer.nbytes:
            return
        if buffer.place in ("input", "constant"):
            raise PlanError(f"P1: {what} writes to {buffer}, which is read-only")
        if buffer in self.filling:
            self.check_held(buffer, what)
        self.written.add(buffer)
        self.claim(buffer, what)

    def claim(self, buffer: ir.Buffer, what: str) -> None:
        """Records that `buffer` occupies its memory from now on."""
        if buffer.place != "arena":
            return
        start, end = buffer.index, buffer.index + buffer.nbytes
        if start < 0 or end > self.size or start % 64:
            raise PlanError(
                f"P4: {what}: {buffer} of {buffer.nbytes} bytes is misplaced in {self.size} bytes"
            )
        if self.held.get(start, (0, None))[1] is not buffer:
            gone = [at for at, (stop, _) in self.held.items() if at < end and start < stop]
            for at in gone:
                del self.held[at]
            self.held[start] = (end, buffer)

    # --- steps ------------------------------------------------------------------------------------

    def steps(self, steps: Sequence[ir.Step]) -> None:
        going_on: list[ir.HostCall] = []
        for step in steps:
            if isinstance(step, ir.Wait):
                if not any(call is step.call for call in going_on):
                    raise PlanError(f"P7: a wait for {step.call.name}, which is not in flight")
                going_on = [call for call in going_on if call is not step.call]
            _check_beside(step, going_on)
            self.step(step)
            if isinstance(step, ir.HostCall) and step.finish is not None:
                going_on.append(step)
        if going_on:
            raise PlanError(f"P7: no step waits for {going_on[0].name}")

    def step(self, step: ir.Step) -> None:
        what = type(step).__name__
        if isinstance(step, ir.Launch):
            _check_launch(step)
            _check_strip_buffers(step.buffers, ())
        if isinstance(step, ir.RowStrips):
            _check_row_strips(step)
        if isinstance(step, ir.Copy) and step.to.nbytes != step.source.nbytes:
            raise PlanError(
                f"P5: copy of {step.source.nbytes} bytes to a buffer of {step.to.nbytes}"
            )
        if isinstance(step, ir.SwapBuffers):
            if step.carry.nbytes != step.after.nbytes:
                raise PlanError(
                    f"P5: swap of buffers of {step.carry.nbytes} and {step.after.nbytes} bytes"
                )
            self.partner[step.carry] = step.after
        reads, writes = reads_and_writes(step)
        for buffer in reads:
            self.read(buffer, what)
        for buffer in writes:
            self.write(buffer, what)
        if isinstance(step, ir.Loop):
            self.steps(step.cond)
            self.read(step.predicate, what)
            never = self.copy()
            outside, self.filling = self.filling, self.filling | {*step.filled}
            for buffer in step.filled:
                self.claim(buffer, what)
            # The second iteration detects buffers that the first one has overwritten. Nested loops
            # run only once in it, since they ran twice in the first iteration.
            for iterations in range(self.iterations):
                outer, self.iterations = self.iterations, self.iterations - iterations
                self.steps(step.body)
                self.steps(step.cond)
                self.iterations = outer
                self.read(step.predicate, what)
            for exchange in step.swapped:
                self.read(exchange.carry, what)
                del self.partner[exchange.carry]
            self.filling = outside
            if not step.filled:
                self.join([never, self.copy()])
        elif isinstance(step, ir.Branch):
            self.read(step.index, what)
            after: list[_Memory] = []
            for case in step.cases:
                memory = self.copy()
                memory.steps(case)
                after.append(memory)
            self.join(after)


def _check_beside(step: ir.Step, going_on: Sequence[ir.HostCall]) -> None:
    """Raises PlanError if `step` conflicts with an asynchronous call in flight."""
    for call in going_on:
        own = list(accesses(call))
        for access in accesses(step):
            if any([access.buffer is x.buffer and access.conflicts(x) for x in own]):
                raise PlanError(
                    f"P7: {type(step).__name__} accesses {access.buffer} while {call.name} is in "
                    "flight"
                )


def _check_launch(step: ir.Launch) -> None:
    kernel = step.kernel
    verify(kernel)
    if len(kernel.params) != len(step.buffers):
        raise PlanError(f"P1: {len(step.buffers)} buffers for {len(kernel.params)} parameters")
    for s in kernel.body:
        if isinstance(s, kernels.Load) and s.dtype != kernel.params[s.param]:
            raise PlanError(f"P1: load of {s.dtype} from a buffer of {kernel.params[s.param]}")
    for dtype, buffer in zip(kernel.params, step.buffers, strict=True):
        if buffer.nbytes % dtype.itemsize:
            raise PlanError(f"P1: a buffer of {buffer.nbytes} bytes as {dtype}")


def _check_row_strips(step: ir.RowStrips) -> None:
    members = [rows_of(launch) for launch in step.launches]
    written: set[ir.Buffer] = set()  # strip buffers written so far
    for launch, member in zip(step.launches, members, strict=True):
        _check_launch(launch)
        if member is None or member.extent % step.rows or not 1 <= step.strip <= step.rows:
            raise PlanError(
                f"P6: {step.rows} rows in strips of {step.strip} do not divide a launch evenly"
            )
        _check_strip_buffers(member.read, written)
        for buffer in member.written:
            if buffer.place == "strip":
                written = {b for b in written if not _overlap(b, buffer)} | {buffer}
    for m in members:
        for buffer in m.written if m else ():
            nbytes = buffer.nbytes
            if buffer.place == "strip":
                nbytes = nbytes // step.strip * step.rows
            users = [x for x in members if x and buffer in x.buffers]
            if len(users) > 1 and not all(x.is_by_row(buffer, step.rows, nbytes) for x in users):
                raise PlanError(f"P6: {buffer} is shared by launches, but not row by row")


def _check_strip_buffers(buffers: Iterable[ir.Buffer], written: Container[ir.Buffer]) -> None:
    for buffer in buffers:
        if buffer.place == "strip" and buffer not in written:
            raise PlanError(f"P6: {buffer}, local to a strip, is read before it is written")


def _overlap(x: ir.Buffer, y: ir.Buffer) -> bool:
    return x.index < y.index + y.nbytes and y.index < x.index + x.nbytes
