"""Input-output aliasing: the inputs in whose memory an output may lie, once the caller donates them.

An input that is donated has memory of the size that some result needs. A program may write the result
there if it is done with the input before, or if a kernel that writes the result reads of the input only
the element that it is about to write. This holds of the plan as it is: the same machine code serves
calls that donate and calls that do not, and the runtime chooses (`runtime/executable.py`).

XLA has it as `input_output_alias` of a module. The condition is that of an anti-dependence (Allen and
Kennedy, Optimizing Compilers for Modern Architectures, section 2.2): no read of the input after a write
of the output. O(steps) for each pair of one type.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler.plan import ir
from jitney.compiler.plan.inplace import is_elementwise_update


def may_alias(plan: ir.Plan) -> tuple[tuple[int, ...], ...]:
    """Return, for each output, the numbers of the inputs of its type in whose memory it may lie."""
    if not any(t in plan.inputs for t in plan.outputs):
        return ((),) * len(plan.outputs)
    steps = [_Step(step) for step in plan.steps]
    shown = {k for step in steps for k in step.shown}
    return tuple([
        tuple([
            i
            for i, input_type in enumerate(plan.inputs)
            if input_type == output_type and i not in shown and _is_dead_before(steps, i, j)
        ])
        for j, output_type in enumerate(plan.outputs)
    ])  # fmt: skip


class _Step:
    """Inputs that a step of the plan reads, with those within it, and outputs that it touches.

    (What reads an output comes after what writes it.)

    Attributes:
      shown: inputs that Python functions of users are given, which may keep them.
    """

    def __init__(self, step: ir.Step) -> None:
        self.step = step
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.shown: set[int] = set()
        for within in ir.all_steps([step]):
            used = ir.touched(within)
            inputs = {b.index for b in used if b.place == "input"}
            self.reads |= inputs
            self.writes |= {b.index for b in used if b.place == "output"}
            if isinstance(within, ir.HostCall):
                self.shown |= inputs

    def copies(self, i: int, j: int) -> bool:
        """Whether it only copies input `i` to output `j`: a no-op if they share memory."""
        match self.step:
            case ir.Copy(to=to, source=source):
                return (to.place, to.index, source.place, source.index) == ("output", j, "input", i)
            case _:
                return False


def _is_dead_before(steps: Sequence[_Step], i: int, j: int) -> bool:
    """Whether input `i` is not read any more when output `j` is written; a copy of it is no write."""
    is_written = False
    for each in steps:
        if each.copies(i, j):
            if is_written:
                return False
            continue
        writes = j in each.writes and not _is_update(each.step, i, j)
        if i in each.reads and (is_written or writes):
            return False
        is_written = is_written or j in each.writes
    return True


def _is_update(step: ir.Step, i: int, j: int) -> bool:
    """Whether one launch alone reads input `i` and writes output `j`, element by element."""
    launches = step.launches if isinstance(step, ir.RowStrips) else (step,)
    uses = [
        launch
        for launch in launches
        if any((b.place, b.index) in (("input", i), ("output", j)) for b in ir.touched(launch))
    ]
    return len(uses) == 1 and is_elementwise_update(
        uses[0],
        lambda b: b.place == "input" and b.index == i,
        lambda b: b.place == "output" and b.index == j,
    )
