"""Sharding of running reductions and arg-reductions along their own axis.

Each device processes only its shard; the results of all shards are small, and are gathered.
"""

from __future__ import annotations

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.partition.factors import builds
from jitney.compiler.hlo.partition.layout import Names
from jitney.compiler.hlo.partition.movement import Movement
from jitney.compiler.hlo.partition.rules import Nodes, Shapes
from jitney.compiler.reference.reduction import neutral
from jitney.core.util.index_space import Division

# Neutral elements that differ from `neutral`: adding 0.0 would change -0.0.
_NOTHING = {"add": -0.0}


@builds(ir.Cumulative)
def _cumulative(
    node: ir.Cumulative, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    """Builds a running reduction: a shard is combined with the total of the preceding shards."""
    local = m.b.cumulative(xs[0], node.fn, node.dim, node.reverse)
    if node.dim not in division:
        return local
    before = _before(m, local, node, division[node.dim])
    whole = m.b.broadcast(before, local.shape, range(len(local.shape)))
    return m.b.apply(node.fn, whole, local)


def _before(m: Movement, local: ir.Node, node: ir.Cumulative, names: Names) -> ir.Node:
    """Returns the total of the shards that precede this device's, one element along the axis."""
    dim, n, last = node.dim, m.mesh.parts(names), local.shape[node.dim] - 1
    end = 0 if node.reverse else last
    totals = m.collective("all_gather", names, (("dim", dim),), m.cut(local, dim, end, end + 1))
    if node.reverse:
        totals = m.cut(totals, dim, 1, n)
    else:
        totals = m.cut(totals, dim, 0, n - 1)
    running = m.b.cumulative(totals, node.fn, dim, node.reverse)
    shape = (*local.shape[:dim], 1, *local.shape[dim + 1 :])
    nothing = m.b.full(shape, _NOTHING.get(node.fn, neutral(node.fn, node.dtype)), node.dtype)
    parts = [running, nothing] if node.reverse else [nothing, running]
    return m.dynamic_slice(m.b.concatenate(parts, dim), dim, m.number(names), shape)


@builds(ir.ArgReduce)
def _arg_reduce(
    node: ir.ArgReduce, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    """Builds an arg-reduction: the global index of the extreme value of all shards."""
    b, x, dim = m.b, xs[0], node.dim
    index = b.arg_reduce(x, node.kind, dim, node.dtype)
    if dim not in division:
        return index
    names = division[dim]
    start = b.convert(m.offset(names, x.shape[dim]), node.dtype)
    index = b.apply("add", index, b.broadcast(start, index.shape, ()))
    row = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    extremes, indices = [
        m.collective("all_gather", names, (("dim", dim),), b.reshape(part, row))
        for part in (b.reduce(x, node.kind, (dim,)), index)
    ]
    winner = b.arg_reduce(extremes, node.kind, dim, node.dtype)
    kept = [k for k in range(len(row)) if k != dim]
    chosen = b.apply(
        "eq", b.iota(node.dtype, indices.shape, dim), b.broadcast(winner, indices.shape, kept)
    )
    zero = b.full(indices.shape, 0, node.dtype)
    return b.reduce(b.apply("select", chosen, indices, zero), "add", (dim,))
