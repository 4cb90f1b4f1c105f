"""Sharding along axes whose elements a node moves: halo exchange between neighbors.

These nodes are slices, padding, reversal, concatenation (including rolls, which are concatenations
of slices), and windows of convolutions. Each device computes its shard of the result from a window
of the operand (`Movement.window`).
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.dims import dilated
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.index_map import concatenated, is_roll, unpadded_axes
from jitney.compiler.hlo.partition.factors import builds
from jitney.compiler.hlo.partition.movement import Movement
from jitney.compiler.hlo.partition.rules import Nodes, Shapes
from jitney.core.util.index_space import Division
from jitney.core.util.record import replace


@builds(ir.Slice)
def _slice(
    node: ir.Slice, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:  # fmt: skip
    """Builds a slice.

    If the sizes of a sharded axis before and after slicing have no common divisor, the owners of
    the remaining elements broadcast them.
    """
    x, rank = xs[0], len(node.shape)
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


@builds(ir.Reverse)
def _reverse(
    node: ir.Reverse, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    x = xs[0]
    for dim in node.dims:
        if dim in division:
            x = m.mirrored(x, division[dim])
    return m.b.reverse(x, node.dims)


@builds(ir.Pad)
def _pad(
    node: ir.Pad, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:  # fmt: skip
    rank, same = len(node.shape), unpadded_axes(node)
    fill = traversal.scalar_value(node.value)
    zero = fill is not None and not any(np.asarray(fill).tobytes())
    b, (x, value) = m.b, xs
    moved = [dim for dim in range(rank) if dim in division and dim not in same]
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


@builds(ir.Concatenate)
def _concatenate(
    node: ir.Concatenate, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    """Builds a concatenation: each device reads the elements of its shard from each part.

    Parts that are slices are read from their operands, so a roll needs only halos.
    """
    dim, sources = node.dim, concatenated(node)
    if is_roll(node, sources):
        return _roll(node, m, xs[0], division, shapes[0][dim])
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


def _roll(
    node: ir.Concatenate, m: Movement, x: ir.Node, division: Division, n: int
) -> ir.Node:  # fmt: skip
    """Builds a roll: the elements of `x` from a start index to the end, then those before it."""
    dim, size = node.dim, node.shape[node.dim]
    start = size - node.parts[0].shape[dim]
    if dim in division:
        return m.window(x, dim, division[dim], n, start, n, periodic=True)
    parts = [m.cut(x, dim, start, size), m.cut(x, dim, 0, start)]
    return m.b.concatenate(parts, dim)


@builds(ir.Convolution)
def _convolution(
    node: ir.Convolution, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    c, (image, window) = node.dims, xs
    low, high = [*c.low], [*c.high]
    for k in range(c.rank):
        axis, out = c.x_axes[k + 2], c.out_axes[k + 2]
        if out in division:
            n = shapes[0][out]
            reach = dilated(node.w.shape[c.w_axes[k + 2]], c.w_dilation[k])
            length = (n - 1) * c.strides[k] + reach
            image = m.window(image, axis, division[out], n * c.strides[k], -low[k], length)
            low[k] = high[k] = 0
    return m.b.convolution(image, window, replace(c, low=tuple(low), high=tuple(high)))
