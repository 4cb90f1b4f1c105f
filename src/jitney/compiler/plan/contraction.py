"""Translates contractions to calls of BLAS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitney.compiler import blas
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.contractions import extents, operand_order
from jitney.compiler.plan import ir


def added(node: hlo.LibraryCall) -> hlo.Dot:
    """Returns the contraction that is added to an operand by `node`, a call of `product_added`."""
    total, x, y = node.args
    params: dict[str, Any] = dict(node.params)
    return hlo.Dot(total.tensor_type, node.id, x, y, params["contract"], params["batch"])


def as_gemm(node: hlo.Dot, buffer: Callable[[hlo.Node], ir.Buffer]) -> ir.Gemm | None:
    """Returns the BLAS call for `node`, or None if BLAS does not support an operand's layout."""
    x_order = operand_order(len(node.x.shape), node.batch[0], node.contract[0])
    y_order = operand_order(len(node.y.shape), node.batch[1], node.contract[1])
    if x_order is None or y_order is None or node.dtype not in blas.PRODUCTS:
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
