"""Builds kernels of reductions, and of contractions that loops compute faster than BLAS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import numpy as np

from jitney.compiler.hlo import ir as hlo
from jitney.compiler.kernels.build import KernelBuilder
from jitney.compiler.kernels.ir import Affine, accumulator

HasBuffer: TypeAlias = Callable[[hlo.Node], bool]

# A builder, and for each reduction: node, index of the result, function, operand, factor.
Reductions: TypeAlias = tuple[KernelBuilder, list[tuple[hlo.Node, Affine, str, int, int | None]]]


def reductions(roots: Sequence[hlo.Node], has_buffer: HasBuffer) -> Reductions:
    """Builds one kernel for reductions of equal shape over the same axes."""
    first = roots[0]
    assert isinstance(first, hlo.Reduce)
    kept = [j for j in range(len(first.x.shape)) if j not in first.dims]
    order = [*kept, *first.dims]
    k = KernelBuilder([first.x.shape[j] for j in order], len(first.dims), has_buffer)
    index = tuple([k.axis(order.index(j)) for j in range(len(order))])
    out = k.linear(first.shape, k.identity(range(len(kept))))
    reduces = cast("Sequence[hlo.Reduce]", roots)
    values = [k.value(root.x, index) for root in reduces]
    values = [k.convert(value, accumulator(k.body[value].dtype)) for value in values]
    return k, [
        (root, out, root.fn, value, None) for root, value in zip(reduces, values, strict=True)
    ]


def contraction(roots: Sequence[hlo.Node], has_buffer: HasBuffer) -> Reductions:
    """Builds a kernel for a contraction, as a sum of products over the contracted axes."""
    (node,) = roots
    assert isinstance(node, hlo.Dot)
    (cx, cy), (bx, by) = node.contract, node.batch
    x, y = node.x, node.y
    fx = [j for j in range(len(x.shape)) if j not in cx and j not in bx]
    fy = [j for j in range(len(y.shape)) if j not in cy and j not in by]
    extents = [*node.shape, *(x.shape[j] for j in cx)]
    k = KernelBuilder(extents, len(cx), has_buffer)
    position: dict[tuple[int, int], int] = {}
    for j, axis in enumerate((*bx, *fx)):
        position[0, axis] = j
    for j, axis in enumerate(by):
        position[1, axis] = j
    for j, axis in enumerate(fy, start=len(bx) + len(fx)):
        position[1, axis] = j
    for j, (ax, ay) in enumerate(zip(cx, cy, strict=True), start=len(node.shape)):
        position[0, ax] = position[1, ay] = j
    u = k.value(x, tuple([k.axis(position[0, j]) for j in range(len(x.shape))]))
    v = k.value(y, tuple([k.axis(position[1, j]) for j in range(len(y.shape))]))
    wide = accumulator(node.dtype)
    u, v = k.convert(u, wide), k.convert(v, wide)
    out = k.linear(node.shape, k.identity(range(len(node.shape))))
    if node.dtype == np.bool_:
        return k, [(node, out, "or", k.call("and", (u, v), wide), None)]
    return k, [(node, out, "add", u, v)]
