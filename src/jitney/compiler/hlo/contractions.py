"""Chooses between generated loops and BLAS for a contraction, by its extents and layouts.

Loops are faster if there is little work, if operands are not reused, or if the layouts allow
register tiling (`is_by_columns`, `is_by_rows`). `rhs_permutation` returns the layout of the right
operand that makes register tiling possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jitney.compiler import blas
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir

_TILED = np.dtype(np.float32), np.dtype(np.float64)


def extents(node: ir.Dot) -> tuple[int, int, int, int]:
    """Returns the extents (batch, m, n, k) of a contraction."""
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
    """Returns whether generated loops are faster than a call of BLAS.

    They are if there is little work, if operands are not reused, or if they can be tiled for
    registers.
    """
    _, m, n, k = extents(node)
    if m * n * k <= COSTS.small_product or m == 1 or n == 1:
        return True
    # A small matrix, applied to many vectors, is bound by memory, not by arithmetic.
    return max(min(m, n), k) <= COSTS.short_axis or has_tiles(node)


def has_tiles(node: ir.Dot) -> bool:
    """Returns whether loops over register tiles are at least as fast as BLAS.

    A tile keeps a block of sums in registers, so that each load of an operand serves several of
    them.
    """
    return is_by_columns(node) or is_by_rows(node)


def is_by_columns(node: ir.Dot) -> bool:
    """Returns whether vector lanes can be columns of y.

    This requires that y fits in the cache, and that its columns are contiguous for each contracted
    index.
    """
    return _fits_columns(node) and _last(node, 0) in node.contract[0] and _has_columns(node)


def is_by_rows(node: ir.Dot) -> bool:
    """Returns whether vector lanes can be contracted indices.

    This requires that y has few columns; x is then read once.
    """
    return _fits_rows(node) and all(_last(node, k) in node.contract[k] for k in (0, 1))


def rhs_permutation(node: ir.Dot) -> tuple[int, ...] | None:
    """Returns a permutation of y's axes that makes `has_tiles` true.

    Returns None if `has_tiles` is true already, or if no permutation achieves that. Transposing y
    pays off only if many rows of x are multiplied with it.
    """
    if has_tiles(node) or _last(node, 0) not in node.contract[0]:
        return None
    batch, contract = node.batch[1], node.contract[1]
    free = [j for j in range(len(node.y.shape)) if j not in batch and j not in contract]
    if _fits_rows(node):
        return (*batch, *free, *contract)
    _, m, _, _ = extents(node)
    many_rows = _fits_columns(node) and m >= COSTS.transposed_rows
    if free and many_rows and node.y.shape[free[-1]] >= COSTS.tile_columns:
        return (*batch, *contract, *free)
    return None


def _last(node: ir.Dot, side: int) -> int:
    return len((node.x, node.y)[side].shape) - 1


def _has_columns(node: ir.Dot) -> bool:
    """Returns whether the columns of y are adjacent in memory, and are enough to fill vectors."""
    last = _last(node, 1)
    is_free = last not in node.contract[1] and last not in node.batch[1]
    return is_free and node.y.shape[last] >= COSTS.tile_columns


def _is_large(node: ir.Dot) -> bool:
    """Returns whether there is enough work for tiling to be worth its compile time."""
    return node.dtype in _TILED and math.prod(extents(node)) >= COSTS.tiled_products


def _fits_columns(node: ir.Dot) -> bool:
    _, m, n, k = extents(node)
    if m < COSTS.tile_rows or n * k * node.dtype.itemsize > COSTS.tiled_operand:
        return False
    return _is_large(node)


def _fits_rows(node: ir.Dot) -> bool:
    _, m, n, k = extents(node)
    return 2 <= n <= COSTS.short_axis <= m and k >= COSTS.tiled_row and _is_large(node)


def operand_order(rank: int, batch: Sequence[int], contract: Sequence[int]) -> str | None:
    """Returns the name of the order of an operand's axes.

    It is "plain" for (batch, free, contracted), "swapped" for (batch, contracted, free), and None
    for all other orders.
    """
    free = [j for j in range(rank) if j not in batch and j not in contract]
    axes = list(range(rank))
    if [*batch, *free, *contract] == axes:
        return "plain"
    if [*batch, *contract, *free] == axes:
        return "swapped"
    return None


def is_scattered(node: ir.Dot) -> bool:
    """Returns whether BLAS could compute a contraction if the layout of an operand allowed it."""
    if node.dtype not in blas.PRODUCTS or 0 in node.x.shape or is_small_dot(node):
        return False
    ranks = len(node.x.shape), len(node.y.shape)
    orders = map(operand_order, ranks, node.batch, node.contract)
    return None in orders


def contract_orders(
    contract: tuple[Sequence[int], Sequence[int]],
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Returns the contracted axes in three orders: as given, by x's axes, and by y's axes."""
    pairs = list(zip(*contract, strict=True))
    orders = [pairs, sorted(pairs), sorted(pairs, key=lambda pair: pair[1])]
    return [(tuple([p[0] for p in each]), tuple([p[1] for p in each])) for each in orders]
