"""Builds nodes for shards, if the nodes treat all elements alike or sum over them.

Axes that a node mixes in other ways, such as the sorted axis of a sort, have to be replicated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.partition.factors import builds
from jitney.compiler.hlo.partition.movement import Movement
from jitney.core.util.index_space import Division

Nodes: TypeAlias = list[ir.Node]
Shapes: TypeAlias = list[ir.Shape]


def rebuilt(b: Builder, node: ir.Node, new: Mapping[ir.Node, ir.Node]) -> Nodes:
    """Returns the results of `node` with other operands."""
    results: Any = traversal.rebuild(b, node, new.__getitem__)
    return results if isinstance(node.type, tuple) else [results]


@builds(
    ir.Apply, ir.Transpose, ir.Bitcast, ir.Reduce, ir.ReduceRegion, ir.Sort, ir.TopK, ir.Dft
)  # fmt: skip
def _again(node: ir.Node, m: Movement, xs: Nodes, division: Division, shapes: Shapes) -> Nodes:
    """Rebuilds a node whose fields do not depend on the shapes of its operands."""
    return rebuilt(m.b, node, dict(zip(traversal.operands(node), xs, strict=True)))


@builds(ir.Iota)
def _iota(
    node: ir.Iota, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:  # fmt: skip
    return m.indices(shapes[0], node.dim, division.get(node.dim, ()), node.dtype)


@builds(ir.Broadcast)
def _broadcast(
    node: ir.Broadcast, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    return m.b.broadcast(xs[0], shapes[0], node.dims)


@builds(ir.Reshape)
def _reshape(
    node: ir.Reshape, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:
    return m.b.reshape(xs[0], shapes[0])


@builds(ir.Dot)
def _dot(
    node: ir.Dot, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> ir.Node:  # fmt: skip
    return m.b.dot(xs[0], xs[1], node.contract, node.batch, node.dtype)


@builds(ir.LibraryCall)
def _library_call(
    node: ir.LibraryCall, m: Movement, xs: Nodes, division: Division, shapes: Shapes
) -> Nodes:
    return m.b.library_call(node.name, node.params, xs)
