"""Computes products of gathered operands in panels.

    dot(all_gather(x), y)  ->  for t < iterations: gather panel t of x, multiply by it

A gathered operand takes the memory of its shard times the number of devices along the axes that it
is gathered along, while a product needs only one panel of it at a time. If the operand is sharded
along a contracted axis, the products of panels are added; both operands may be sharded along this
axis, in different ways (SUMMA, van de Geijn and Watts, 1997). If it is sharded along another axis,
each panel yields a panel of the result. The number of bytes sent stays the same, but there are more
messages.

Operands that the program uses again stay gathered, and so do operands that are small compared with
the other memory of the product.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from jitney.compiler import added_products, blas
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.collectives import group_size
from jitney.core.util.record import record, replace


@record(frozen=True, eq=False)
class Gathered:
    """An operand of a product on one device.

    Attributes:
      x: the device's own shard.
      collective: the all-gather; None if the shard itself is the operand.
      dim: the axis along which it is gathered, and split into panels.
      parts: number of shards.
    """

    x: ir.Node
    collective: ir.Collective | None
    dim: int
    parts: int

    @property
    def extent(self) -> int:
        """The global size of the axis."""
        return self.x.shape[self.dim] * self.parts

    @property
    def extra(self) -> int:
        """Bytes of all panels, and of the pieces of the shard that they are gathered from."""
        own = self.x.tensor_type.nbytes
        return own if self.collective is None else own * (self.parts + 1)

    def panel(self, b: Builder, iteration: ir.Node, blocks: int, width: int) -> ir.Node:
        """Returns `width` elements of each of `blocks` blocks, starting at `iteration * width`."""
        own, dim = blocks // self.parts, self.dim
        before, after = self.x.shape[:dim], self.x.shape[dim + 1 :]
        folded = b.reshape(self.x, (*before, own, self.extent // blocks, *after))
        start = b.apply("mul", iteration, b.constant(np.int32(width)))
        piece = _block(b, folded, dim + 1, start, width)
        if self.collective is not None:
            c = self.collective
            piece = b.collective(c.kind, c.axes, c.params, [piece], c.groups)
        return b.reshape(piece, (*before, blocks * width, *after))


def in_panels(region: ir.Region, least: int = COSTS.panel_bytes) -> ir.Region:
    """Returns `region` with products of gathered operands in panels, including nested regions.

    Panels take up to `least` bytes, or up to a share of the product's other memory if that is more.
    """
    order = traversal.topological_order(traversal.roots(region))
    uses = traversal.count_uses(order, traversal.roots(region))

    def make(
        b: Builder, node: ir.Node, new: MutableMapping[ir.Node, Any]
    ) -> ir.Node | list[ir.Node]:
        at = new.__getitem__
        # Sums of other dtypes are rounded once.
        if isinstance(node, ir.Dot) and node.dtype in blas.PRODUCTS:
            operands = [_gathered(x, uses, new) for x in (node.x, node.y)]
            if any(operands):
                return _product(b, node, operands, new, least) or traversal.rebuild(b, node, at)
        within = traversal.with_regions(node, lambda region: in_panels(region, least))
        return traversal.rebuild(b, within, at)

    return traversal.rewrite(region, make)


def _gathered(
    node: ir.Node, uses: Mapping[ir.Node, int], new: Mapping[ir.Node, ir.Node]
) -> Gathered | None:
    """Returns the operand `node` of a product if it is gathered for that product only.

    Returns None for all other operands.
    """
    match node:
        case ir.Collective(kind="all_gather", params=(("dim", int(dim)),)) if uses[node] == 1:
            return Gathered(new[node.args[0]], node, dim, group_size(node.axes, node.groups))
        case _:
            return None


def _product(
    b: Builder,
    node: ir.Dot,
    gathered: Sequence[Gathered | None],
    new: Mapping[ir.Node, ir.Node],
    least: int,
) -> ir.Node | None:
    """Returns `node` as a loop over panels of the larger of its gathered operands.

    Returns None if that operand is small.
    """
    nodes = (node.x, node.y)
    side = max((0, 1), key=lambda k: nodes[k].tensor_type.nbytes * (gathered[k] is not None))
    first = gathered[side]
    assert first is not None
    other = Gathered(new[nodes[1 - side]], None, 0, 1)
    if first.dim in node.contract[side]:
        dim = node.contract[1 - side][node.contract[side].index(first.dim)]
        second = gathered[1 - side]
        other = second if second and second.dim == dim else replace(other, dim=dim)
        pair = (first, other) if side == 0 else (other, first)
        return _added_up(b, node, pair, _room(node, pair, least))
    if first.dim in node.batch[side]:
        return None
    return _side_by_side(b, node, side, first, other.x, _room(node, (first, other), least))


def _added_up(
    b: Builder, node: ir.Dot, pair: tuple[Gathered, Gathered], room: int
) -> ir.Node | None:
    """Returns the sum of products of panels of both operands along a contracted axis.

    Returns None if one panel suffices.
    """
    blocks = math.lcm(*[g.parts for g in pair])
    length = pair[0].extent // blocks
    iterations = _panel_count(length, sum([g.extra for g in pair]), room)
    if iterations == 1:
        return None
    width, add = length // iterations, added_products.routine(node.contract, node.batch)

    def step(inner: Builder, t: ir.Node, *carry: ir.Node) -> list[ir.Node]:
        total, *parts = carry
        panels = [
            replace(g, x=part).panel(inner, t, blocks, width)
            for g, part in zip(pair, parts, strict=True)
        ]
        return [*inner.library_call(add.name, add.params, [total, *panels]), *parts]

    start = b.full(node.shape, 0, node.dtype)
    return b.for_(iterations, [start, *[g.x for g in pair]], step)[0]


def _side_by_side(
    b: Builder, node: ir.Dot, side: int, first: Gathered, other: ir.Node, room: int
) -> ir.Node | None:
    """Returns the concatenated products of panels of one operand along a free axis.

    Returns None if one panel suffices.
    """
    blocks, length = first.parts, first.x.shape[first.dim]
    iterations = _panel_count(length, first.extra + node.tensor_type.nbytes, room)
    if iterations == 1:
        return None
    width = length // iterations
    free = [
        k
        for k in range(len(first.x.shape))
        if k not in node.batch[side] and k not in node.contract[side]
    ]
    ranks = [len(x.shape) - len(node.contract[k]) for k, x in enumerate((node.x, node.y))]
    dim = free.index(first.dim) + (ranks[0] if side else len(node.batch[0]))
    before, after = node.shape[:dim], node.shape[dim + 1 :]

    def step(inner: Builder, t: ir.Node, *carry: ir.Node) -> list[ir.Node]:
        products, part, whole = carry
        operands = [replace(first, x=part).panel(inner, t, blocks, width), whole]
        x, y = operands if side == 0 else operands[::-1]
        product = inner.dot(x, y, node.contract, node.batch, node.dtype)
        product = inner.reshape(product, (*before, blocks, width, *after))
        start = inner.apply("mul", t, inner.constant(np.int32(width)))
        starts = _starts(inner, products, dim + 1, start)
        return [inner.dynamic_update_slice(products, product, starts), part, whole]

    start = b.full((*before, blocks, length, *after), 0, node.dtype)
    return b.reshape(b.for_(iterations, [start, first.x, other], step)[0], node.shape)


def _block(b: Builder, x: ir.Node, dim: int, start: ir.Node, size: int) -> ir.Node:
    """Returns `size` elements of `x` from `start` along `dim`."""
    sizes = (*x.shape[:dim], size, *x.shape[dim + 1 :])
    return b.dynamic_slice(x, _starts(b, x, dim, start), sizes)


def _starts(b: Builder, x: ir.Node, dim: int, start: ir.Node) -> list[ir.Node]:
    """Returns the start indices of a block of `x` that is partial only along `dim`."""
    zero = b.constant(np.int32(0))
    return [start if k == dim else zero for k in range(len(x.shape))]


def _room(node: ir.Dot, pair: Sequence[Gathered], least: int) -> int:
    """Returns the bytes that a loop's panels may take.

    They are `least`, or a share of the product's other memory if that is more.
    """
    has = node.tensor_type.nbytes + sum([g.x.tensor_type.nbytes for g in pair])
    return max(least, has // COSTS.panel_share)


def _panel_count(length: int, needed: int, room: int) -> int:
    """Returns the smallest number of equal parts, each of which fits into `room` bytes.

    The parts divide `length` elements, which need `needed` bytes in all. If no number of parts
    suffices, each part has one element.
    """
    return next(
        (n for n in range(1, length) if length % n == 0 and needed <= n * room), max(length, 1)
    )
