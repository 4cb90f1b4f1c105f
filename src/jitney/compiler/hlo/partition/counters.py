"""Moves reshapes from values that are computed from element counts to the counts themselves.

Random bits are computed from a count of their elements along one axis. A shard along other axes
than the first is not a block of that count, so each device would have to compute all bits. This
pass computes the count from the indices along each axis, so that a device computes only the bits of
its shard.
"""

from __future__ import annotations

import math

import numpy as np

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder


def hoist_reshapes(region: ir.Region) -> ir.Region:
    """Returns `region` with reshapes moved from values computed from counts to the counts."""
    order = traversal.topological_order(traversal.roots(region))
    counted = _counted(order)
    if not any([_is_shaped_late(node, counted) for node in order]):
        return region
    b = Builder()
    parameters = tuple([b.parameter(p.index, p.tensor_type) for p in region.parameters])
    new: dict[ir.Node, ir.Node] = dict(zip(region.parameters, parameters, strict=True))
    shaped: dict[tuple[ir.Node, ir.Shape], ir.Node] = {}

    def make(node: ir.Node) -> ir.Node:
        if isinstance(node, ir.Reshape) and _is_shaped_late(node, counted):
            return _in_shape(b, node.x, node.shape, new, shaped)
        return traversal.rebuild(b, node, new.__getitem__)

    traversal.rebuild_all(b, traversal.roots(region), new, make)
    return ir.Region(parameters, tuple([new[x] for x in region.results]), tuple(b.ordered))


def _counted(order: list[ir.Node]) -> set[ir.Node]:
    """Returns the vectors that are computed elementwise from a count and scalars."""
    counted: set[ir.Node] = set()
    for node in order:
        match node:
            case ir.Iota(type=ir.TensorType(shape=(_,), dtype=dtype)) if dtype.kind in "iu":
                counted.add(node)
            case ir.Broadcast(
                type=ir.TensorType(shape=(_,)), x=ir.Node(type=ir.TensorType(shape=()))
            ):
                counted.add(node)
            case ir.Apply(type=ir.TensorType(shape=(_,)), args=args) if counted.issuperset(args):
                counted.add(node)
            case _:
                pass
    return counted


def _is_shaped_late(node: ir.Node, counted: set[ir.Node]) -> bool:
    return isinstance(node, ir.Reshape) and node.x in counted and len(node.shape) > 1


def _in_shape(
    b: Builder,
    vector: ir.Node,
    shape: ir.Shape,
    new: dict[ir.Node, ir.Node],
    shaped: dict[tuple[ir.Node, ir.Shape], ir.Node],
) -> ir.Node:
    """Returns `vector`, which is computed from a count, in another shape.

    `new` contains the scalars that it depends on.
    """
    stack = [vector]
    while stack:
        node = stack[-1]
        missing = [x for x in traversal.operands(node) if x.shape and (x, shape) not in shaped]
        if missing:
            stack += reversed(missing)
            continue
        stack.pop()
        match node:
            case ir.Iota():
                built = _count(b, shape, node.dtype)
            case ir.Broadcast():
                built = b.broadcast(new[node.x], shape, ())
            case _:
                built = traversal.rebuild(b, node, lambda x: shaped[x, shape])
        shaped[node, shape] = built
    return shaped[vector, shape]


def _count(b: Builder, shape: ir.Shape, dtype: np.dtype) -> ir.Node:
    """Returns the row-major index of each element."""
    terms: list[ir.Node] = []
    for dim, extent in enumerate(shape):
        step = math.prod(shape[dim + 1 :])
        if extent > 1:
            index = b.iota(dtype, shape, dim)
            # (Counts of small dtypes wrap around, and so does this sum.)
            factor = np.asarray(step).astype(dtype)
            terms.append(
                index if step == 1 else b.apply("mul", index, b.full(shape, factor, dtype))
            )
    out = terms[0] if terms else b.full(shape, 0, dtype)
    for term in terms[1:]:
        out = b.apply("add", out, term)
    return out
