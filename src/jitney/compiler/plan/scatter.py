"""Builds kernels of scatters, which combine windows one after another, in order.

Indices are clamped, so that the kernel can read at all of them; only windows that are in bounds are
written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from jitney.compiler.hlo import ir as hlo, traversal
from jitney.compiler.kernels.build import KernelBuilder, checked_start, clamped_start, shifted

_BOOL = np.dtype(bool)


def has_kernel(
    node: hlo.Scatter, supports: Callable[[str, Sequence[np.dtype], np.dtype], bool]
) -> bool:
    """Returns whether a kernel can compute `node`; kernels must be able to store its dtype."""
    fn, dtype, sizes = node.combine, node.dtype, traversal.window_sizes(node)
    if isinstance(fn, hlo.Region) or 0 in node.updates.shape:
        return False
    if any(n > m for n, m in zip(sizes, node.x.shape, strict=True)):
        return False
    return fn is None or supports(fn, [dtype] * 2, dtype)


class Windows:
    """The builder of a scatter's kernel, which first reads the operands, then writes windows."""

    def __init__(self, node: hlo.Scatter, has_buffer: Callable[[hlo.Node], bool]) -> None:
        dims, shape = node.dims, node.x.shape
        axes = [j for j in range(len(node.updates.shape)) if j not in dims.update_window_dims]
        order = [*axes, *dims.update_window_dims]
        k = KernelBuilder([node.updates.shape[j] for j in order], 0, has_buffer)
        update = k.value(node.updates, k.identity([order.index(j) for j in range(len(order))]))
        batch = k.identity(range(len(axes)))
        dropped = {*dims.inserted_window_dims, *dims.operand_batching_dims}
        window = [axis for axis in range(len(shape)) if axis not in dropped]
        place = [k.fixed(0)] * len(shape)
        for j, axis in enumerate(window, start=len(axes)):
            place[axis] = k.axis(j)
        for axis, position in zip(
            dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True
        ):
            place[axis] = batch[position]
        sizes = traversal.window_sizes(node)
        inside: int | None = None
        for j, axis in enumerate(dims.scatter_dims_to_operand_dims):
            start = k.value(node.indices, (*batch, k.fixed(j)))
            most = shape[axis] - sizes[axis]
            if node.mode == "clip":
                clamped = clamped_start(k, start, most)
            else:
                clamped, fits = checked_start(k, start, most)
                inside = fits if inside is None else k.call("and", (inside, fits), _BOOL)
            place[axis] = shifted(k, place[axis], clamped)
        self.node = node
        self.builder = k
        self.update = update
        self.place = k.linear(shape, tuple(place))
        self.inside = inside

    def written(self) -> KernelBuilder:
        """Returns the finished kernel.

        When the kernel runs, the node's buffer must contain a copy of the operand.
        """
        k, node, value = self.builder, self.node, self.update
        if isinstance(node.combine, str):
            value = k.call(node.combine, (k.load(node, self.place), value), node.dtype)
        k.store(node, self.place, value, self.inside)
        return k
