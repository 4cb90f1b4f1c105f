"""Sharding of nodes that read and write at computed indices.

Along axes that windows span completely, such nodes are sharded like their operands. Along an axis
in which a window is one element, the device that owns the element reads or writes it. For a read,
all other devices provide zeros, and the bits are combined by `or`, which is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.index_map import gather_owned_axes, owned_axes, single_axes
from jitney.compiler.hlo.partition.factors import builds
from jitney.compiler.hlo.partition.layout import Names
from jitney.compiler.hlo.partition.movement import Movement
from jitney.compiler.hlo.partition.rules import Nodes, Shapes
from jitney.core.util.index_space import Division

_INT32 = np.dtype(np.int32)


def _of_owner(m: Movement, x: ir.Node, owned: ir.Node, names: Names) -> ir.Node:
    """Returns, on all devices along `names`, each element of `x` as its owner holds it.

    `owned` is true for the elements that this device owns.
    """
    b, dtype = m.b, x.dtype
    bits = x if dtype.kind in "biu" else b.bitcast(x, np.dtype(f"uint{8 * dtype.itemsize}"))
    zero = b.full(x.shape, 0, bits.dtype)
    mine = b.apply("select", owned, bits, zero)
    combined = m.collective("all_reduce", names, (("fn", "or"),), mine)
    return b.bitcast(combined, dtype)


# --- one block ----------------------------------------------------------------------------------------


def _start(
    m: Movement, start: ir.Node, n: int, names: Names
) -> tuple[ir.Node, ir.Node]:  # fmt: skip
    """Clamps `start`, an index along an axis of size `n` that is sharded along `names`.

    Returns the index relative to this device's shard, and whether it is within the shard.
    """
    b = m.b
    size = n // m.mesh.parts(names)
    clamped = _clamped(m, start, n - 1)
    local = b.apply("sub", clamped, b.convert(m.offset(names, size), start.dtype))
    zero, end = b.full((), 0, start.dtype), b.full((), size, start.dtype)
    owned = b.apply("and", b.apply("ge", local, zero), b.apply("lt", local, end))
    return local, owned


def _clamped(m: Movement, index: ir.Node, last: int) -> ir.Node:
    zero = m.b.full(index.shape, 0, index.dtype)
    return m.b.apply("max", zero, m.b.apply("min", index, m.b.full(index.shape, last, index.dtype)))


@builds(ir.DynamicSlice)
def _dynamic_slice(
    node: ir.DynamicSlice, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    x, starts = xs[0], xs[1:]
    owners: list[tuple[ir.Node, Names]] = []
    for k in single_axes(node.x.shape, node.sizes, node.starts):
        if k in division:
            starts[k], owned = _start(m, starts[k], node.x.shape[k], division[k])
            owners.append((owned, division[k]))
    out = m.b.dynamic_slice(x, starts, shapes[0])
    for owned, names in owners:
        out = _of_owner(m, out, m.b.broadcast(owned, out.shape, ()), names)
    return out


@builds(ir.DynamicUpdateSlice)
def _dynamic_update_slice(
    node: ir.DynamicUpdateSlice, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    b, x, update, starts = m.b, xs[0], xs[1], xs[2:]
    owned: Nodes = []
    for k in single_axes(node.x.shape, node.update.shape, node.starts):
        if k in division:
            starts[k], mine = _start(m, starts[k], node.x.shape[k], division[k])
            owned.append(mine)
    if owned:
        old = b.dynamic_slice(x, starts, update.shape)
        all_owned = reduce(lambda p, q: b.apply("and", p, q), owned)
        update = b.apply("select", b.broadcast(all_owned, update.shape, ()), update, old)
    return b.dynamic_update_slice(x, update, starts)


# --- many windows -------------------------------------------------------------------------------------


def _clamped_vectors(
    m: Movement, indices: ir.Node, shape: ir.Shape, sizes: Sequence[int], moved: ir.Axes
) -> ir.Node:
    """Clamps index vectors so that all windows are within the array."""
    b = m.b
    last = b.constant(np.asarray([shape[k] - sizes[k] for k in moved], _INT32))
    highest = b.broadcast(last, indices.shape, (len(indices.shape) - 1,))
    zero = b.full(indices.shape, 0, indices.dtype)
    return b.apply("max", zero, b.apply("min", indices, highest))


def _local_vectors(m: Movement, indices: ir.Node, entry: int, size: int, names: Names) -> ir.Node:
    """Returns index vectors whose element `entry` is relative to the device's shard."""
    b = m.b
    places = b.iota(_INT32, indices.shape, len(indices.shape) - 1)
    is_entry = b.apply("eq", places, b.full(indices.shape, entry, _INT32))
    offset = b.broadcast(b.convert(m.offset(names, size), indices.dtype), indices.shape, ())
    zero = b.full(indices.shape, 0, indices.dtype)
    return b.apply("sub", indices, b.apply("select", is_entry, offset, zero))


def _within(m: Movement, indices: ir.Node, entry: int, size: int) -> ir.Node:
    """Returns whether element `entry` of each index vector is in [0, size)."""
    b, axis = m.b, len(indices.shape) - 1
    index = b.reshape(m.cut(indices, axis, entry, entry + 1), indices.shape[:-1])
    low = b.apply("ge", index, b.full(index.shape, 0, index.dtype))
    return b.apply("and", low, b.apply("lt", index, b.full(index.shape, size, index.dtype)))


@builds(ir.Gather)
def _gather(node: ir.Gather, m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
    dims, b, (x, indices) = node.dims, m.b, xs
    gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    moved = dims.start_index_map
    batch = [k for k in range(len(node.shape)) if k not in dims.offset_dims]
    divided = [k for k in gather_owned_axes(node) if k in division]
    if divided and node.mode != "fill":
        indices = _clamped_vectors(m, indices, node.x.shape, node.slice_sizes, moved)
    local = indices
    for k in divided:
        local = _local_vectors(m, local, moved.index(k), x.shape[k], division[k])
    sizes = [
        n if k in gone or n != whole else x.shape[k]
        for k, (n, whole) in enumerate(zip(node.slice_sizes, node.x.shape, strict=True))
    ]
    out = b.gather(x, local, dims, sizes, node.mode, node.fill)
    for k in divided:
        owned = _within(m, local, moved.index(k), x.shape[k])
        out = _of_owner(m, out, b.broadcast(owned, out.shape, batch), division[k])
    if node.fill is None:
        return out
    fill = b.constant(node.fill)
    for k in divided:
        inside = _within(m, indices, moved.index(k), node.x.shape[k])
        outside = b.broadcast(fill, out.shape, ())
        out = b.apply("select", b.broadcast(inside, out.shape, batch), out, outside)
    return out


@builds(ir.Scatter)
def _scatter(
    node: ir.Scatter, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    """Builds a scatter: each device applies only the updates to its shard, in order."""
    dims, (x, indices, updates) = node.dims, xs
    moved, windows = dims.scatter_dims_to_operand_dims, traversal.window_sizes(node)
    divided = [k for k in owned_axes(node.x.shape, windows, node.indices, moved) if k in division]
    mode: ir.IndexMode = "fill" if divided else node.mode
    if divided and node.mode == "clip":
        indices = _clamped_vectors(m, indices, node.x.shape, windows, moved)
    for k in divided:
        indices = _local_vectors(m, indices, moved.index(k), x.shape[k], division[k])
    return m.b.scatter(x, indices, updates, dims, node.combine, mode, node.unique)
