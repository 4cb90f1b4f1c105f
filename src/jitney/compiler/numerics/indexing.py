"""Meanings of indexed reads and writes on ndarrays, and of padding. Nothing is read out of bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.compiler.hlo.ir import GatherDims, ScatterDims

Combine = str | Callable[..., Any] | None


def pad(
    x: np.ndarray,
    value: np.ndarray,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
) -> np.ndarray:
    """`value` around and between the elements of `x`; negative low and high take elements away."""
    spread = [max(n + max(n - 1, 0) * k, 0) for n, k in zip(x.shape, interior, strict=True)]
    shape = [n + lo + hi for n, lo, hi in zip(spread, low, high, strict=True)]
    out = np.full([n + max(lo, 0) + max(hi, 0) for n, lo, hi in zip(spread, low, high, strict=True)],
                  value, x.dtype)  # fmt: skip
    inside = tuple(
        slice(max(lo, 0), max(lo, 0) + n, k + 1)
        for lo, n, k in zip(low, spread, interior, strict=True)
    )
    out[inside] = x
    crop = tuple(slice(max(-lo, 0), max(-lo, 0) + n) for lo, n in zip(low, shape, strict=True))
    return out[crop]


def _clamped(start: Any, most: int) -> int:
    return min(max(int(start), 0), most)


def _window(shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int]) -> tuple[slice, ...]:
    first = [_clamped(s, n - size) for s, n, size in zip(starts, shape, sizes, strict=True)]
    return tuple([slice(s, s + size) for s, size in zip(first, sizes, strict=True)])


def dynamic_slice(x: np.ndarray, starts: Sequence[Any], sizes: Sequence[int]) -> np.ndarray:
    """The block of shape `sizes` at `starts`, clamped into bounds."""
    return x[_window(x.shape, starts, sizes)]


def dynamic_update_slice(x: np.ndarray, update: np.ndarray, starts: Sequence[Any]) -> np.ndarray:
    """`x` with the block at `starts`, clamped into bounds, replaced by `update`."""
    out = np.array(x, order="C")
    out[_window(x.shape, starts, update.shape)] = update
    return out


def _positions(
    shape: Sequence[int],
    indices: np.ndarray,
    index_map: Sequence[int],
    operand_batching: Sequence[int],
    indices_batching: Sequence[int],
    window: Sequence[int],
    sizes: Sequence[int],
    mode: str,
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """(position along each operand axis, whether the window is inside).

    Arrays have the axes of `indices` without its last, then one for each of `window`, the operand axes
    that windows extend over; they broadcast.
    """
    batch_rank = indices.ndim - 1
    tail = (1,) * len(window)
    inside: np.ndarray | None = None
    parts: list[np.ndarray] = [np.zeros((1,) * (batch_rank + len(window)), np.int64)] * len(shape)
    for k, axis in enumerate(index_map):
        column = indices[..., k]
        most = shape[axis] - sizes[axis]
        if column.dtype.kind == "u":
            column = np.minimum(column, np.asarray(min(most + 1, np.iinfo(column.dtype).max), column.dtype))
        start = column.astype(np.int64)
        clamped = np.clip(start, 0, max(most, 0))
        if mode != "clip":
            fits = (start == clamped) & (most >= 0)
            inside = fits if inside is None else inside & fits
        parts[axis] = clamped.reshape(*clamped.shape, *tail)
    for axis, at in zip(operand_batching, indices_batching, strict=True):
        own = [1] * (batch_rank + len(window))
        own[at] = shape[axis]
        parts[axis] = parts[axis] + np.arange(shape[axis]).reshape(own)
    for j, axis in enumerate(window):
        own = [1] * (batch_rank + len(window))
        own[batch_rank + j] = sizes[axis]
        parts[axis] = parts[axis] + np.arange(sizes[axis]).reshape(own)
    return parts, None if inside is None else inside.reshape(*inside.shape, *tail)


def gather(
    x: np.ndarray,
    indices: np.ndarray,
    dims: GatherDims,
    slice_sizes: Sequence[int],
    mode: str,
    fill: Any = None,
) -> np.ndarray:
    """Windows of `x` at the start vectors along the last axis of `indices`; see `hlo.ir.Gather`."""
    dropped = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    window = [k for k in range(x.ndim) if k not in dropped]
    batch = indices.shape[:-1]
    shape = (*batch, *[slice_sizes[k] for k in window])
    if 0 in x.shape or 0 in shape:
        out = np.empty(shape, x.dtype)
        out[...] = 0 if fill is None else fill
    else:
        parts, inside = _positions(
            x.shape, indices, dims.start_index_map, dims.operand_batching_dims,
            dims.start_indices_batching_dims, window, slice_sizes, mode,
        )  # fmt: skip
        out = np.broadcast_to(x[tuple(parts)], shape) if parts else np.broadcast_to(x, shape)
        if mode == "fill" and inside is not None and not inside.all():
            out = np.where(inside, out, np.asarray(fill, x.dtype))
    # Window axes go where the result wants them.
    rank = len(shape)
    order = list(range(rank))
    batch_axes, window_axes = iter(order[: len(batch)]), iter(order[len(batch) :])
    return out.transpose(
        [next(window_axes) if k in dims.offset_dims else next(batch_axes) for k in range(rank)]
    )


_AT = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def scatter(
    x: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
    dims: ScatterDims,
    combine: Combine,
    mode: str,
) -> np.ndarray:
    """`x` with windows of `updates` combined in, in order; see `hlo.ir.Scatter`."""
    out = np.array(x, order="C")
    if 0 in updates.shape or 0 in x.shape:
        return out
    dropped = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = [k for k in range(x.ndim) if k not in dropped]
    batch_axes = [k for k in range(updates.ndim) if k not in dims.update_window_dims]
    ordered = updates.transpose([*batch_axes, *dims.update_window_dims])
    sizes = [1] * x.ndim
    for j, axis in enumerate(window):
        sizes[axis] = updates.shape[dims.update_window_dims[j]]
    parts, inside = _positions(
        x.shape, indices, dims.scatter_dims_to_operand_dims, dims.operand_batching_dims,
        dims.scatter_indices_batching_dims, window, sizes, mode,
    )  # fmt: skip
    shape = ordered.shape
    where = [np.broadcast_to(p, shape).reshape(-1) for p in parts]
    values = ordered.reshape(-1)
    if inside is not None:
        kept = np.broadcast_to(inside, shape).reshape(-1)
        if not kept.all():
            where, values = [w[kept] for w in where], values[kept]
    flat = out.reshape(-1)
    at = np.ravel_multi_index(tuple(where), x.shape) if where else np.zeros(len(values), np.int64)
    if combine is None:
        flat[at] = values
    elif callable(combine):
        for i, value in zip(at.tolist(), values, strict=True):
            flat[i] = combine(flat[i], value)
    else:
        _AT[combine].at(flat, at, values)
    return out
