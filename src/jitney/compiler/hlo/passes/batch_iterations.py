"""Scalar expansion: computes a value of a loop's body for all iterations at once.

A value of one iteration becomes an array with an additional leading axis, which holds one row per
iteration (Padua and Wolfe, "Advanced compiler optimizations for supercomputers", 1986). Loop
fission and other passes on loops use it. The compile time is linear in the number of expanded
nodes. Memory use grows with the trip count, so callers have to bound it.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.loop_analysis import CountedLoop, covers_all_rows, is_invariant
from jitney.compiler.hlo.passes.carries import add_carries, project_carries

VIEWS = (ir.Reshape, ir.Transpose, ir.Slice, ir.Reverse, ir.Bitcast)


def is_loop_invariant(loop: ir.While, node: ir.Node) -> bool:
    """Returns whether `node` is a constant or a loop-invariant carry."""
    return isinstance(node, ir.Constant) or is_invariant(loop.body, node)


def row(loop: ir.While, trips: CountedLoop, node: ir.Node) -> ir.DynamicSlice | None:
    """Returns `node` if it reads each iteration's row of a loop-invariant array, else None."""
    if not isinstance(node, ir.DynamicSlice) or not is_loop_invariant(loop, node.x):
        return None
    shape = node.x.shape
    counter = loop.body.parameters[trips.counter]
    whole = bool(shape) and node.sizes == (1, *shape[1:]) and shape[0] == trips.count
    return node if whole and covers_all_rows(node.starts[0], counter, trips.count) else None


def is_forward(start: ir.Node, counter: ir.Node) -> bool:
    """Returns whether `start`, an index over all rows, is the counter and not its reverse."""
    while isinstance(start, ir.Apply) and start.fn == "convert":
        (start,) = start.args
    return start is counter


def can_lift(loop: ir.While, trips: CountedLoop, node: ir.Node) -> bool:
    """Returns whether `batch_over_iterations` can expand `node`, given its expanded operands."""
    match node:
        case ir.Parameter():
            return node.index == trips.counter or is_loop_invariant(loop, node)
        case ir.Pad():
            return isinstance(node.value, ir.Constant)
        case ir.DynamicSlice():
            return row(loop, trips, node) is not None
        case ir.Constant() | ir.Iota() | ir.Apply() | ir.Broadcast() | ir.Concatenate():
            return True
        case _:
            return isinstance(node, VIEWS)


def batch_over_iterations(
    b: Builder,
    loop: ir.While,
    trips: CountedLoop,
    results: Iterable[ir.Node],
    rows: MutableMapping[ir.Node, ir.Node],
) -> None:
    """Builds in `b` the values of `results` in all iterations, along a new leading axis.

    Args:
      b: the builder of the loop.
      loop: the loop.
      trips: its trip count and counter.
      results: the nodes of its body to expand.
      rows: maps nodes of the body to their values in all iterations. It has to contain the nodes
        that `results` depend on but that cannot be expanded (`can_lift`). The values that are built
        are added to it.
    """
    stack = list(results)
    needed: set[ir.Node] = set()
    while stack:
        node = stack.pop()
        if node not in rows and node not in needed:
            needed.add(node)
            if not isinstance(node, ir.DynamicSlice):
                stack.extend(traversal.operands(node))
    for node in sorted(needed, key=lambda x: x.id):
        rows[node] = _lifted(b, loop, trips, node, rows)


def broadcast_over_iterations(b: Builder, x: ir.Node, iterations: int) -> ir.Node:
    """Broadcasts `x` along a new first axis, with an element for each iteration."""
    return b.broadcast(x, (iterations, *x.shape), tuple(range(1, len(x.shape) + 1)))


def _lifted(
    b: Builder,
    loop: ir.While,
    trips: CountedLoop,
    node: ir.Node,
    rows: MutableMapping[ir.Node, ir.Node],
) -> ir.Node:
    n = trips.count
    new = rows.__getitem__
    match node:
        case ir.Parameter() if node.index == trips.counter:
            return b.iota(node.dtype, (n,), 0)
        case ir.Parameter() | ir.Constant() | ir.Iota():
            x = (
                loop.init[node.index]
                if isinstance(node, ir.Parameter)
                else traversal.rebuild(b, node, new)
            )
            return broadcast_over_iterations(b, x, n)
        case ir.DynamicSlice():
            return _rows_read(b, loop, trips, node)
        case ir.Broadcast():
            return b.broadcast(new(node.x), (n, *node.shape), (0, *_after(node.dims)))
        case ir.Reshape():
            return b.reshape(new(node.x), (n, *node.shape))
        case ir.Transpose():
            return b.transpose(new(node.x), (0, *_after(node.perm)))
        case ir.Slice():
            starts, limits, strides = (0, *node.starts), (n, *node.limits), (1, *node.strides)
            return b.slice(new(node.x), starts, limits, strides)
        case ir.Reverse():
            return b.reverse(new(node.x), _after(node.dims))
        case ir.Concatenate():
            return b.concatenate([new(x) for x in node.parts], node.dim + 1)
        case ir.Pad():
            value = traversal.rebuild(b, node.value, new)
            low, high, interior = ((0, *x) for x in (node.low, node.high, node.interior))
            return b.pad(new(node.x), value, low, high, interior)
        case _:
            return traversal.rebuild(b, node, new)


def _after(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([axis + 1 for axis in axes])


def _rows_read(b: Builder, loop: ir.While, trips: CountedLoop, node: ir.DynamicSlice) -> ir.Node:
    """Returns the rows that `node` reads, in the order of the iterations."""
    if isinstance(node.x, ir.Parameter):
        x = loop.init[node.x.index]
    else:
        assert isinstance(node.x, ir.Constant)
        x = b.constant(node.x.value)
    rows = b.reshape(x, (trips.count, *node.shape))
    forward = is_forward(node.starts[0], loop.body.parameters[trips.counter])
    return rows if forward else b.reverse(rows, (0,))


def with_stacked_outputs(
    b: Builder, loop: ir.While, trips: CountedLoop, stacked: Sequence[ir.Node], kept: Sequence[int]
) -> ir.While:
    """Returns `loop` with the carries `kept`, and with stacked outputs for the nodes `stacked`.

    Each stacked output is an additional carry, with one row per iteration.
    """

    def write_down(
        inner: Builder, new: dict[ir.Node, Any], stacks: Sequence[ir.Node]
    ) -> list[ir.Node]:
        counter = new[loop.body.parameters[trips.counter]]
        return [
            inner.with_row(stack, counter, new[x]) for x, stack in zip(stacked, stacks, strict=True)
        ]

    stacks = [b.full((trips.count, *x.shape), 0, x.dtype) for x in stacked]
    larger = add_carries(loop, stacks, None, write_down)
    return project_carries(larger, [*kept, *range(len(loop.init), len(larger.init))])
