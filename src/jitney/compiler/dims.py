"""Axis roles of gathers, scatters, convolutions: shared by the tensor IR and the implementations."""

from __future__ import annotations

from typing import Literal, TypeAlias

from jitney.core.record import record

Axes: TypeAlias = tuple[int, ...]
IndexMode: TypeAlias = Literal["clip", "fill", "promise_in_bounds"]


@record(frozen=True)
class GatherDims:
    """Axis roles of a gather, named as in StableHLO; the index vector is the last axis of indices.

    Result axes `offset_dims` run over the slice (its axes without `collapsed_slice_dims` and
    `operand_batching_dims`), the others over `indices` without its last axis. Entry k of an index
    vector moves operand axis `start_index_map[k]`. Batching axes pair off operand and indices.
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
      x_axes: of the operand: batch, feature, then those of space.
      w_axes: of the window: feature of the result, feature of the operand, then those of space.
      out_axes: of the result: batch, feature, space.
      strides: how far windows are from each other along each axis of space.
      low, high: elements of padding, zeros; negative ones take elements away.
      x_dilation: 1 more than the number of zeros put between elements of the operand, before padding.
      w_dilation: how far elements of the window are from each other.
      groups: into which features are divided: each is convolved with windows of its own.
      batch_groups: into which the batch is divided, likewise; the result has their features.
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
        """The number of axes of space."""
        return len(self.strides)

    def result_shape(self, x: Axes, w: Axes) -> Axes:
        """Shape of the result for operands of shapes `x` and `w`."""
        out = [0] * len(self.out_axes)
        out[self.out_axes[0]] = x[self.x_axes[0]] // self.batch_groups
        out[self.out_axes[1]] = w[self.w_axes[0]]
        for k in range(self.rank):
            length = dilated(x[self.x_axes[k + 2]], self.x_dilation[k]) + self.low[k] + self.high[k]
            window = dilated(w[self.w_axes[k + 2]], self.w_dilation[k])
            out[self.out_axes[k + 2]] = max((length - window) // self.strides[k] + 1, 0)
        return tuple(out)


def dilated(n: int, dilation: int) -> int:
    """Size of an axis of `n` elements of which each is `dilation` after the one before."""
    return 0 if n == 0 else (n - 1) * dilation + 1
