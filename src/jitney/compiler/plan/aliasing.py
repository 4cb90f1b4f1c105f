"""Input-output aliasing: finds which outputs may use the memory of which donated inputs.

A donated input has memory of the size that some result needs. A program may write the result there
if it does not read the input afterwards, or if a kernel that writes the result reads only the
element of the input that it is about to write. The analysis does not change the plan: the same
machine code serves calls that donate and calls that do not, and the runtime chooses
(`runtime/arrays/donation.py`).

XLA has it as `input_output_alias` of a module. The condition is an anti-dependence (Allen and
Kennedy, Optimizing Compilers for Modern Architectures, section 2.2): no read of the input after a
write of the output. Its cost is linear in the steps, and in the pairs that one step reads last and
writes first.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler.input_output_alias import InputOutputAlias
from jitney.compiler.plan import ir
from jitney.compiler.plan.inplace import is_elementwise_update
from jitney.compiler.tensor_type import TensorType


def input_output_alias(plan: ir.Plan) -> InputOutputAlias:
    """Returns which outputs may use the memory of which inputs."""
    uses = _Uses(plan.steps)
    never = len(plan.steps)
    last_reads = [uses.reads.get(i, [-1])[-1] for i in range(len(plan.inputs))]
    first_writes = [uses.writes.get(j, [never])[0] for j in range(len(plan.outputs))]
    for i in uses.shown:
        last_reads[i] = never
    written_in: dict[tuple[int, TensorType], list[int]] = {}
    for j, step in enumerate(first_writes):
        written_in.setdefault((step, plan.outputs[j]), []).append(j)
    in_one_step = [
        (i, j)
        for i, step in enumerate(last_reads)
        for j in written_in.get((step, plan.inputs[i]), ())
    ]
    candidates = dict.fromkeys([*in_one_step, *uses.copies])
    pairs = frozenset([pair for pair in candidates if uses.is_dead_before(*pair)])
    return InputOutputAlias(tuple(last_reads), tuple(first_writes), pairs)


class _Uses:
    """The top-level steps of a plan that read inputs and write outputs, in order.

    Accesses of nested steps count for the step that contains them. (Reads of an output come after
    its writes.)

    Attributes:
      reads: for each input that is read, the steps that read it.
      writes: for each output, the steps that write it, or read it later.
      copies: for an input and an output, the steps that only copy one to the other.
      shown: inputs that are passed to users' Python functions, which may keep them.
    """

    def __init__(self, steps: Sequence[ir.Step]) -> None:
        self.steps = steps
        self.reads: dict[int, list[int]] = {}
        self.writes: dict[int, list[int]] = {}
        self.copies: dict[tuple[int, int], set[int]] = {}
        self.shown: set[int] = set()
        for k, step in enumerate(steps):
            for within in ir.all_steps([step]):
                used = ir.touched(within)
                inputs = {b.index for b in used if b.place == "input"}
                for i in inputs:
                    self.reads.setdefault(i, []).append(k)
                for j in {b.index for b in used if b.place == "output"}:
                    self.writes.setdefault(j, []).append(k)
                if isinstance(within, ir.HostCall):
                    self.shown |= inputs
            if (
                isinstance(step, ir.Copy)
                and step.source.place == "input"
                and step.to.place == "output"
            ):
                self.copies.setdefault((step.source.index, step.to.index), set()).add(k)

    def is_dead_before(self, i: int, j: int) -> bool:
        """Returns whether input `i` is not read after output `j` is written.

        A copy from one to the other does nothing if they share memory, unless something else has
        been written there before.
        """
        if i in self.shown:
            return False
        copies = self.copies.get((i, j), ())
        reads = [k for k in self.reads.get(i, ()) if k not in copies]
        writes = [k for k in self.writes.get(j, ()) if k not in copies]
        if not writes:
            return True
        if copies and writes[0] < max(copies):
            return False
        if not reads or reads[-1] < writes[0]:
            return True
        return reads[-1] == writes[0] and _is_update(self.steps[writes[0]], i, j)


def _is_update(step: ir.Step, i: int, j: int) -> bool:
    """Returns whether a single launch reads input `i` and writes output `j`, elementwise."""
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
