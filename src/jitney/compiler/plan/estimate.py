"""Estimates time and communication of plans by a roofline model and an alpha-beta model.

The time of a step is that of its operations or of its memory traffic, whichever is longer. Each
part of a buffer that a step reads or writes counts once as traffic. A message of b bytes takes the
time alpha + b beta. Communication does not overlap with computation in this model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.collectives import group_size
from jitney.compiler.hlo.partition.traffic import sent
from jitney.compiler.kernels import ir as kernels
from jitney.compiler.plan import ir
from jitney.compiler.plan.accesses import accesses
from jitney.core.util.record import record


@record(frozen=True)
class Machine:
    """The parameters of the cost model.

    Attributes:
      latency: the seconds that an empty message between two devices takes (alpha).
      bandwidth: the bytes per second that a device sends (1 / beta).
      operations: the arithmetic operations per second of a device.
      memory: the bytes per second that a device reads and writes.
    """

    latency: float = COSTS.link_latency
    bandwidth: float = COSTS.link_bandwidth
    operations: float = COSTS.device_operations
    memory: float = COSTS.device_memory


@record(frozen=True)
class Message:
    """A collective and the costs of all its executions in one run.

    Attributes:
      node: the collective.
      times: the number of executions.
      bytes: the number of bytes that a device sends.
      seconds: the time of the communication.
    """

    node: hlo.Collective
    times: int
    bytes: float
    seconds: float


@record(frozen=True)
class Estimate:
    """The estimated costs of one run on one device.

    Attributes:
      operations: the number of arithmetic operations.
      computing: the seconds spent on computation.
      messages: the collectives.
      loops: the number of loops with unknown trip counts; each counts as one iteration.
    """

    operations: float
    computing: float
    messages: list[Message]
    loops: int

    @property
    def sending(self) -> float:
        """The seconds spent on communication."""
        return sum([message.seconds for message in self.messages])


def estimate(steps: Sequence[ir.Step], machine: Machine) -> Estimate:
    """Estimates the costs of one device's program, including all branches of each conditional."""
    total = computing = 0.0
    messages: list[Message] = []
    loops = 0
    for step, times in _all(steps, 1):
        if isinstance(step, ir.Collective):
            node = step.node
            if node.args:
                seconds = rounds(node) * machine.latency + sent(node) / machine.bandwidth
                messages.append(Message(node, times, times * sent(node), times * seconds))
        elif not isinstance(step, ir.Loop | ir.Branch):
            n = operations(step)
            total += times * n
            computing += times * max(n / machine.operations, traffic(step) / machine.memory)
        loops += _is_of_unknown_length(step)
    return Estimate(total, computing, messages, loops)


def _all(steps: Sequence[ir.Step], times: int) -> Iterator[tuple[ir.Step, int]]:
    """Yields all steps, including nested ones, with their numbers of executions."""
    for step in steps:
        yield step, times
        trips = step.trips if isinstance(step, ir.Loop) else 1
        for block in ir.inner(step):
            yield from _all(block, times * (1 if trips is None else trips))


def _is_of_unknown_length(step: ir.Step) -> bool:
    if isinstance(step, ir.Launch):
        return step.kernel.loop is not None and step.kernel.loop.trips is None
    return isinstance(step, ir.Loop) and step.trips is None


def operations(step: ir.Step) -> float:
    """Returns the number of arithmetic operations of a step; moving data counts as 0."""
    match step:
        case ir.Launch():
            return _operations_of_kernel(step.kernel)
        case ir.RowStrips():
            return sum([_operations_of_kernel(x.kernel) for x in step.launches])
        case ir.Gemm():
            return 2.0 * step.batch * step.m * step.n * step.k
        case ir.LibraryCall():
            return step.native.operations if step.native is not None else 0.0
        case _:
            return 0.0


def _operations_of_kernel(kernel: kernels.Kernel) -> float:
    calls = [s for s in kernel.body if isinstance(s, kernels.Call)]
    each = sum([COSTS.function(s.fn) for s in calls])
    for o in kernel.outputs:
        if isinstance(o, kernels.Reduce):  # a multiplication and an addition each
            each += 1 + (o.factor is not None)
    trips = 1 if kernel.loop is None else kernel.loop.trips or 1
    return float(each * math.prod(kernel.extents) * trips)


def traffic(step: ir.Step) -> float:
    """Returns the bytes that a step reads and writes; each part of a buffer counts once."""
    touched: dict[tuple[ir.Buffer, bool], tuple[int, int, int]] = {}
    for x in accesses(step):
        start, end, moved = touched.get((x.buffer, x.writes), (x.start, x.end, 0))
        touched[x.buffer, x.writes] = min(start, x.start), max(end, x.end), moved + x.moved
    return float(sum([min(end - start, moved) for start, end, moved in touched.values()]))


def rounds(node: hlo.Collective) -> int:
    """Returns the number of messages that a device sends one after another."""
    n = group_size(node.axes, node.groups)
    match node.kind:
        case "all_reduce":
            return 2 * (n - 1)
        case "all_gather" | "reduce_scatter" | "all_to_all":
            return n - 1
        case "broadcast":
            return math.ceil(math.log2(n))
        case _:
            return 1
