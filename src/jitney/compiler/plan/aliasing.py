"""Input-output aliasing: determines which outputs can reuse the memory of which donated inputs.

A program can write a result to the memory of a donated input of the same size if it does not read
the input afterwards, or if the kernel that writes each element of the result reads only the same
element of the input. The analysis does not change the plan: calls with and without donation run the
same machine code, and the runtime decides (`runtime/arrays/donation.py`).

In XLA, the corresponding attribute of a module is `input_output_alias`. The condition is that no
anti-dependence (Allen and Kennedy, Optimizing Compilers for Modern Architectures, section 2.2) is
violated: the input is not read after a write of the output. The cost is linear in the number of
steps, and in the number of pairs of an input and an output such that the last read of one and the
first write of the other are in the same step.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler.input_output_alias import InputOutputAlias
from jitney.compiler.plan import ir
from jitney.compiler.plan.inplace import is_elementwise_update
from jitney.compiler.tensor_type import TensorType


def input_output_alias(plan: ir.Plan) -> InputOutputAlias:
    """Returns the pairs of inputs and outputs that can share memory."""
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

    Accesses of nested steps count as accesses of the step that contains them. (An output is read
    only after it is written.)

    Attributes:
      reads: the steps that read each input.
      writes: the steps that write each output, or read it later.
      copies: the steps that only copy an input to an output, by input and output.
      shown: the inputs that are passed to Python callbacks, which can keep references to them.
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

        A copy from the input to the output is a no-op if they share memory, unless something else
        has been written there before.
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
    """Returns whether one launch in `step` computes output `j` elementwise from input `i`.

    No other launch in the step may access the input or the output.
    """
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
