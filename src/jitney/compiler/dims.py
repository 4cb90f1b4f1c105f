"""Axis roles of gathers, scatters and convolutions, for tensor IR and implementations."""

from __future__ import annotations

from typing import Literal, TypeAlias

from jitney.core.util.record import record

Axes: TypeAlias = tuple[int, ...]
IndexMode: TypeAlias = Literal["clip", "fill", "promise_in_bounds"]


@record(frozen=True)
class GatherDims:
    """Axis roles of a gather, named as in StableHLO; the index vector is the last axis of indices.

    The result axes `offset_dims` run over the slice (its axes except `collapsed_slice_dims` and
    `operand_batching_dims`), the others over `indices` without its last axis. Element k of an index
    vector is the start along operand axis `start_index_map[k]`. Batching axes of operand and
    indices are paired.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


@record(frozen=True)
class ScatterDims:
    """Axis roles of a scatter: the mirror image of `GatherDims`."""

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


@record(frozen=True)
class ConvolutionDims:
    """Axis roles of a convolution, and how its window moves.

    Attributes:
      x_axes: axes of the operand: batch, feature, then spatial ones.
      w_axes: axes of the window: output feature, input feature, then spatial ones.
      out_axes: axes of the result: batch, feature, then spatial ones.
      strides: distance between windows along each spatial axis.
      low, high: padding with zeros; negative ones remove elements.
      x_dilation: 1 plus the number of zeros inserted between elements of the operand, before
        padding.
      w_dilation: distance between elements of the window.
      groups: number of groups of features; each is convolved with windows of its own.
      batch_groups: number of groups of the batch, likewise; the result has their features.
    """

    x_axes: Axes
    w_axes: Axes
    out_axes: Axes
    strides: Axes
    low: Axes
    high: Axes
    x_dilation: Axes
    w_dilation: Axes
    groups: int = 1
    batch_groups: int = 1

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.strides)

    def result_shape(self, x: Axes, w: Axes) -> Axes:
        """Returns the shape of the result for operands of shapes `x` and `w`."""
        out = [0] * len(self.out_axes)
        out[self.out_axes[0]] = x[self.x_axes[0]] // self.batch_groups
        out[self.out_axes[1]] = w[self.w_axes[0]]
        for k in range(self.rank):
            length = dilated(x[self.x_axes[k + 2]], self.x_dilation[k]) + self.low[k] + self.high[k]
            window = dilated(w[self.w_axes[k + 2]], self.w_dilation[k])
            out[self.out_axes[k + 2]] = max((length - window) // self.strides[k] + 1, 0)
        return tuple(out)


def dilated(n: int, dilation: int) -> int:
    """Returns the size of an axis of `n` elements that are `dilation` apart."""
    return 0 if n == 0 else (n - 1) * dilation + 1
