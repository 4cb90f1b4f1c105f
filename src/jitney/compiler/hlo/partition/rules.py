"""Sharding of nodes along axes that they process elementwise, or sum over.

Axes that a node mixes in other ways (the sorted one, a transform's) have to be replicated.
"""

from __future__ import annotations

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
    """Returns dims in which axis k has factor k; axes of `whole` have none."""
    return tuple([() if k in whole else (k,) for k in range(rank)])


def without(dims: Dims, gone: Sequence[int]) -> Dims:
    """Returns `dims` without the axes `gone`."""
    return tuple([factors for k, factors in enumerate(dims) if k not in gone])


def rebuilt(b: Builder, node: ir.Node, new: Mapping[ir.Node, ir.Node]) -> Nodes:
    """Returns the results of `node` with other operands."""
    results: Any = traversal.rebuild(b, node, new.__getitem__)
    return results if isinstance(node.type, tuple) else [results]


def again(node: ir.Node) -> Build:
    """Returns a function that builds `node` for shards with its own fields, whatever the shapes."""
    operands = traversal.operands(node)

    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> Nodes:
        new = dict(zip(operands, xs, strict=True))
        return rebuilt(m.b, node, new)

    return build


# --- leaves and elements ----------------------------------------------------------------------------


@rule(ir.Iota)
def _partition_iota(node: ir.Iota) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        return m.indices(shapes[0], node.dim, division.get(node.dim, ()), node.dtype)

    return Factors(node.shape, (), [plain(len(node.shape))], build)


@rule(ir.Apply)
def _partition_apply(node: ir.Apply) -> Factors:
    dims = plain(len(node.shape))
    return Factors(node.shape, [dims] * len(node.args), [dims], again(node))


# --- views ------------------------------------------------------------------------------------------


@rule(ir.Broadcast)
def _partition_broadcast(node: ir.Broadcast) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        return m.b.broadcast(xs[0], shapes[0], node.dims)

    kept = zip(node.dims, node.x.shape, strict=True)
    dims = tuple([(k,) if n == node.shape[k] else () for k, n in kept])
    return Factors(node.shape, [dims], [plain(len(node.shape))], build)


@rule(ir.Reshape)
def _partition_reshape(node: ir.Reshape) -> Factors:
    def build(m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> ir.Node:
        return m.b.reshape(xs[0], shapes[0])

    sizes, old, new = refinement(node.x.shape, node.shape)
    return Factors(sizes, [old], [new], build)


@rule(ir.Transpose)
def _partition_transpose(node: ir.Transpose) -> Factors:
    dims = plain(len(node.shape))
    return Factors(node.x.shape, [dims], [tuple([dims[k] for k in node.perm])], again(node))


@rule(ir.Bitcast)
def _partition_bitcast(node: ir.Bitcast) -> Factors:
    rank = min(len(node.x.shape), len(node.shape))
    sizes = node.shape[:rank]
    old, new = [(*plain(rank), *[()] * (len(shape) - rank)) for shape in (node.x.shape, node.shape)]
    return Factors(sizes, [old], [new], again(node))


# --- reductions -------------------------------------------------------------------------------------


_OF_BOOLEANS: Mapping[ir.Monoid, ir.Monoid] = {
    "add": "or", "max": "or", "mul": "and", "min": "and",
}  # fmt: skip


def monoid(fn: ir.Monoid, dtype: np.dtype) -> ir.Monoid:
    """Returns the monoid that combines partial results; for Booleans it is bitwise."""
    return _OF_BOOLEANS.get(fn, fn) if dtype == np.bool_ else fn


@rule(ir.Reduce)
def _partition_reduce(node: ir.Reduce) -> Factors:
    rank = len(node.x.shape)
    dims = plain(rank, node.dims if node.in_order else ())
    fn = monoid(node.fn, node.dtype)
    reduced: dict[int, ir.Monoid] = {} if node.in_order else dict.fromkeys(node.dims, fn)
    result = without(plain(rank), node.dims)
    return Factors(node.x.shape, [dims], [result], again(node), reduced)


@rule(ir.ReduceRegion)
def _partition_reduce_region(node: ir.ReduceRegion) -> Factors:
    n = len(node.xs)
    dims = plain(len(node.xs[0].shape), node.dims)
    scalars: list[Dims] = [()] * n
    results = [without(dims, node.dims)] * n
    return Factors(node.xs[0].shape, [dims] * n + scalars, results, again(node))


@rule(ir.Dot)
def _partition_dot(node: ir.Dot) -> Factors:
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
def _partition_sort(node: ir.Sort) -> Factors:
    dims, n = plain(len(node.xs[0].shape), (node.dim,)), len(node.xs)
    return Factors(node.xs[0].shape, [dims] * n, [dims] * n, again(node))


@rule(ir.TopK)
def _partition_top_k(node: ir.TopK) -> Factors:
    dims = plain(len(node.x.shape), (node.dim,))
    return Factors(node.x.shape, [dims], [dims] * 2, again(node))


@rule(ir.Dft)
def _partition_dft(node: ir.Dft) -> Factors:
    dims = plain(len(node.re.shape), (node.dim,))
    results = [dims] * (1 if node.to_real else 2)
    return Factors(node.re.shape, [dims] * 2, results, again(node))
