"""Index maps: how the axes of a node's operands and results relate.

A node computes over an index space. Each axis of it is a *factor*; an axis of an operand or of a
result runs over one factor, over several (for a reshape; major first), or over none that another
tensor has. A product has three factors:

    x[i, k] y[k, j] -> out[i, j], k reduced by add

A rule for each kind of node returns its map. Sharding propagation and the partitioner are derived
from it: to shard a node is to assign mesh axes to factors, and the shardings of operands and
results follow. A node without a rule relates no axes.

The idea is Shardy's (openxla.org/shardy), where factors that a device needs completely are also
marked, as here in `replicated`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler import library
from jitney.compiler.hlo import ir, traversal
from jitney.core.util.record import record, replace

Dims: TypeAlias = tuple[tuple[int, ...], ...]  # for each axis of a tensor, its factors
Names: TypeAlias = tuple[Any, ...]  # mesh axes, major first
# For each axis of a tensor, the mesh axes that it is sharded along.
Spec: TypeAlias = tuple[Names, ...]
Division: TypeAlias = Mapping[int, Names]  # the mesh axes assigned to factors


@record(frozen=True, eq=False)
class IndexMap:
    """How the axes of the operands and results of a node relate.

    Attributes:
      sizes: sizes of the factors; the number of shards along a factor has to divide its size.
      operands: for each operand the factors of its axes.
      results: for each result the factors of its axes.
      reduced: factors that results are reduced over, with the monoid; along these, results are
        partial.
      replicated: factors along which each element of a result may depend on all elements of
        operands, as of a sort; a device that computes a shard needs them completely.
      nodes: the operands, if they are not the node's own.
    """

    sizes: Sequence[int]
    operands: Sequence[Dims]
    results: Sequence[Dims]
    reduced: Mapping[int, ir.Monoid] = {}
    replicated: frozenset[int] = frozenset()
    nodes: Sequence[ir.Node] | None = None

    def divisible(self) -> IndexMap:
        """Returns the map without its replicated factors: axes along them have none."""
        if not self.replicated:
            return self
        operands = [without_factors(dims, self.replicated) for dims in self.operands]
        results = [without_factors(dims, self.replicated) for dims in self.results]
        return replace(self, operands=operands, results=results, replicated=frozenset[int]())

    def read(
        self, dims: Dims, spec: Spec, parts: Callable[[Names], int]
    ) -> dict[int, Names]:  # fmt: skip
        """Returns the sharding of factors that a tensor with axes `dims` and `spec` implies.

        Mesh axes that do not divide factors evenly are left out; `parts` counts the shards along
        mesh axes.
        """
        division: dict[int, Names] = {}
        for factors, names in zip(dims, spec, strict=True):
            remaining = names
            for factor in factors:
                taken = 0
                while (
                    taken < len(remaining)
                    and self.sizes[factor] % parts(remaining[: taken + 1]) == 0
                ):
                    taken += 1
                if taken:
                    division[factor] = remaining[:taken]
                remaining = remaining[taken:]
                if parts(division.get(factor, ())) != self.sizes[factor]:
                    break
        return division

    def spec(self, dims: Dims, division: Division, parts: Callable[[Names], int]) -> Spec:
        """Returns the spec of a tensor with axes `dims` for a sharding of factors.

        An axis is sharded along a factor only if it is sharded completely along those before it.
        """
        spec: list[Names] = []
        for factors in dims:
            names: Names = ()
            for factor in factors:
                own = division.get(factor, ())
                names += own
                if parts(own) != self.sizes[factor]:
                    break
            spec.append(names)
        return tuple(spec)


Rule: TypeAlias = Callable[[Any], "IndexMap | None"]
_rules: dict[type, Rule] = {}


def rule(kind: type) -> Callable[[Rule], Rule]:
    """Registers the rule of a kind of nodes: node -> index map, or None if no axes relate."""

    def enter(rule: Rule) -> Rule:
        _rules[kind] = rule
        return rule

    return enter


def index_map(node: ir.Node) -> IndexMap | None:
    """Returns how the axes of operands and results of `node` relate, or None if they do not."""
    own_rule = _rules.get(type(node))
    return None if own_rule is None else own_rule(node)


def plain(rank: int, whole: Sequence[int] = ()) -> Dims:
    """Returns dims in which axis k has factor k; axes of `whole` have none."""
    return tuple([() if k in whole else (k,) for k in range(rank)])


def without(dims: Dims, gone: Sequence[int]) -> Dims:
    """Returns `dims` without the axes `gone`."""
    return tuple([factors for k, factors in enumerate(dims) if k not in gone])


def without_factors(dims: Dims, gone: Sequence[int] | frozenset[int]) -> Dims:
    """Returns `dims` whose axes lack the factors `gone`."""
    return tuple([tuple([f for f in factors if f not in gone]) for factors in dims])


# --- leaves and elements --------------------------------------------------------------------------


@rule(ir.Iota)
def _iota(node: ir.Iota) -> IndexMap:
    return IndexMap(node.shape, (), [plain(len(node.shape))])


@rule(ir.Apply)
def _apply(node: ir.Apply) -> IndexMap:
    dims = plain(len(node.shape))
    return IndexMap(node.shape, [dims] * len(node.args), [dims])


# --- views ----------------------------------------------------------------------------------------


@rule(ir.Broadcast)
def _broadcast(node: ir.Broadcast) -> IndexMap:
    kept = zip(node.dims, node.x.shape, strict=True)
    dims = tuple([(k,) if n == node.shape[k] else () for k, n in kept])
    return IndexMap(node.shape, [dims], [plain(len(node.shape))])


@rule(ir.Reshape)
def _reshape(node: ir.Reshape) -> IndexMap | None:
    if 0 in node.shape:
        return None
    sizes, old, new = refinement(node.x.shape, node.shape)
    return IndexMap(sizes, [old], [new])


@rule(ir.Transpose)
def _transpose(node: ir.Transpose) -> IndexMap:
    dims = plain(len(node.shape))
    return IndexMap(node.x.shape, [dims], [tuple([dims[k] for k in node.perm])])


@rule(ir.Bitcast)
def _bitcast(node: ir.Bitcast) -> IndexMap:
    rank = min(len(node.x.shape), len(node.shape))
    old, new = [(*plain(rank), *[()] * (len(shape) - rank)) for shape in (node.x.shape, node.shape)]
    return IndexMap(node.shape[:rank], [old], [new])


def refinement(old: ir.Shape, new: ir.Shape) -> tuple[list[int], Dims, Dims]:
    """Returns the common factors of the axes of two shapes of equal size.

    They are the sizes of the factors, and the factors of each axis of the two shapes.
    """
    bounds = sorted({*_bounds(old), *_bounds(new)}, reverse=True)
    spans = [*itertools.pairwise(bounds)]
    usable = {span for span in spans if span[0] % span[1] == 0}
    while True:  # factors after an unusable one in an axis are not blocks of it
        before = len(usable)
        for shape in (old, new):
            for axis, inner in zip(_spans(shape, spans), _bounds(shape)[1:], strict=True):
                fits = [span in usable and span[1] % inner == 0 for span in axis]
                usable -= {*axis[[*fits, False].index(False) :]}
        if len(usable) == before:
            break
    numbers = {span: k for k, span in enumerate([s for s in spans if s in usable])}
    dims = [
        tuple([tuple([numbers[s] for s in axis if s in numbers]) for axis in _spans(shape, spans)])
        for shape in (old, new)
    ]
    return [high // low for high, low in numbers], dims[0], dims[1]


def _bounds(shape: ir.Shape) -> list[int]:
    return [math.prod(shape[k:]) for k in range(len(shape) + 1)]


def _spans(shape: ir.Shape, spans: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Returns the spans that each axis of a shape consists of."""
    bounds = _bounds(shape)
    return [
        [span for span in spans if high >= span[0] and span[1] >= low]
        for high, low in itertools.pairwise(bounds)
    ]


# --- parts of axes --------------------------------------------------------------------------------


def _common(old: ir.Shape, new: ir.Shape) -> list[int]:
    """Returns the sizes of factors for axes that change size: the greatest common divisors."""
    return [math.gcd(n, m) for n, m in zip(old, new, strict=True)]


@rule(ir.Slice)
def _slice(node: ir.Slice) -> IndexMap:
    """Returns the map of a slice.

    Sliced axes stay sharded if a number of shards divides both sizes; an axis that is sliced to few
    elements has a factor of its own in the operand.
    """
    rank = len(node.shape)
    sizes = [*_common(node.x.shape, node.shape), *node.x.shape]
    divided = [k for k in range(rank) if sizes[k] > 1]
    dims: Dims = tuple([(k,) if k in divided else (rank + k,) for k in range(rank)])
    return IndexMap(sizes, [dims], [plain(rank, [k for k in range(rank) if k not in divided])])


@rule(ir.Reverse)
def _reverse(node: ir.Reverse) -> IndexMap:
    dims = plain(len(node.shape))
    return IndexMap(node.shape, [dims], [dims])


@rule(ir.Pad)
def _pad(node: ir.Pad) -> IndexMap:
    rank = len(node.shape)
    same = unpadded_axes(node)
    dilated = [k for k in range(rank) if node.interior[k] and k not in same]
    sizes, dims = _common(node.x.shape, node.shape), plain(rank)
    return IndexMap(sizes, [dims, ()], [dims], replicated=frozenset(dilated))


def unpadded_axes(node: ir.Pad) -> list[int]:
    """Returns the axes along which a `Pad` keeps its operand."""
    same = zip(node.x.shape, node.shape, node.low, strict=True)
    return [k for k, (n, m, low) in enumerate(same) if n == m and not low]


@rule(ir.Concatenate)
def _concatenate(node: ir.Concatenate) -> IndexMap:
    """Returns the map of a concatenation.

    Parts that are slices are replaced by their operands, so that a roll keeps its sharding.
    """
    dim, dims = node.dim, plain(len(node.shape))
    sources = concatenated(node)
    nodes = [x for x, _ in sources]
    if is_roll(node, sources):
        return IndexMap(node.shape, [dims], [dims], nodes=nodes[:1])
    common = math.gcd(node.shape[dim], *[x.shape[dim] for x in nodes])
    sizes = [*node.shape[:dim], common, *node.shape[dim + 1 :]]
    return IndexMap(sizes, [dims] * len(nodes), [dims], nodes=nodes)


def concatenated(node: ir.Concatenate) -> list[tuple[ir.Node, int]]:
    """Returns, for each part of a concatenation, the tensor it is read from, and its start there.

    A slice along the concatenated axis alone, with step 1, is read from its operand.
    """
    return [_source(part, node.dim) for part in node.parts]


def _source(part: ir.Node, dim: int) -> tuple[ir.Node, int]:
    if isinstance(part, ir.Slice) and part.strides[dim] == 1:
        others = [k for k in range(len(part.shape)) if k != dim]
        if all([part.shape[k] == part.x.shape[k] for k in others]):
            return part.x, part.starts[dim]
    return part, 0


def is_roll(node: ir.Concatenate, sources: Sequence[tuple[ir.Node, int]]) -> bool:
    """Returns whether the parts are the end and the beginning of one tensor."""
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
    """Returns the monoid that combines partial results; for Booleans it is bitwise."""
    return _OF_BOOLEANS.get(fn, fn) if dtype == np.bool_ else fn


@rule(ir.Reduce)
def _reduce(node: ir.Reduce) -> IndexMap:
    dims = plain(len(node.x.shape))
    result = without(dims, node.dims)
    if node.in_order:
        return IndexMap(node.x.shape, [dims], [result], replicated=frozenset(node.dims))
    fn = monoid(node.fn, node.dtype)
    reduced: dict[int, ir.Monoid] = dict.fromkeys(node.dims, fn)
    return IndexMap(node.x.shape, [dims], [result], reduced)


@rule(ir.ReduceRegion)
def _reduce_region(node: ir.ReduceRegion) -> IndexMap:
    n, dims = len(node.xs), plain(len(node.xs[0].shape))
    scalars: list[Dims] = [()] * n
    results = [without(dims, node.dims)] * n
    replicated = frozenset(node.dims)
    return IndexMap(node.xs[0].shape, [dims] * n + scalars, results, replicated=replicated)


@rule(ir.ArgReduce)
def _arg_reduce(node: ir.ArgReduce) -> IndexMap:
    dims = plain(len(node.x.shape))
    return IndexMap(node.x.shape, [dims], [without(dims, (node.dim,))])


@rule(ir.Cumulative)
def _cumulative(node: ir.Cumulative) -> IndexMap:
    dims = plain(len(node.x.shape))
    replicated = frozenset((node.dim,) if node.fn == "logaddexp" else ())
    return IndexMap(node.x.shape, [dims], [dims], replicated=replicated)


@rule(ir.Dot)
def _dot(node: ir.Dot) -> IndexMap:
    x: Dims = plain(len(node.x.shape))
    sizes = list(node.x.shape)
    y: list[tuple[int, ...]] = []
    paired = {j: k for pair in (node.contract, node.batch) for k, j in zip(*pair, strict=True)}
    for k, n in enumerate(node.y.shape):
        if k not in paired:
            sizes.append(n)
        y.append((paired.get(k, len(sizes) - 1),))
    result = (
        *[x[k] for k in node.batch[0]],
        *without(x, (*node.contract[0], *node.batch[0])),
        *without(tuple(y), (*node.contract[1], *node.batch[1])),
    )
    fn = monoid("add", node.dtype)
    reduced: dict[int, ir.Monoid] = dict.fromkeys(node.contract[0], fn)
    return IndexMap(sizes, [x, tuple(y)], [result], reduced)


@rule(ir.Convolution)
def _convolution(node: ir.Convolution) -> IndexMap:
    """Returns the map of a convolution: over the batch, features of either side, and space.

    Axes of the result are the factors; the features that are summed over come last. Windows overlap
    those of neighboring shards.
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
    shape, n = node.xs[0].shape, len(node.xs)
    dims = plain(len(shape))
    return IndexMap(shape, [dims] * n, [dims] * n, replicated=frozenset((node.dim,)))


@rule(ir.TopK)
def _top_k(node: ir.TopK) -> IndexMap:
    rank = len(node.x.shape)
    result = plain(rank, (node.dim,))
    return IndexMap(node.x.shape, [plain(rank)], [result] * 2, replicated=frozenset((node.dim,)))


@rule(ir.Dft)
def _dft(node: ir.Dft) -> IndexMap:
    dims = plain(len(node.re.shape))
    results = [dims] * (1 if node.to_real else 2)
    replicated = frozenset((node.dim,))
    return IndexMap(node.re.shape, [dims] * 2, results, replicated=replicated)


# --- library calls --------------------------------------------------------------------------------


@rule(ir.LibraryCall)
def _library_call(node: ir.LibraryCall) -> IndexMap | None:
    """Returns the map of a function of the items of a batch, whose axes are the factors."""
    item_rank = library.find(node.name).item_rank
    if item_rank is None:
        return None
    operands = [x.shape for x in node.args]
    results = [t.shape for t in node.type] if isinstance(node.type, tuple) else [node.shape]
    batch = operands[0][: len(operands[0]) - item_rank]
    if any([shape[: len(batch)] != batch for shape in (*operands, *results)]):
        return None
    dims: list[Dims] = [
        tuple([(k,) if k < len(batch) else () for k in range(len(shape))])
        for shape in (*operands, *results)
    ]
    return IndexMap(batch, dims[: len(operands)], dims[len(operands) :])


# --- computed indices: one block ------------------------------------------------------------------


def is_index(dtype: np.dtype) -> bool:
    """Returns whether offsets of shards can be added to indices of `dtype`.

    Narrow ones would overflow.
    """
    return dtype.kind in "iu" and dtype.itemsize >= 4


def is_combined(dtype: np.dtype) -> bool:
    """Returns whether the owner's bits can be sent to all: Booleans, reals of at least a byte."""
    return dtype.kind in "biuf" or dtype.itemsize == 2


def single_axes(shape: ir.Shape, sizes: Sequence[int], starts: Sequence[ir.Node]) -> list[int]:
    """Returns the axes with several elements along which a block has one: its owner has it."""
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
    """Returns the axes with several elements that indices move along, and windows have one of."""
    if not is_index(indices.dtype):
        return []
    return [k for k in moved if sizes[k] == 1 != shape[k]]


def _aligned(
    shape: ir.Shape, indices: ir.Shape, sizes: Sequence[int], offsets: ir.Axes, gone: ir.Axes,
    pairs: Sequence[tuple[int, int]], window_rank: int,
) -> tuple[list[int], Dims, Dims, Dims]:  # fmt: skip
    """Returns the factors of a gather or scatter: sizes, and those of operand, indices, windows.

    Windows run over the operand's factors along axes that they span completely, and over those of
    the indices along the others; `pairs` are batching axes that the operand and the indices share.
    """
    rank = len(shape)
    batching = dict(pairs)
    together = {axis: k for k, axis in batching.items()}
    index = tuple([
        () if k == len(indices) - 1 else (together.get(k, rank + k),) for k in range(len(indices))
    ])  # fmt: skip
    window = iter([(k,) if sizes[k] == shape[k] else () for k in range(rank) if k not in gone])
    batch = iter(index[:-1])
    windows = tuple([next(window if k in offsets else batch) for k in range(window_rank)])
    return [*shape, *indices], plain(rank), index, windows


def _needed(
    shape: ir.Shape, sizes: Sequence[int], gone: ir.Axes, batching: ir.Axes, moved: ir.Axes
) -> frozenset[int]:
    """Returns the axes of the operand of a gather or scatter that every shard needs completely.

    Along the others windows span the operand, and do not move: a window that does may begin
    outside.
    """
    whole = [k for k, n in enumerate(sizes) if n == shape[k] and k not in (*gone, *moved)]
    return frozenset(range(len(shape))).difference(whole, batching)


@rule(ir.Gather)
def _gather(node: ir.Gather) -> IndexMap:
    dims, shape = node.dims, node.x.shape
    batching, moved = dims.operand_batching_dims, dims.start_index_map
    gone = (*dims.collapsed_slice_dims, *batching)
    pairs = [*zip(batching, dims.start_indices_batching_dims, strict=True)]
    sizes, x, index, result = _aligned(
        shape, node.indices.shape, node.slice_sizes, dims.offset_dims, gone, pairs, len(node.shape)
    )
    own = gather_owned_axes(node)
    needed = _needed(shape, node.slice_sizes, gone, batching, moved).difference(own)
    return IndexMap(sizes, [x, index], [result], replicated=needed)


def gather_owned_axes(node: ir.Gather) -> list[int]:
    """Returns the axes along which the device that owns an element sends it to all."""
    if not is_combined(node.dtype):
        return []
    return owned_axes(node.x.shape, node.slice_sizes, node.indices, node.dims.start_index_map)


@rule(ir.Scatter)
def _scatter(node: ir.Scatter) -> IndexMap:
    """Returns the map of a scatter.

    Each element may have several updates, so each device needs all of them.
    """
    dims, shape = node.dims, node.x.shape
    windows = traversal.window_sizes(node)
    batching, moved = dims.operand_batching_dims, dims.scatter_dims_to_operand_dims
    gone = (*dims.inserted_window_dims, *batching)
    pairs = [*zip(batching, dims.scatter_indices_batching_dims, strict=True)]
    sizes, x, index, updates = _aligned(
        shape, node.indices.shape, windows, dims.update_window_dims, gone, pairs,
        len(node.updates.shape),
    )  # fmt: skip
    own = owned_axes(shape, windows, node.indices, moved)
    needed = _needed(shape, windows, gone, batching, moved).difference(own)
    several = [f for f in itertools.chain(*index) if f >= len(shape)]
    return IndexMap(sizes, [x, index, updates], [x], replicated=needed.union(several))
