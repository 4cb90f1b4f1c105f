"""Indexed reads and writes of ndarrays, and padding, without accesses out of bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsInt

import numpy as np

from jitney.compiler.dims import GatherDims, ScatterDims
from jitney.compiler.reference import scalar
from jitney.core.util import float_errors

if TYPE_CHECKING:
    from jitney.core.typing import Value

Combine = str | Callable[..., Any] | None


def pad(
    x: np.ndarray,
    value: np.ndarray,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
) -> np.ndarray:
    """Returns `x` padded with `value` around and between its elements; negative padding crops."""
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


def _clamped(start: SupportsInt, most: int) -> int:
    return min(max(int(start), 0), most)


def _window(shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int]) -> tuple[slice, ...]:
    first = [_clamped(s, n - size) for s, n, size in zip(starts, shape, sizes, strict=True)]
    return tuple([slice(s, s + size) for s, size in zip(first, sizes, strict=True)])


def dynamic_slice(x: np.ndarray, starts: Sequence[Any], sizes: Sequence[int]) -> np.ndarray:
    """Returns the block of shape `sizes` at `starts`.

    Starts are clamped so that the block is within `x`.
    """
    return x[_window(x.shape, starts, sizes)]


def dynamic_update_slice(x: np.ndarray, update: np.ndarray, starts: Sequence[Any]) -> np.ndarray:
    """Returns `x` with the block at `starts` replaced by `update`.

    Starts are clamped so that the block is within `x`.
    """
    out = np.array(x, order="C")
    out[_window(x.shape, starts, update.shape)] = update
    return out


def _starts(column: np.ndarray, most: int, mode: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Returns start positions clamped to [0, most], and which were in bounds (None for "clip")."""
    if column.dtype.kind == "u":  # clamped before the conversion, so that none becomes negative
        top = min(most + 1, int(np.iinfo(column.dtype).max))
        column = np.minimum(column, np.asarray(top, column.dtype))
    start = column.astype(np.int64)
    clamped = np.clip(start, 0, max(most, 0))
    return clamped, None if mode == "clip" else (start == clamped) & (most >= 0)


def _positions(
    shape: Sequence[int],
    indices: np.ndarray,
    index_map: Sequence[int],
    batching: Sequence[tuple[int, int]],
    window: Sequence[int],
    sizes: Sequence[int],
    mode: str,
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Returns the position along each operand axis, and whether each window is in bounds.

    `window` lists the operand axes along which windows extend. The arrays have the axes of
    `indices` except the last, followed by one axis for each entry of `window`; they are not
    broadcast, so axes can have size 1. `batching` pairs axes of the operand and of `indices`.
    """
    batch_rank = indices.ndim - 1
    rank = batch_rank + len(window)
    tail = (1,) * len(window)
    inside: np.ndarray | None = None
    parts = [np.zeros((1,) * rank, np.int64)] * len(shape)
    for k, axis in enumerate(index_map):
        start, fits = _starts(indices[..., k], shape[axis] - sizes[axis], mode)
        parts[axis] = start.reshape((*start.shape, *tail))
        if fits is not None:
            inside = fits if inside is None else inside & fits
    steps = [(axis, at, shape[axis]) for axis, at in batching]
    steps += [(axis, batch_rank + j, sizes[axis]) for j, axis in enumerate(window)]
    for axis, at, n in steps:
        own = [1] * rank
        own[at] = n
        parts[axis] = parts[axis] + np.arange(n).reshape(own)
    return parts, None if inside is None else inside.reshape((*inside.shape, *tail))


def _whole_axes(shape: Sequence[int], sizes: Sequence[int], window: Sequence[int]) -> list[int]:
    """Returns the axes in `window` along which a window is as large as the operand."""
    return [k for k in window if sizes[k] == shape[k]]


def gather(
    x: np.ndarray,
    indices: np.ndarray,
    dims: GatherDims,
    slice_sizes: Sequence[int],
    mode: str,
    fill: Value | None = None,
) -> np.ndarray:
    """Returns windows of `x` that start at the vectors along the last axis of `indices`.

    See `hlo.ir.Gather`.
    """
    dropped = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    window = [k for k in range(x.ndim) if k not in dropped]
    batch = indices.shape[:-1]
    sizes = [slice_sizes[k] for k in window]
    if 0 in batch or 0 in sizes:
        out = np.empty((*batch, *sizes), x.dtype)
    elif _is_take(x.shape, dims, slice_sizes, window):
        axis = dims.start_index_map[0]
        starts, fits = _starts(indices[..., 0], x.shape[axis] - 1, mode)
        out = np.take(x, starts, axis)
        inside = None if fits is None else fits.reshape(fits.shape + (1,) * (x.ndim - 1))
        # The axes of the indices have replaced `axis`; move them to the front.
        out = np.moveaxis(out, range(axis, axis + len(batch)), range(len(batch)))
        out = _filled(out, inside, mode, fill)
    else:
        parts, inside = _positions(
            x.shape, indices, dims.start_index_map,
            list(zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True)),
            window, slice_sizes, mode,
        )  # fmt: skip
        out = np.broadcast_to(x[tuple(parts)], (*batch, *sizes))
        out = _filled(out, inside, mode, fill)
    # Move the axes of windows to their positions in the result.
    batch_axes, window_axes = iter(range(len(batch))), iter(range(len(batch), out.ndim))
    offsets = set(dims.offset_dims)
    return out.transpose(
        [next(window_axes) if k in offsets else next(batch_axes) for k in range(out.ndim)]
    )


def _is_take(
    shape: Sequence[int], dims: GatherDims, sizes: Sequence[int], window: Sequence[int]
) -> bool:
    """Returns whether a gather selects complete slices along one axis, like `x[:, indices]`."""
    return (
        len(dims.start_index_map) == 1
        and dims.collapsed_slice_dims == dims.start_index_map
        and not dims.operand_batching_dims
        and len(_whole_axes(shape, sizes, window)) == len(window)
    )


def _filled(
    out: np.ndarray, inside: np.ndarray | None, mode: str, fill: Value | None
) -> np.ndarray:
    if mode != "fill" or inside is None or inside.all():
        return out
    return np.where(inside, out, np.asarray(fill, out.dtype))


def scatter(
    x: np.ndarray,
    indices: np.ndarray,
    updates: np.ndarray,
    dims: ScatterDims,
    combine: Combine,
    mode: str,
) -> np.ndarray:
    """Returns `x` with windows of `updates` combined into it, in order; see `hlo.ir.Scatter`.

    `combine` can be a function (old, update) -> new, which is elementwise on vectors.
    """
    out = np.array(x, order="C")
    if 0 in updates.shape or 0 in x.shape:
        return out
    dropped = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = [k for k in range(x.ndim) if k not in dropped]
    window_dims = set(dims.update_window_dims)
    batch_axes = [k for k in range(updates.ndim) if k not in window_dims]
    ordered = updates.transpose([*batch_axes, *dims.update_window_dims])
    sizes = [1] * x.ndim
    for axis, k in zip(window, dims.update_window_dims, strict=True):
        sizes[axis] = updates.shape[k]
    parts, inside = _positions(
        x.shape, indices, dims.scatter_dims_to_operand_dims,
        list(zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True)),
        window, sizes, mode,
    )  # fmt: skip
    flat = out.reshape(-1)
    at: Any = np.zeros((1,) * ordered.ndim, np.int64)
    stride = 1
    for part, n in zip(reversed(parts), reversed(x.shape), strict=True):
        at = at + part * stride
        stride *= n
    at, values = np.broadcast_to(at, ordered.shape).reshape(-1), ordered.reshape(-1)
    if inside is not None and not inside.all():
        kept = np.broadcast_to(inside, ordered.shape).reshape(-1)
        at, values = at[kept], values[kept]
    _combine_at(flat, at, values, combine)
    return out


_AT = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _combine_at(flat: np.ndarray, at: np.ndarray, values: np.ndarray, combine: Combine) -> None:
    """Sets flat[at[i]] = combine(flat[at[i]], values[i]) for i = 0, 1, ..., in place."""
    if combine is None:
        flat[at] = values  # the last one of equal positions wins
        return
    ufunc = _AT.get(combine) if isinstance(combine, str) else None
    if combine in ("min", "max") and flat.dtype.kind == "c":
        ufunc = None  # NumPy propagates NaN, unlike the comparison of complex numbers
    if ufunc is not None:
        with float_errors.ignored():
            ufunc.at(flat, at, values)
        return
    function: Any = scalar.function(combine) if isinstance(combine, str) else combine
    # Round k applies the k-th update of each position, so that positions in a round are distinct.
    order = np.argsort(at, kind="stable")
    places = at[order]
    first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))[: len(at)]
    occurrence = np.arange(len(at)) - np.repeat(first, np.diff(np.append(first, len(at))))
    by_occurrence = np.argsort(occurrence, kind="stable")
    rounds = (
        np.split(order[by_occurrence], np.cumsum(np.bincount(occurrence))[:-1]) if len(at) else []
    )
    for chosen in rounds:
        where = at[chosen]
        flat[where] = function(flat[where], values[chosen])
