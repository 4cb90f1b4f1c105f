"""Convolutions, by a matrix product for each element of the window or of the result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from jitney.compiler.dims import ConvolutionDims, dilated
from jitney.compiler.reference import contraction, indexing, reduction, scalar
from jitney.core.util import float_errors


def convolution(x: np.ndarray, w: np.ndarray, dims: ConvolutionDims) -> np.ndarray:
    """Returns the convolution of `x` with the window `w`, in their common dtype.

    Floats of 8 and 16 bits are accumulated in float32; integers wrap around.
    """
    dtype, rank = x.dtype, dims.rank
    wide = reduction.carrier(dtype)
    shape = dims.result_shape(x.shape, w.shape)
    groups = dims.groups * dims.batch_groups
    grouped = _groups_last(_space_first(scalar.convert(x, wide), dims.x_axes), dims)
    grouped = _padded(grouped, dims)
    # Axes: space, group, feature of x, feature of the result.
    window = scalar.convert(w, wide).transpose(*dims.w_axes[2:], *dims.w_axes[1::-1])
    window = window.reshape((*window.shape[:-1], groups, window.shape[-1] // groups))
    window = np.moveaxis(window, -2, rank)
    space = [shape[axis] for axis in dims.out_axes[2:]]
    total = _sum_of_products(grouped, window, space, dims)
    # Axes: group, batch, space, feature of the group.
    total = np.moveaxis(total, 0, -2)
    total = total.reshape((*total.shape[:-2], total.shape[-2] * total.shape[-1]))
    order = (dims.out_axes[0], *dims.out_axes[2:], dims.out_axes[1])
    out = total.transpose([order.index(k) for k in range(rank + 2)])
    return np.ascontiguousarray(scalar.convert(out, dtype))


def _space_first(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Returns `x` transposed to the axes space, batch, feature."""
    return x.transpose(*axes[2:], *axes[:2])


def _groups_last(x: np.ndarray, dims: ConvolutionDims) -> np.ndarray:
    """Returns `x` with the axes space, group, batch, feature.

    Groups divide the batch or the features.
    """
    *space, batch, features = x.shape
    if dims.batch_groups > 1:
        return x.reshape((*space, dims.batch_groups, batch // dims.batch_groups, features))
    x = x.reshape((*space, batch, dims.groups, features // dims.groups))
    return np.moveaxis(x, -2, -3)


def _padded(x: np.ndarray, dims: ConvolutionDims) -> np.ndarray:
    zeros = [0] * (x.ndim - dims.rank)
    low, high = [*dims.low, *zeros], [*dims.high, *zeros]
    between = [*[d - 1 for d in dims.x_dilation], *zeros]
    if not any((*low, *high, *between)):
        return x
    return indexing.pad(x, np.zeros((), x.dtype), low, high, between)


def _sum_of_products(
    x: np.ndarray, w: np.ndarray, space: list[int], dims: ConvolutionDims
) -> np.ndarray:
    """Returns the convolution as an array [group, batch, *space, feature].

    The axes of x are space, group, batch, feature; those of w are space, group, feature, feature of
    the result.
    """
    rank = dims.rank
    groups, batch, features = x.shape[rank], x.shape[rank + 1], w.shape[-1]
    out = np.zeros((groups, batch, *space, features), x.dtype)
    window = w.shape[:rank]
    if out.size == 0 or w.size == 0:
        return out
    order = (rank, rank + 1, *range(rank), rank + 2)
    with float_errors.ignored():
        if math.prod(window) <= math.prod(space):
            for tap in np.ndindex(*window):
                starts = [k * d for k, d in zip(tap, dims.w_dilation, strict=True)]
                part = x[_spans(starts, space, dims.strides)].transpose(order)
                rows = part.reshape(groups, -1, part.shape[-1])
                out += np.matmul(rows, w[tap]).reshape(out.shape)
            return out
        taps = w.reshape(-1, *w.shape[rank:]).transpose(1, 0, 2, 3).reshape(groups, -1, features)
        for place in itertools.product(*map(range, space)):
            starts = [o * s for o, s in zip(place, dims.strides, strict=True)]
            part = x[_spans(starts, window, dims.w_dilation)].transpose(order)
            at = (slice(None), slice(None), *place)
            out[at] = contraction.product(part.reshape(groups, batch, -1), taps)
    return out


def _spans(starts: list[int], counts: Sequence[int], steps: tuple[int, ...]) -> tuple[slice, ...]:
    """Returns slices of `counts` elements each."""
    return tuple(
        [slice(a, a + dilated(n, s), s) for a, n, s in zip(starts, counts, steps, strict=True)]
    )
