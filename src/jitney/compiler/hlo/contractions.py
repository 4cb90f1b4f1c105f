"""Sizes and layouts of contractions, and which of them are better computed by loops than by BLAS."""

from __future__ import annotations

import math
from collections.abc import Sequence

from jitney.compiler import blas
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir


def extents(node: ir.Dot) -> tuple[int, int, int, int]:
    """(batch, m, n, k) of a contraction."""
    batch = math.prod(node.x.shape[j] for j in node.batch[0])
    k = math.prod(node.x.shape[j] for j in node.contract[0])
    m = math.prod(
        n for j, n in enumerate(node.x.shape) if j not in node.contract[0] + node.batch[0]
    )
    n = math.prod(
        n for j, n in enumerate(node.y.shape) if j not in node.contract[1] + node.batch[1]
    )
    return batch, m, n, k


def is_small_dot(node: ir.Dot) -> bool:
    """Whether loops are better than a call: little work, or no reuse of operands."""
    _, m, n, k = extents(node)
    return m * n * k <= COSTS.small_product or m == 1 or n == 1


def operand_order(rank: int, batch: Sequence[int], contract: Sequence[int]) -> str | None:
    """Says "plain" if axes are batch, free, contracted; "swapped" if batch, contracted, free."""
    free = [j for j in range(rank) if j not in batch and j not in contract]
    axes = list(range(rank))
    if [*batch, *free, *contract] == axes:
        return "plain"
    if [*batch, *contract, *free] == axes:
        return "swapped"
    return None


def is_scattered(node: ir.Dot) -> bool:
    """Whether it is one for BLAS, but an operand does not lie as BLAS wants it."""
    if node.dtype not in blas.PRODUCTS or 0 in node.x.shape or is_small_dot(node):
        return False
    ranks = len(node.x.shape), len(node.y.shape)
    orders = map(operand_order, ranks, node.batch, node.contract)
    return None in orders


def contract_orders(
    contract: tuple[Sequence[int], Sequence[int]],
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The contracted axes as given, in the order of those of either operand."""
    pairs = list(zip(*contract, strict=True))
    found = [pairs, sorted(pairs), sorted(pairs, key=lambda pair: pair[1])]
    return [(tuple([p[0] for p in each]), tuple([p[1] for p in each])) for each in found]
