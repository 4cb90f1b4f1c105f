"""Contractions as calls of BLAS."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from jitney.compiler.hlo import ir as hlo
from jitney.compiler.plan import ir

# Products up to which a contraction is a loop of our own: a call costs more than the work.
SMALL = 8192


def extents(node: hlo.Dot) -> tuple[int, int, int, int]:
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


def is_small_dot(node: hlo.Dot) -> bool:
    """Whether loops are better than a call: little work, or no reuse of operands."""
    _, m, n, k = extents(node)
    return m * n * k <= SMALL or m == 1 or n == 1


def operand_order(rank: int, batch: Sequence[int], contract: Sequence[int]) -> str | None:
    """Says "plain" if axes are batch, free, contracted; "swapped" if batch, contracted, free."""
    free = [j for j in range(rank) if j not in batch and j not in contract]
    axes = list(range(rank))
    if [*batch, *free, *contract] == axes:
        return "plain"
    if [*batch, *contract, *free] == axes:
        return "swapped"
    return None


def as_gemm(node: hlo.Dot, buffer: Callable[[hlo.Node], ir.Buffer]) -> ir.Gemm | None:
    """The call for `node`; None if an operand does not lie as BLAS wants it."""
    x_order = operand_order(len(node.x.shape), node.batch[0], node.contract[0])
    y_order = operand_order(len(node.y.shape), node.batch[1], node.contract[1])
    if x_order is None or y_order is None or node.dtype.name not in ("float32", "float64"):
        return None
    batch, m, n, k = extents(node)
    return ir.Gemm(
        buffer(node.x),
        buffer(node.y),
        buffer(node.x),
        node.dtype,
        batch,
        m,
        n,
        k,
        trans_x=x_order == "swapped",
        trans_y=y_order == "plain",
    )
