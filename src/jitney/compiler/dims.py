"""Dimension numbers of gathers, scatters and convolutions: the roles of their axes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from jitney.core.util.record import record

Axes: TypeAlias = tuple[int, ...]
IndexMode: TypeAlias = Literal["clip", "fill", "promise_in_bounds"]


@record(frozen=True)
class GatherDims:
    """Dimension numbers of a gather, named as in StableHLO.

    An index vector is a row of `indices` along the last axis. Element k of it is the start of a
    slice along the operand's axis `start_index_map[k]`. The axes `offset_dims` of the result
    correspond to those axes of a slice that are not in `collapsed_slice_dims` or
    `operand_batching_dims`; the other axes of the result correspond to the axes of `indices` except
    the last. The batching axes of the operand and of the indices are paired.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


@record(frozen=True)
class ScatterDims:
    """Dimension numbers of a scatter, named as in StableHLO: the mirror image of `GatherDims`."""

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


@record(frozen=True)
class ConvolutionDims:
    """Dimension numbers of a convolution, with the strides, padding and dilation of its window.

    Attributes:
      x_axes: the axes of the operand: batch, feature, then spatial axes.
      w_axes: the axes of the window: output feature, input feature, then spatial axes.
      out_axes: the axes of the result: batch, feature, then spatial axes.
      strides: the distance between consecutive windows along each spatial axis.
      low, high: the number of zeros to pad with; negative numbers remove elements.
      x_dilation: 1 plus the number of zeros inserted between elements of the operand before
        padding.
      w_dilation: the distance between adjacent elements of the window.
      groups: the number of groups of features, each of which is convolved with separate windows.
      batch_groups: the number of groups of the batch, each of which is convolved with separate
        windows; their results are concatenated along the feature axis.
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
    """Returns the extent of `n` elements that are `dilation` apart."""
    return 0 if n == 0 else (n - 1) * dilation + 1
