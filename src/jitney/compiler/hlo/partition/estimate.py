"""How long the program of one device takes: what it computes, what it sends, by an alpha-beta model.

A node takes as long as its operations or its memory traffic do, whichever is more; a message of b bytes
takes alpha + b beta. Elementwise nodes are computed where they are used, so they cost no traffic of
their own. Nothing overlaps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.collectives import group_size
from jitney.compiler.hlo.loop_analysis import count_trips
from jitney.compiler.hlo.partition.traffic import sent, work
from jitney.core.record import record


@record(frozen=True)
class Machine:
    """What time depends on.

    Attributes:
      latency: seconds of a message between two devices, however short (alpha).
      bandwidth: bytes a second that a device sends (1 / beta).
      operations: that a device does in a second.
      memory: bytes a second that a device reads and writes.
    """

    latency: float = COSTS.link_latency
    bandwidth: float = COSTS.link_bandwidth
    operations: float = COSTS.device_operations
    memory: float = COSTS.device_memory


@record(frozen=True)
class Message:
    """A collective: how often a run has it, and what all of these take.

    Attributes:
      node: the collective.
      times: of a run.
      bytes: that a device sends.
      seconds: that they take.
    """

    node: ir.Collective
    times: int
    bytes: float
    seconds: float


@record(frozen=True)
class Estimate:
    """What one run takes, of one device.

    Attributes:
      operations: that it does.
      computing: seconds, without communication.
      messages: the collectives.
      loops: how many have a number of trips that is not known; they count as one.
    """

    operations: float
    computing: float
    messages: list[Message]
    loops: int

    @property
    def sending(self) -> float:
        """Seconds of communication."""
        return sum([message.seconds for message in self.messages])


def estimate(region: ir.Region, machine: Machine) -> Estimate:
    """What the program of one device takes; of a conditional, all branches count."""
    operations = computing = 0.0
    messages: list[Message] = []
    loops = 0
    for node, times in _nodes(region, 1):
        if isinstance(node, ir.Collective):
            if node.args:
                seconds = rounds(node) * machine.latency + sent(node) / machine.bandwidth
                messages.append(Message(node, times, times * sent(node), times * seconds))
        elif isinstance(node, ir.While):
            loops += count_trips(node) is None
        else:
            n = _operations(node)
            operations += times * n
            computing += times * max(n / machine.operations, _touched(node) / machine.memory)
    return Estimate(operations, computing, messages, loops)


def _nodes(region: ir.Region, times: int) -> Iterator[tuple[ir.Node, int]]:
    """All nodes, those of inner regions too, with how often they are computed."""
    for node in traversal.topological_order(traversal.roots(region)):
        yield node, times
        trips = count_trips(node) if isinstance(node, ir.While) else None
        for _, inner in traversal.regions(node):
            if isinstance(node, ir.While | ir.Cond):
                yield from _nodes(inner, times * (1 if trips is None else trips.count))


def _operations(node: ir.Node) -> float:
    """Floating-point operations, or others in their place; moves are none."""
    match node:
        case ir.Dot() | ir.Convolution():
            return 2.0 * work(node)
        case ir.Apply():
            return COSTS.function(node.fn) * node.tensor_type.size
        case ir.Reduce() | ir.ReduceRegion() | ir.ArgReduce() | ir.Cumulative():
            return sum([x.tensor_type.size for x in traversal.operands(node)])
        case ir.Sort() | ir.TopK():
            x = traversal.operands(node)[0]
            return x.tensor_type.size * math.log2(max(x.shape[node.dim], 2))
        case _:
            return 0.0


def _touched(node: ir.Node) -> float:
    """Bytes that are read and written for a node that is not computed where it is used."""
    if node.is_fusible or isinstance(node, ir.Parameter | ir.Constant | ir.Project | ir.Cond):
        return 0.0
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    read = sum([x.tensor_type.nbytes for x in traversal.operands(node)])
    return read + sum([t.nbytes for t in types])


def rounds(node: ir.Collective) -> int:
    """Messages that a device sends one after the other."""
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
