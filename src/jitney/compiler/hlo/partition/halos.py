"""Sharding along axes whose elements a node moves: halo exchange between neighbors.

These are slices, padding, reversal, concatenation (and so rolls, which are concatenations of
slices), and windows of convolutions. Each device computes its shard of the result from a window of
the operand (`Movement.window`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jitney.compiler.dims import dilated
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.partition.factors import Dims, Division, Factors, rule
from jitney.compiler.hlo.partition.movement import Movement
from jitney.compiler.hlo.partition.rules import Nodes, Shapes, plain
from jitney.core.record import replace


def _shared(old: ir.Shape, new: ir.Shape) -> list[int]:
    """Returns the sizes of factors for axes that change size: the greatest common divisors."""
    return [math.gcd(n, m) for n, m in zip(old, new, strict=True)]


@rule(ir.Slice)
def _partition_slice(node: ir.Slice) -> Factors:
    """Returns the factors of a slice.

    Sliced axes stay sharded if a number of shards divides both sizes; an axis that is sliced to few
    elements is collected from their owners.
    """
    rank = len(node.shape)

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        x = xs[0]
        for dim in range(rank):
            start, stride = node.starts[dim], node.strides[dim]
            if node.x.shape[dim] == node.shape[dim]:
                continue
            if dim in division:
                step = shapes[0][dim] * stride
                length = step - stride + 1
                x = m.window(x, dim, division[dim], step, start, length)
                start = 0
            elif rank + dim in division:
                x = m.collected(x, dim, division[rank + dim], start, node.limits[dim])
                start = 0
            limit = start + (shapes[0][dim] - 1) * stride + 1
            x = m.cut(x, dim, start, limit, stride)
        return x

    sizes = [*_shared(node.x.shape, node.shape), *node.x.shape]
    divided = [k for k in range(rank) if sizes[k] > 1]
    dims: Dims = tuple([(k,) if k in divided else (rank + k,) for k in range(rank)])
    result: Dims = tuple([(k,) if k in divided else () for k in range(rank)])
    return Factors(sizes, [dims], [result], build)


@rule(ir.Reverse)
def _partition_reverse(node: ir.Reverse) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        x = xs[0]
        for dim in node.dims:
            if dim in division:
                x = m.mirrored(x, division[dim])
        return m.b.reverse(x, node.dims)

    dims = plain(len(node.shape))
    return Factors(node.shape, [dims], [dims], build)


@rule(ir.Pad)
def _partition_pad(node: ir.Pad) -> Factors:
    rank = len(node.shape)
    same = [node.x.shape[k] == node.shape[k] and not node.low[k] for k in range(rank)]
    inner = [k for k in range(rank) if node.interior[k] and not same[k]]
    fill = traversal.scalar_value(node.value)
    zero = fill is not None and not any(np.asarray(fill).tobytes())

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        b, (x, value) = m.b, xs
        moved = [dim for dim in range(rank) if dim in division and not same[dim]]
        for dim in moved:
            n = shapes[0][dim]
            x = m.window(x, dim, division[dim], n, -node.low[dim], n)
            if not zero:
                low = node.low[dim]
                within = m.inside(x.shape, dim, division[dim], low, low + node.x.shape[dim])
                x = b.apply("select", within, x, b.broadcast(value, x.shape, ()))
        low, high, interior = [
            [0 if k in moved else n for k, n in enumerate(ns)]
            for ns in (node.low, node.high, node.interior)
        ]
        return b.pad(x, value, low, high, interior)

    dims = plain(rank, inner)
    return Factors(_shared(node.x.shape, node.shape), [dims, ()], [dims], build)


@rule(ir.Concatenate)
def _partition_concatenate(node: ir.Concatenate) -> Factors:
    """Returns the factors of a concatenation.

    Each device reads of each part the elements in its shard of the result. Parts that are slices
    are read from their operands, so a roll needs only halos.
    """
    dim = node.dim
    sources = [_source(part, dim) for part in node.parts]
    if _is_roll(node, sources):
        return _roll(node, *sources[0])

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        offset, parts = 0, list[ir.Node]()
        for x, (_, start), part in zip(xs, sources, node.parts, strict=True):
            n, size = part.shape[dim], shapes[0][dim]
            if dim not in division:
                parts.append(m.cut(x, dim, start, start + n))
                continue
            taken = m.window(x, dim, division[dim], size, start - offset, size)
            if parts:
                within = m.inside(shapes[0], dim, division[dim], offset, offset + n)
                taken = m.b.apply("select", within, taken, parts.pop())
            parts.append(taken)
            offset += n
        return m.b.concatenate(parts, dim)

    nodes = [source for source, _ in sources]
    common = math.gcd(node.shape[dim], *[x.shape[dim] for x in nodes])
    sizes = [*node.shape[:dim], common, *node.shape[dim + 1 :]]
    dims = plain(len(node.shape))
    return Factors(sizes, [dims] * len(nodes), [dims], build, nodes=nodes)


def _roll(node: ir.Concatenate, x: ir.Node, start: int) -> Factors:
    """Returns the factors of a roll: the elements of `x` from `start` on, then those before."""
    dim, size = node.dim, node.shape[node.dim]

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        if dim in division:
            n = shapes[0][dim]
            return m.window(xs[0], dim, division[dim], n, start, n, periodic=True)
        parts = [m.cut(xs[0], dim, start, size), m.cut(xs[0], dim, 0, start)]
        return m.b.concatenate(parts, dim)

    dims = plain(len(node.shape))
    return Factors(node.shape, [dims], [dims], build, nodes=[x])


def _is_roll(node: ir.Concatenate, sources: Sequence[tuple[ir.Node, int]]) -> bool:
    """Returns whether the parts are the end and the beginning of one tensor."""
    if len(sources) != 2 or sources[0][0] is not sources[1][0]:
        return False
    (x, start), (_, zero) = sources
    n = x.shape[node.dim]
    sizes = [part.shape[node.dim] for part in node.parts]
    return zero == 0 and sizes == [n - start, start]


def _source(part: ir.Node, dim: int) -> tuple[ir.Node, int]:
    """Returns the operand of the slice `part`, and its start.

    That holds for slices along `dim` alone, with step 1; of others it returns `part` and 0.
    """
    if isinstance(part, ir.Slice) and part.strides[dim] == 1:
        others = [k for k in range(len(part.shape)) if k != dim]
        if all([part.shape[k] == part.x.shape[k] for k in others]):
            return part.x, part.starts[dim]
    return part, 0


@rule(ir.Convolution)
def _partition_convolution(node: ir.Convolution) -> Factors:
    """Returns the factors of a convolution.

    It can be sharded along the batch, features of either side, and space, where windows overlap
    those of neighbors. Axes of the result are the factors; the features that are summed over come
    last.
    """
    c = node.dims
    summed = len(node.shape)
    sizes = [*node.shape, node.x.shape[c.x_axes[1]]]
    x: list[tuple[int, ...]] = [()] * summed
    w: list[tuple[int, ...]] = [()] * summed
    if c.batch_groups == 1:
        x[c.x_axes[0]] = (c.out_axes[0],)
    if c.groups == c.batch_groups == 1:
        w[c.w_axes[0]] = (c.out_axes[1],)
        x[c.x_axes[1]] = w[c.w_axes[1]] = (summed,)
    for k in range(c.rank):
        axis, out = c.x_axes[k + 2], c.out_axes[k + 2]
        if c.x_dilation[k] == 1:
            x[axis] = (out,)
            sizes[out] = math.gcd(node.x.shape[axis], node.shape[out])

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        image, window = xs
        low, high = [*c.low], [*c.high]
        for k in range(c.rank):
            axis, out = c.x_axes[k + 2], c.out_axes[k + 2]
            if x[axis] and out in division:
                n = shapes[0][out]
                reach = dilated(node.w.shape[c.w_axes[k + 2]], c.w_dilation[k])
                length = (n - 1) * c.strides[k] + reach
                image = m.window(image, axis, division[out], n * c.strides[k], -low[k], length)
                low[k] = high[k] = 0
        return m.b.convolution(image, window, replace(c, low=tuple(low), high=tuple(high)))

    used = {f for dims in (x, w) for factors in dims for f in factors}
    result = tuple([(k,) if k in used else () for k in range(summed)])
    return Factors(sizes, [tuple(x), tuple(w)], [result], build, {summed: "add"})
