"""Contractions as calls of BLAS."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitney.compiler import blas
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.contractions import extents
from jitney.compiler.plan import ir


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
    if x_order is None or y_order is None or node.dtype.name not in blas.PRODUCTS:
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
