"""The cost of collectives: the bytes that each device sends."""

from __future__ import annotations

import math
from collections.abc import Iterator

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.collectives import group_size


def sent(node: ir.Collective) -> float:
    """Returns the bytes that each device sends, with the algorithms that send the fewest.

    In a ring of n participants, an all-gather sends each shard n - 1 times, a reduce-scatter sends
    each part of its operand n - 1 times, and an all-reduce consists of both.
    """
    if not node.args:
        return 0
    n = group_size(node.axes, node.groups)
    operand, result = node.args[0].tensor_type.nbytes, node.tensor_type.nbytes
    match node.kind:
        case "all_reduce":
            return 2 * operand * (n - 1) / n
        case "all_gather":
            return result * (n - 1) / n
        case "reduce_scatter" | "all_to_all" | "broadcast":
            return operand * (n - 1) / n
        case _:
            return operand


def collectives_of(region: ir.Region) -> Iterator[ir.Collective]:
    """Yields the collectives of a region, including those in nested regions."""
    for node in traversal.topological_order(traversal.roots(region)):
        if isinstance(node, ir.Collective):
            yield node
        for _, inner in traversal.regions(node):
            yield from collectives_of(inner)


def work(node: ir.Node) -> int:
    """Estimates the number of operations that one device executes for `node`.

    It is the number of products of a contraction or convolution, and the number of elements of the
    operand of a reduction or scatter, or of the results of any other node.
    """
    match node:
        case ir.Dot():
            return node.tensor_type.size * math.prod([node.x.shape[k] for k in node.contract[0]])
        case ir.Convolution():
            feature = node.dims.w_axes[0]
            window = [n for k, n in enumerate(node.w.shape) if k != feature]
            return node.tensor_type.size * math.prod(window)
        case ir.Reduce() | ir.Scatter():
            return node.x.tensor_type.size
        case _:
            types = node.type if isinstance(node.type, tuple) else (node.type,)
            return sum([t.size for t in types])
