"""Sharding of nodes that read and write at computed indices.

Along axes that windows span completely, they are sharded like their operands. Along an axis in
which a window is one element, the device that owns it reads or writes it. For a read, all other
devices have zeros, and the bits are combined by `or`, which is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import reduce

import numpy as np

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.partition.factors import Dims, Division, Factors, rule
from jitney.compiler.hlo.partition.layout import Names
from jitney.compiler.hlo.partition.movement import Movement
from jitney.compiler.hlo.partition.rules import Nodes, Shapes

_INT32 = np.dtype(np.int32)


def _is_combined(dtype: np.dtype) -> bool:
    """Returns whether bits of `dtype` can be combined: Booleans, and reals of at least a byte."""
    return dtype.kind in "biuf" or dtype.itemsize == 2


def _of_owner(m: Movement, x: ir.Node, owned: ir.Node, names: Names) -> ir.Node:
    """Returns `x` of the device for which `owned` is true, on all devices along `names`."""
    b, dtype = m.b, x.dtype
    bits = x if dtype.kind in "biu" else b.bitcast(x, np.dtype(f"uint{8 * dtype.itemsize}"))
    zero = b.full(x.shape, 0, bits.dtype)
    mine = b.apply("select", owned, bits, zero)
    combined = m.collective("all_reduce", names, (("fn", "or"),), mine)
    return b.bitcast(combined, dtype)


# --- one block ----------------------------------------------------------------------------------------


def _single(shape: ir.Shape, sizes: Sequence[int], starts: Sequence[ir.Node]) -> list[int]:
    """Returns the axes with several elements along which a block has one."""
    return [
        k for k, n in enumerate(sizes) if n == 1 != shape[k] and _is_index(starts[k].dtype)
    ]  # fmt: skip


def _is_index(dtype: np.dtype) -> bool:
    """Returns whether offsets of shards can be added to indices of `dtype`.

    Narrow ones would overflow.
    """
    return dtype.kind in "iu" and dtype.itemsize >= 4


def _start(
    m: Movement, start: ir.Node, n: int, names: Names
) -> tuple[ir.Node, ir.Node]:  # fmt: skip
    """Returns an index, clamped to size `n`, relative to the shard; and whether it is in it."""
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


@rule(ir.DynamicSlice)
def _partition_dynamic_slice(node: ir.DynamicSlice) -> Factors:
    single = _single(node.x.shape, node.sizes, node.starts) if _is_combined(node.dtype) else []

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        x, starts = xs[0], xs[1:]
        owners: list[tuple[ir.Node, Names]] = []
        for k in single:
            if k in division:
                starts[k], owned = _start(m, starts[k], node.x.shape[k], division[k])
                owners.append((owned, division[k]))
        out = m.b.dynamic_slice(x, starts, shapes[0])
        for owned, names in owners:
            out = _of_owner(m, out, m.b.broadcast(owned, out.shape, ()), names)
        return out

    whole = [k for k, n in enumerate(node.x.shape) if n == node.sizes[k]]
    rank = len(node.sizes)
    x: Dims = tuple([(k,) if k in whole or k in single else () for k in range(rank)])
    result: Dims = tuple([(k,) if k in whole else () for k in range(rank)])
    scalars: list[Dims] = [()] * rank
    return Factors(node.x.shape, [x, *scalars], [result], build)


@rule(ir.DynamicUpdateSlice)
def _partition_dynamic_update_slice(node: ir.DynamicUpdateSlice) -> Factors:
    single = _single(node.x.shape, node.update.shape, node.starts)

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        b, x, update, starts = m.b, xs[0], xs[1], xs[2:]
        owned: Nodes = []
        for k in single:
            if k in division:
                starts[k], mine = _start(m, starts[k], node.x.shape[k], division[k])
                owned.append(mine)
        if owned:
            old = b.dynamic_slice(x, starts, update.shape)
            all_owned = reduce(lambda p, q: b.apply("and", p, q), owned)
            update = b.apply("select", b.broadcast(all_owned, update.shape, ()), update, old)
        return b.dynamic_update_slice(x, update, starts)

    whole = [k for k, n in enumerate(node.x.shape) if n == node.update.shape[k]]
    rank = len(node.shape)
    x: Dims = tuple([(k,) if k in whole or k in single else () for k in range(rank)])
    update: Dims = tuple([(k,) if k in whole else () for k in range(rank)])
    scalars: list[Dims] = [()] * rank
    return Factors(node.shape, [x, update, *scalars], [x], build)


# --- many windows -------------------------------------------------------------------------------------


def _owned_axes(
    shape: ir.Shape, sizes: Sequence[int], indices: ir.Node, moved: ir.Axes
) -> list[int]:
    """Returns the axes with several elements that indices move along, and windows have one of."""
    if not _is_index(indices.dtype):
        return []
    return [k for k in moved if sizes[k] == 1 != shape[k]]


def _clamped_vectors(
    m: Movement, indices: ir.Node, shape: ir.Shape, sizes: Sequence[int], moved: ir.Axes
) -> ir.Node:
    """Clamps index vectors such that all windows are inside."""
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


def _aligned(
    shape: ir.Shape, indices: ir.Shape, sizes: Sequence[int], offsets: ir.Axes, gone: ir.Axes,
    pairs: Sequence[tuple[int, int]], result_rank: int,
) -> tuple[list[int], Dims, Dims, Dims]:  # fmt: skip
    """Returns the factors of a gather or scatter: sizes, and those of operand, indices, windows.

    Windows are sharded like the operand along axes that they span completely, and like the indices
    along the others; `pairs` are batching axes that the operand and the indices share.
    """
    rank = len(shape)
    whole = {k for k, n in enumerate(sizes) if n == shape[k] and k not in gone}
    batching = dict(pairs)
    operand = tuple([(k,) if k in whole or k in batching else () for k in range(rank)])
    together = {axis: k for k, axis in batching.items()}
    index = tuple([
        () if k == len(indices) - 1 else (together.get(k, rank + k),) for k in range(len(indices))
    ])  # fmt: skip
    window = iter([operand[k] for k in range(rank) if k not in gone])
    batch = iter(index[:-1])
    result = tuple([next(window if k in offsets else batch) for k in range(result_rank)])
    return [*shape, *indices], operand, index, result


@rule(ir.Gather)
def _partition_gather(node: ir.Gather) -> Factors:
    dims = node.dims
    gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    moved = dims.start_index_map
    own = _owned_axes(node.x.shape, node.slice_sizes, node.indices, moved)
    own = own if _is_combined(node.dtype) else []
    batch = [k for k in range(len(node.shape)) if k not in dims.offset_dims]

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        b, (x, indices) = m.b, xs
        divided = [k for k in own if k in division]
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

    pairs = [*zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True)]
    sizes, x, index, result = _aligned(
        node.x.shape, node.indices.shape, node.slice_sizes, dims.offset_dims, gone, pairs,
        len(node.shape),
    )  # fmt: skip
    still = [k for k in moved if x[k] and k not in own]  # a complete window may still begin outside
    x, result = _without_factors(x, still), _without_factors(result, still)
    x = tuple([(k,) if k in own else factors for k, factors in enumerate(x)])
    return Factors(sizes, [x, index], [result], build)


def _without_factors(dims: Dims, gone: Sequence[int]) -> Dims:
    return tuple([tuple([f for f in factors if f not in gone]) for factors in dims])


@rule(ir.Scatter)
def _partition_scatter(node: ir.Scatter) -> Factors:
    """Returns the factors of a scatter.

    Each device applies, of all updates, those to its shard, in order.
    """
    dims = node.dims
    gone = (*dims.inserted_window_dims, *dims.operand_batching_dims)
    moved = dims.scatter_dims_to_operand_dims
    windows = traversal.window_sizes(node)
    own = _owned_axes(node.x.shape, windows, node.indices, moved)

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        x, indices, updates = xs
        divided = [k for k in own if k in division]
        mode: ir.IndexMode = "fill" if divided else node.mode
        if divided and node.mode == "clip":
            indices = _clamped_vectors(m, indices, node.x.shape, windows, moved)
        for k in divided:
            indices = _local_vectors(m, indices, moved.index(k), x.shape[k], division[k])
        return m.b.scatter(x, indices, updates, dims, node.combine, mode, node.unique)

    pairs = [*zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True)]
    sizes, x, index, updates = _aligned(
        node.x.shape, node.indices.shape, windows, dims.update_window_dims, gone, pairs,
        len(node.updates.shape),
    )  # fmt: skip
    still = [k for k in moved if x[k]]
    rank = len(node.x.shape)
    several = [f for f in itertools.chain(*index) if f >= rank]  # elements may have several updates
    x = _without_factors(x, still)
    x = tuple([(k,) if k in own else factors for k, factors in enumerate(x)])
    index, updates = _without_factors(index, several), _without_factors(updates, [*still, *several])
    return Factors(sizes, [x, index, updates], [x], build)
