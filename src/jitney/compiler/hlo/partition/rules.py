"""How nodes are divided along axes that they treat element by element, or sum over.

Axes that a node mixes in another way (the one that is sorted, a transform's) have to be whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.partition.factors import Build, Dims, Division, Factors, refinement, rule
from jitney.compiler.hlo.partition.movement import Movement

Nodes: TypeAlias = list[ir.Node]
Shapes: TypeAlias = list[ir.Shape]


def plain(rank: int, whole: Sequence[int] = ()) -> Dims:
    """Axis k runs over factor k; those of `whole` over none."""
    return tuple([() if k in whole else (k,) for k in range(rank)])


def without(dims: Dims, gone: Sequence[int]) -> Dims:
    """`dims` of a tensor some of whose axes are removed."""
    return tuple([factors for k, factors in enumerate(dims) if k not in gone])


def rebuilt(b: Builder, node: ir.Node, new: Mapping[ir.Node, ir.Node]) -> Nodes:
    """The results of `node` with other operands."""
    found: Any = traversal.rebuild(b, node, new.__getitem__)
    return found if isinstance(node.type, tuple) else [found]


def _again(node: ir.Node) -> Build:
    """Builds the node for parts by what it says itself, which does not depend on their shapes."""
    operands = traversal.operands(node)

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> Nodes:
        new = dict(zip(operands, xs, strict=True))
        return rebuilt(m.b, node, new)

    return build


# --- leaves and elements ----------------------------------------------------------------------------


@rule(ir.Iota)
def _(node: ir.Iota) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        return m.indices(shapes[0], node.dim, division.get(node.dim, ()), node.dtype)

    return Factors(node.shape, (), [plain(len(node.shape))], build)


@rule(ir.Apply)
def _(node: ir.Apply) -> Factors:
    dims = plain(len(node.shape))
    return Factors(node.shape, [dims] * len(node.args), [dims], _again(node))


# --- views ------------------------------------------------------------------------------------------


@rule(ir.Broadcast)
def _(node: ir.Broadcast) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        return m.b.broadcast(xs[0], shapes[0], node.dims)

    kept = zip(node.dims, node.x.shape, strict=True)
    dims = tuple([(k,) if n == node.shape[k] else () for k, n in kept])
    return Factors(node.shape, [dims], [plain(len(node.shape))], build)


@rule(ir.Reshape)
def _(node: ir.Reshape) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        return m.b.reshape(xs[0], shapes[0])

    sizes, old, new = refinement(node.x.shape, node.shape)
    return Factors(sizes, [old], [new], build)


@rule(ir.Transpose)
def _(node: ir.Transpose) -> Factors:
    dims = plain(len(node.shape))
    return Factors(node.x.shape, [dims], [tuple([dims[k] for k in node.perm])], _again(node))


@rule(ir.Bitcast)
def _(node: ir.Bitcast) -> Factors:
    rank = min(len(node.x.shape), len(node.shape))
    sizes = node.shape[:rank]
    old, new = [(*plain(rank), *[()] * (len(shape) - rank)) for shape in (node.x.shape, node.shape)]
    return Factors(sizes, [old], [new], _again(node))


# --- reductions -------------------------------------------------------------------------------------


_OF_BOOLEANS: Mapping[ir.Monoid, ir.Monoid] = {
    "add": "or", "max": "or", "mul": "and", "min": "and",
}  # fmt: skip


def monoid(fn: ir.Monoid, dtype: np.dtype) -> ir.Monoid:
    """What partial results are combined by: for booleans a function of bits."""
    return _OF_BOOLEANS.get(fn, fn) if dtype == np.bool_ else fn


@rule(ir.Reduce)
def _(node: ir.Reduce) -> Factors:
    rank = len(node.x.shape)
    dims = plain(rank, node.dims if node.in_order else ())
    fn = monoid(node.fn, node.dtype)
    reduced: dict[int, ir.Monoid] = {} if node.in_order else dict.fromkeys(node.dims, fn)
    result = without(plain(rank), node.dims)
    return Factors(node.x.shape, [dims], [result], _again(node), reduced)


@rule(ir.ArgReduce, ir.Cumulative)
def _(node: ir.ArgReduce | ir.Cumulative) -> Factors:
    dims = plain(len(node.x.shape), (node.dim,))
    result = without(dims, (node.dim,)) if isinstance(node, ir.ArgReduce) else dims
    return Factors(node.x.shape, [dims], [result], _again(node))


@rule(ir.ReduceRegion)
def _(node: ir.ReduceRegion) -> Factors:
    n = len(node.xs)
    dims = plain(len(node.xs[0].shape), node.dims)
    scalars: list[Dims] = [()] * n
    results = [without(dims, node.dims)] * n
    return Factors(node.xs[0].shape, [dims] * n + scalars, results, _again(node))


@rule(ir.Dot)
def _(node: ir.Dot) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        return m.b.dot(xs[0], xs[1], node.contract, node.batch, node.dtype)

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
    return Factors(sizes, [x, tuple(y)], [result], build, reduced)


# --- order and transforms ---------------------------------------------------------------------------


@rule(ir.Sort)
def _(node: ir.Sort) -> Factors:
    dims, n = plain(len(node.xs[0].shape), (node.dim,)), len(node.xs)
    return Factors(node.xs[0].shape, [dims] * n, [dims] * n, _again(node))


@rule(ir.TopK)
def _(node: ir.TopK) -> Factors:
    dims = plain(len(node.x.shape), (node.dim,))
    return Factors(node.x.shape, [dims], [dims] * 2, _again(node))


@rule(ir.Dft)
def _(node: ir.Dft) -> Factors:
    dims = plain(len(node.re.shape), (node.dim,))
    return Factors(node.re.shape, [dims] * 2, [dims] * 2, _again(node))


# --- indexed ----------------------------------------------------------------------------------------


@rule(ir.DynamicSlice)
def _(node: ir.DynamicSlice) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        return m.b.dynamic_slice(xs[0], xs[1:], shapes[0])

    part = [k for k, n in enumerate(node.x.shape) if n != node.sizes[k]]
    dims = plain(len(node.shape), part)
    scalars: list[Dims] = [()] * len(node.starts)
    return Factors(node.shape, [dims, *scalars], [dims], build)


@rule(ir.DynamicUpdateSlice)
def _(node: ir.DynamicUpdateSlice) -> Factors:
    part = [k for k, n in enumerate(node.x.shape) if n != node.update.shape[k]]
    dims = plain(len(node.shape), part)
    scalars: list[Dims] = [()] * len(node.starts)
    return Factors(node.shape, [dims, dims, *scalars], [dims], _again(node))


def _aligned(
    shape: ir.Shape, indices: ir.Shape, sizes: Sequence[int], offsets: ir.Axes, gone: ir.Axes,
    pairs: Sequence[tuple[int, int]], result_rank: int,
) -> tuple[list[int], Dims, Dims, Dims]:  # fmt: skip
    """Factors of a gather or scatter: sizes, and those of the operand, the indices, the windows.

    Windows are divided as the operand along axes that they have whole, and as the indices along the
    others; `pairs` are axes that the operand and the indices go along together.
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
def _(node: ir.Gather) -> Factors:
    dims = node.dims
    gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        x, indices = xs
        sizes = [
            n if k in gone or n != whole else x.shape[k]
            for k, (n, whole) in enumerate(zip(node.slice_sizes, node.x.shape, strict=True))
        ]
        return m.b.gather(x, indices, dims, sizes, node.mode, node.fill)

    pairs = [*zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True)]
    sizes, x, index, result = _aligned(
        node.x.shape, node.indices.shape, node.slice_sizes, dims.offset_dims, gone, pairs,
        len(node.shape),
    )  # fmt: skip
    moved = [k for k in dims.start_index_map if x[k] and k not in dims.operand_batching_dims]
    if moved:  # along these a window that is whole may still begin outside
        x = tuple([() if k in moved else factors for k, factors in enumerate(x)])
        result = _without_factors(result, moved)
    return Factors(sizes, [x, index], [result], build)


def _without_factors(dims: Dims, gone: Sequence[int]) -> Dims:
    return tuple([tuple([f for f in factors if f not in gone]) for factors in dims])


@rule(ir.Scatter)
def _(node: ir.Scatter) -> Factors:
    dims = node.dims
    gone = (*dims.inserted_window_dims, *dims.operand_batching_dims)
    pairs = [*zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True)]
    sizes, x, index, updates = _aligned(
        node.x.shape, node.indices.shape, traversal.window_sizes(node), dims.update_window_dims,
        gone, pairs, len(node.updates.shape),
    )  # fmt: skip
    moved = [
        k for k in dims.scatter_dims_to_operand_dims if x[k] and k not in dims.operand_batching_dims
    ]
    rank = len(node.x.shape)
    several = [
        f for f in itertools.chain(*index) if f >= rank
    ]  # updates of one element: not divided
    x = _without_factors(x, moved)
    index, updates = _without_factors(index, several), _without_factors(updates, [*moved, *several])
    return Factors(sizes, [x, index, updates], [x], _again(node))
