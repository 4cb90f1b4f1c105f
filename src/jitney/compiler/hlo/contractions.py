"""Sizes of contractions, and which of them are better computed by loops than by BLAS."""

from __future__ import annotations

import math

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
