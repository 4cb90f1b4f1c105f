"""Index maps of nodes, which relate the axes of their operands and results.

Each kind of node has a rule that returns its index map (`core.util.index_space`). Sharding
propagation and the partitioner are derived from these maps. The axes of a node without a rule are
unrelated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler import library
from jitney.compiler.hlo import ir, traversal
from jitney.core.util import index_space
from jitney.core.util.index_space import Dims, IndexMap, plain
from jitney.core.util.record import replace

Rule: TypeAlias = Callable[[Any], "IndexMap | None"]
_rules: dict[type, Rule] = {}


def rule(kind: type) -> Callable[[Rule], Rule]:
    """Registers the rule of a kind of node: node -> index map, or None if no axes are related."""

    def enter(rule: Rule) -> Rule:
        _rules[kind] = rule
        return rule

    return enter


def index_map(node: ir.Node) -> IndexMap | None:
    """Returns the index map of `node`, or None if its axes are unrelated."""
    own_rule = _rules.get(type(node))
    return None if own_rule is None else own_rule(node)


# --- leaves and elements --------------------------------------------------------------------------


@rule(ir.Iota)
def _iota(node: ir.Iota) -> IndexMap:
    return IndexMap(node.shape, (), [plain(len(node.shape))])


@rule(ir.Apply)
def _apply(node: ir.Apply) -> IndexMap:
    return index_space.elementwise(node.shape, len(node.args))


# --- views ----------------------------------------------------------------------------------------


@rule(ir.Broadcast)
def _broadcast(node: ir.Broadcast) -> IndexMap:
    return index_space.broadcast(node.x.shape, node.shape, node.dims)


@rule(ir.Reshape)
def _reshape(node: ir.Reshape) -> IndexMap | None:
    if 0 in node.shape:
        return None
    sizes, old, new = index_space.refinement(node.x.shape, node.shape)
    return IndexMap(sizes, [old], [new])


@rule(ir.Transpose)
def _transpose(node: ir.Transpose) -> IndexMap:
    return index_space.transpose(node.x.shape, node.perm)


@rule(ir.Bitcast)
def _bitcast(node: ir.Bitcast) -> IndexMap:
    return index_space.bitcast(node.x.shape, node.shape)


# --- parts of axes --------------------------------------------------------------------------------


def _common(old: ir.Shape, new: ir.Shape) -> list[int]:
    """Returns the factor sizes of axes that change size: the gcd of both sizes."""
    return [math.gcd(n, m) for n, m in zip(old, new, strict=True)]


@rule(ir.Slice)
def _slice(node: ir.Slice) -> IndexMap:
    """Returns the map of a slice.

    A sliced axis stays sharded if the number of shards divides its sizes before and after slicing.
    If these have no common divisor, the axis has a separate factor in the operand.
    """
    rank = len(node.shape)
    sizes = [*_common(node.x.shape, node.shape), *node.x.shape]
    divided = [k for k in range(rank) if sizes[k] > 1]
    dims: Dims = tuple([(k,) if k in divided else (rank + k,) for k in range(rank)])
    return IndexMap(sizes, [dims], [plain(rank, [k for k in range(rank) if k not in divided])])


@rule(ir.Reverse)
def _reverse(node: ir.Reverse) -> IndexMap:
    return index_space.elementwise(node.shape)


@rule(ir.Pad)
def _pad(node: ir.Pad) -> IndexMap:
    rank = len(node.shape)
    same = unpadded_axes(node)
    dilated = [k for k in range(rank) if node.interior[k] and k not in same]
    sizes, dims = _common(node.x.shape, node.shape), plain(rank)
    return IndexMap(sizes, [dims, ()], [dims], replicated=frozenset(dilated))


def unpadded_axes(node: ir.Pad) -> list[int]:
    """Returns the axes along which a `Pad` leaves its operand unchanged."""
    same = zip(node.x.shape, node.shape, node.low, strict=True)
    return [k for k, (n, m, low) in enumerate(same) if n == m and not low]


@rule(ir.Concatenate)
def _concatenate(node: ir.Concatenate) -> IndexMap:
    """Returns the map of a concatenation.

    Parts that are slices are replaced by the tensors they slice, so that a roll keeps its sharding.
    """
    dim, dims = node.dim, plain(len(node.shape))
    sources = concatenated(node)
    if is_roll(node, sources):
        return IndexMap(node.shape, [dims], [dims])
    common = math.gcd(node.shape[dim], *[x.shape[dim] for x, _ in sources])
    sizes = [*node.shape[:dim], common, *node.shape[dim + 1 :]]
    return IndexMap(sizes, [dims] * len(sources), [dims])


def related_operands(node: ir.Node) -> Sequence[ir.Node]:
    """Returns the nodes to which the operands of a node's index map correspond.

    They are the operands of the node, except for a concatenation: its parts that are slices are
    replaced by the tensors that they slice, and a roll has a single tensor.
    """
    if not isinstance(node, ir.Concatenate):
        return traversal.operands(node)
    sources = concatenated(node)
    nodes = [x for x, _ in sources]
    return nodes[:1] if is_roll(node, sources) else nodes


def concatenated(node: ir.Concatenate) -> list[tuple[ir.Node, int]]:
    """Returns, for each part of a concatenation, the tensor it is read from and its offset there.

    A part that is a slice with step 1, along the concatenated axis only, is read from the slice's
    operand.
    """
    return [_source(part, node.dim) for part in node.parts]


def _source(part: ir.Node, dim: int) -> tuple[ir.Node, int]:
    if isinstance(part, ir.Slice) and part.strides[dim] == 1:
        others = [k for k in range(len(part.shape)) if k != dim]
        if all([part.shape[k] == part.x.shape[k] for k in others]):
            return part.x, part.starts[dim]
    return part, 0


def is_roll(node: ir.Concatenate, sources: Sequence[tuple[ir.Node, int]]) -> bool:
    """Returns whether the parts are the end and the beginning of the same tensor, in this order."""
    if len(sources) != 2 or sources[0][0] is not sources[1][0]:
        return False
    (x, start), (_, zero) = sources
    n = x.shape[node.dim]
    sizes = [part.shape[node.dim] for part in node.parts]
    return zero == 0 and sizes == [n - start, start]


# --- reductions -----------------------------------------------------------------------------------


_OF_BOOLEANS: Mapping[ir.Monoid, ir.Monoid] = {
    "add": "or", "max": "or", "mul": "and", "min": "and",
}  # fmt: skip


def monoid(fn: ir.Monoid, dtype: np.dtype) -> ir.Monoid:
    """Returns the monoid that combines partial results; for Booleans it is a bitwise one."""
    return _OF_BOOLEANS.get(fn, fn) if dtype == np.bool_ else fn


@rule(ir.Reduce)
def _reduce(node: ir.Reduce) -> IndexMap:
    if node.in_order:
        related = index_space.reduction(node.x.shape, node.dims)
        return replace(related, replicated=frozenset(node.dims))
    return index_space.reduction(node.x.shape, node.dims, monoid(node.fn, node.dtype))


@rule(ir.ReduceRegion)
def _reduce_region(node: ir.ReduceRegion) -> IndexMap:
    n = len(node.xs)
    related = index_space.reduction(
        node.xs[0].shape, node.dims, operands=n, scalars=n, results=n
    )  # fmt: skip
    return replace(related, replicated=frozenset(node.dims))


@rule(ir.ArgReduce)
def _arg_reduce(node: ir.ArgReduce) -> IndexMap:
    return index_space.reduction(node.x.shape, (node.dim,))


@rule(ir.Cumulative)
def _cumulative(node: ir.Cumulative) -> IndexMap:
    replicated = (node.dim,) if node.fn == "logaddexp" else ()
    return index_space.elementwise(node.x.shape, replicated=replicated)


@rule(ir.Dot)
def _dot(node: ir.Dot) -> IndexMap:
    fn = monoid("add", node.dtype)
    return index_space.dot(node.x.shape, node.y.shape, node.contract, node.batch, fn)


@rule(ir.Convolution)
def _convolution(node: ir.Convolution) -> IndexMap:
    """Returns the map of a convolution.

    The factors are the axes of the result, followed by the input features, which are summed over.
    Along spatial axes, a shard of the result also needs elements of neighboring shards.
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
    used = {f for dims in (x, w) for factors in dims for f in factors}
    result = tuple([(k,) if k in used else () for k in range(summed)])
    return IndexMap(sizes, [tuple(x), tuple(w)], [result], {summed: "add"})


# --- order and transforms -------------------------------------------------------------------------


@rule(ir.Sort)
def _sort(node: ir.Sort) -> IndexMap:
    n = len(node.xs)
    return index_space.elementwise(node.xs[0].shape, n, n, (node.dim,))


@rule(ir.TopK)
def _top_k(node: ir.TopK) -> IndexMap:
    rank = len(node.x.shape)
    result = plain(rank, (node.dim,))
    return IndexMap(node.x.shape, [plain(rank)], [result] * 2, replicated=frozenset((node.dim,)))


@rule(ir.Dft)
def _dft(node: ir.Dft) -> IndexMap:
    return index_space.elementwise(node.re.shape, 2, 1 if node.to_real else 2, (node.dim,))


# --- library calls --------------------------------------------------------------------------------


@rule(ir.LibraryCall)
def _library_call(node: ir.LibraryCall) -> IndexMap | None:
    """Returns the map of a batched library function, whose batch axes are the factors."""
    item_rank = library.find(node.name).item_rank
    if item_rank is None:
        return None
    operands = [x.shape for x in node.args]
    results = [t.shape for t in node.type] if isinstance(node.type, tuple) else [node.shape]
    batch = operands[0][: len(operands[0]) - item_rank]
    if any([shape[: len(batch)] != batch for shape in (*operands, *results)]):
        return None
    return index_space.blocks(batch, [*map(len, operands)], [*map(len, results)])


# --- computed indices: one block ------------------------------------------------------------------


def is_index(dtype: np.dtype) -> bool:
    """Returns whether the offset of a shard can be added to indices of `dtype`.

    Narrow integers could overflow.
    """
    return dtype.kind in "iu" and dtype.itemsize >= 4


def is_combined(dtype: np.dtype) -> bool:
    """Returns whether the owner of an element of `dtype` can broadcast it as bits.

    This is possible for bfloat16, and for dtypes of the kinds "b", "i", "u" and "f".
    """
    return dtype.kind in "biuf" or dtype.itemsize == 2


def single_axes(shape: ir.Shape, sizes: Sequence[int], starts: Sequence[ir.Node]) -> list[int]:
    """Returns the axes of size > 1 along which a block has size 1, so that one device owns it.

    Axes are left out if `is_index` is false for the dtypes of their start indices.
    """
    return [
        k for k, n in enumerate(sizes) if n == 1 != shape[k] and is_index(starts[k].dtype)
    ]  # fmt: skip


@rule(ir.DynamicSlice)
def _dynamic_slice(node: ir.DynamicSlice) -> IndexMap:
    shape, rank = node.x.shape, len(node.sizes)
    single = single_axes(shape, node.sizes, node.starts) if is_combined(node.dtype) else []
    parts = [k for k in range(rank) if shape[k] != node.sizes[k]]
    scalars: list[Dims] = [()] * rank
    replicated = frozenset(parts).difference(single)
    operands = [plain(rank), *scalars]
    return IndexMap(shape, operands, [plain(rank, parts)], replicated=replicated)


@rule(ir.DynamicUpdateSlice)
def _dynamic_update_slice(node: ir.DynamicUpdateSlice) -> IndexMap:
    shape, rank = node.shape, len(node.shape)
    parts = [k for k in range(rank) if shape[k] != node.update.shape[k]]
    scalars: list[Dims] = [()] * rank
    replicated = frozenset(parts).difference(single_axes(shape, node.update.shape, node.starts))
    operands = [plain(rank), plain(rank, parts), *scalars]
    return IndexMap(shape, operands, [plain(rank)], replicated=replicated)


# --- computed indices: many windows ---------------------------------------------------------------


def owned_axes(
    shape: ir.Shape, sizes: Sequence[int], indices: ir.Node, moved: ir.Axes
) -> list[int]:
    """Returns the axes of size > 1 that are indexed, and along which windows have size 1."""
    if not is_index(indices.dtype):
        return []
    return [k for k in moved if sizes[k] == 1 != shape[k]]


def _needed(
    shape: ir.Shape, sizes: Sequence[int], gone: ir.Axes, batching: ir.Axes, moved: ir.Axes
) -> frozenset[int]:
    """Returns the axes of the operand of a gather or scatter that every shard needs completely.

    These are all axes except batching axes and those along which the windows are kept, span the
    operand, and are not moved by indices.
    """
    whole = [k for k, n in enumerate(sizes) if n == shape[k] and k not in (*gone, *moved)]
    return frozenset(range(len(shape))).difference(whole, batching)


@rule(ir.Gather)
def _gather(node: ir.Gather) -> IndexMap:
    dims, shape = node.dims, node.x.shape
    batching, moved = dims.operand_batching_dims, dims.start_index_map
    gone = (*dims.collapsed_slice_dims, *batching)
    pairs = [*zip(batching, dims.start_indices_batching_dims, strict=True)]
    sizes, x, index, result = index_space.windows(
        shape, node.indices.shape, node.slice_sizes, dims.offset_dims, gone, pairs, len(node.shape)
    )
    own = gather_owned_axes(node)
    needed = _needed(shape, node.slice_sizes, gone, batching, moved).difference(own)
    return IndexMap(sizes, [x, index], [result], replicated=needed)


def gather_owned_axes(node: ir.Gather) -> list[int]:
    """Returns the axes of a gather along which owners broadcast their elements to all devices."""
    if not is_combined(node.dtype):
        return []
    return owned_axes(node.x.shape, node.slice_sizes, node.indices, node.dims.start_index_map)


@rule(ir.Scatter)
def _scatter(node: ir.Scatter) -> IndexMap:
    """Returns the map of a scatter.

    An element may receive several updates, so each device needs all updates.
    """
    dims, shape = node.dims, node.x.shape
    windows = traversal.window_sizes(node)
    batching, moved = dims.operand_batching_dims, dims.scatter_dims_to_operand_dims
    gone = (*dims.inserted_window_dims, *batching)
    pairs = [*zip(batching, dims.scatter_indices_batching_dims, strict=True)]
    sizes, x, index, updates = index_space.windows(
        shape, node.indices.shape, windows, dims.update_window_dims, gone, pairs,
        len(node.updates.shape),
    )  # fmt: skip
    own = owned_axes(shape, windows, node.indices, moved)
    needed = _needed(shape, windows, gone, batching, moved).difference(own)
    several = [f for f in itertools.chain(*index) if f >= len(shape)]
    return IndexMap(sizes, [x, index, updates], [x], replicated=needed.union(several))
