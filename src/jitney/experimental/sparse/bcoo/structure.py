"""Structural operations on BCOO arrays: broadcasting, joining, slicing, reshaping and sums."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney import lax, numpy as jnp
from jitney.experimental.sparse.bcoo.layout import is_stored, padding
from jitney.experimental.sparse.bcoo.matrix import (
    BCOO,
    bcoo_sum_duplicates,
    bcoo_transpose,
)
from jitney.experimental.sparse.bcoo.relayout import grid
from jitney.experimental.sparse.util import Shape, check_permutation, nfold_vmap

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, DTypeLike


def _integers(x: Sequence[Any]) -> Shape:
    return tuple(operator.index(n) for n in x)


def _check_broadcast(old: Shape, shape: Shape, dims: Sequence[int]) -> None:
    """Raises ValueError unless arrays of shape `old` can be broadcast to `shape`."""
    if (
        len(dims) != len(old)
        or list(dims) != sorted(set(dims))
        or any(not 0 <= d < len(shape) for d in dims)
        or any(n not in (1, shape[d]) for n, d in zip(old, dims, strict=True))
    ):
        raise ValueError(
            f"bcoo_broadcast_in_dim: shape {old} does not broadcast to {shape} with "
            f"broadcast_dimensions {dims}"
        )


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCOO:
    """Broadcasts a sparse array along new axes, and along axes of size 1.

    New axes before all sparse axes become batch axes; new axes after all sparse axes become dense
    axes; new axes in between become sparse axes.

    Args:
      mat: the array.
      shape: shape of the result.
      broadcast_dimensions: for each axis of `mat`, the corresponding axis of the result, in
        increasing order.
      sharding: must be None.

    Raises:
      ValueError: if the axes or sizes do not match.
    """
    shape, dims = _integers(shape), _integers(broadcast_dimensions)
    _check_broadcast(mat.shape, shape, dims)
    p = mat.properties
    first_dense = p.n_batch + p.n_sparse
    sparse_dims = dims[p.n_batch : first_dense]
    n_batch = sparse_dims[0] if sparse_dims else (dims[first_dense] if p.n_dense else len(shape))
    if not sparse_dims and p.n_dense:
        n_batch = dims[p.n_batch - 1] + 1 if p.n_batch else 0
    end = sparse_dims[-1] + 1 if sparse_dims else n_batch
    batch = [1] * n_batch
    data_batch, indices_batch = list(batch), list(batch)
    for k in range(p.n_batch):
        data_batch[dims[k]] = mat.data.shape[k]
        indices_batch[dims[k]] = mat.indices.shape[k]
    # Sizes of the dense axes: the sizes in `mat` at their positions, 1 at other positions.
    dense = [1] * (len(shape) - end)
    for k in range(first_dense, mat.ndim):
        dense[dims[k] - end] = mat.shape[k]
    data = mat.data.reshape(*data_batch, p.nse, *dense)
    data = jnp.broadcast_to(data, (*data_batch, p.nse, *shape[end:]))
    indices = mat.indices.reshape(*indices_batch, p.nse, p.n_sparse)
    # Each block is repeated at all positions of the sparse axes that are broadcast.
    old = [mat.shape[dims.index(d)] if d in dims else 1 for d in range(n_batch, end)]
    spread = tuple(n if n != o else 1 for n, o in zip(shape[n_batch:end], old, strict=True))
    each = math.prod(spread)
    stored = is_stored(indices, mat.sparse_shape)
    placed = [
        indices[..., sparse_dims.index(d)]
        if d in sparse_dims
        else jnp.zeros_like(stored, indices.dtype)
        for d in range(n_batch, end)
    ]
    at = jnp.stack(placed, -1) if placed else indices
    if each != 1:
        at = at[..., :, None, :] + grid(spread, indices.dtype)
        at = at.reshape(*indices_batch, p.nse * each, end - n_batch)
        data = jnp.repeat(data, each, axis=n_batch)
        stored = jnp.repeat(stored, each, axis=n_batch)
    if placed:
        at = jnp.where(stored[..., None], at, padding(at.shape, shape[n_batch:end], at.dtype))
    return BCOO((data, at), shape=shape, unique_indices=mat.unique_indices)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Concatenates sparse arrays along an axis.

    Args:
      operands: arrays of the same layout, whose shapes are equal except along `dimension`.
      dimension: axis along which the operands are joined.

    Raises:
      ValueError: if there are no operands, or if layouts or shapes do not match.
    """
    operands = list(operands)
    if not operands:
        raise ValueError("bcoo_concatenate: operands must not be empty")
    first = operands[0]
    dimension = operator.index(dimension)
    if not 0 <= dimension < first.ndim:
        raise ValueError(
            f"bcoo_concatenate: arrays of shape {first.shape} have no axis {dimension}"
        )
    if any((m.n_batch, m.n_dense) != (first.n_batch, first.n_dense) for m in operands):
        raise ValueError(
            "bcoo_concatenate: operands must have the same numbers of batch and dense axes"
        )

    def others(m: BCOO) -> Shape:
        return (*m.shape[:dimension], *m.shape[dimension + 1 :])

    if any(others(m) != others(first) for m in operands):
        raise ValueError(
            f"bcoo_concatenate: shapes must be equal except along axis {dimension}, but got "
            f"{[m.shape for m in operands]}"
        )
    extents = [m.shape[dimension] for m in operands]
    starts = [sum(extents[:k]) for k in range(len(extents))]
    shape = (*first.shape[:dimension], sum(extents), *first.shape[dimension + 1 :])
    n_batch, sparse = first.n_batch, first.n_batch + first.n_sparse
    index_dtype = jnp.result_type(*[m.indices for m in operands])
    if dimension < n_batch:
        nse = max(m.nse for m in operands)
        stored = [_full_batches(_padded(m, nse), dimension) for m in operands]
        data = jnp.concatenate(_same_batches([x for x, _ in stored], dimension, n_batch), dimension)
        indices = jnp.concatenate(
            _same_batches([i.astype(index_dtype) for _, i in stored], dimension, n_batch), dimension
        )
        return BCOO((data, indices), shape=shape)
    pairs = zip(operands, starts, strict=True)
    if dimension < sparse:
        parts = [_shifted(m, dimension, start, shape, index_dtype) for m, start in pairs]
    else:
        parts = [_among_zeros(m, dimension, start, shape, index_dtype) for m, start in pairs]
    data_parts, index_parts = ([part[k] for part in parts] for k in range(2))
    return BCOO(
        (
            jnp.concatenate(_same_batches(data_parts, n_batch, n_batch), n_batch),
            jnp.concatenate(_same_batches(index_parts, n_batch, n_batch), n_batch),
        ),
        shape=shape,
        unique_indices=dimension < sparse and all(m.unique_indices for m in operands),
    )


def _shifted(
    mat: BCOO, axis: int, start: int, shape: Shape, index_dtype: DTypeLike
) -> tuple[Array, Array]:
    """Returns (data, indices) of `mat`, placed at `start` along sparse axis `axis` of `shape`."""
    indices = mat.indices.astype(index_dtype)
    shift = [start if mat.n_batch + k == axis else 0 for k in range(mat.n_sparse)]
    stored = is_stored(indices, mat.sparse_shape)[..., None]
    moved = indices + jnp.array(shift, index_dtype)
    full = shape[mat.n_batch : mat.n_batch + mat.n_sparse]
    return mat.data, jnp.where(stored, moved, padding(indices.shape, full, index_dtype))


def _among_zeros(
    mat: BCOO, axis: int, start: int, shape: Shape, index_dtype: DTypeLike
) -> tuple[Array, Array]:
    """Returns (data, indices) of `mat`, zero-padded along the dense axis `axis` of `shape`."""
    indices = mat.indices.astype(index_dtype)
    width = [(0, 0)] * mat.data.ndim
    width[axis - mat.n_sparse + 1] = (start, shape[axis] - start - mat.shape[axis])
    return jnp.pad(mat.data, width), indices


def _padded(mat: BCOO, nse: int) -> BCOO:
    """Returns the array with padding added for a total of `nse` blocks."""
    n_added = nse - mat.nse
    if not n_added:
        return mat
    width = [(0, 0)] * mat.data.ndim
    width[mat.n_batch] = (0, n_added)
    fill = padding(
        (*mat.indices.shape[:-2], n_added, mat.n_sparse), mat.sparse_shape, mat.indices.dtype
    )
    return BCOO(
        (jnp.pad(mat.data, width), jnp.concatenate([mat.indices, fill], -2)), shape=mat.shape
    )


def _full_batches(mat: BCOO, axis: int) -> tuple[Array, Array]:
    """Returns (data, indices) broadcast to the size of batch axis `axis`."""

    def full(x: Array) -> Array:
        return jnp.broadcast_to(x, (*x.shape[:axis], mat.shape[axis], *x.shape[axis + 1 :]))

    return full(mat.data), full(mat.indices)


def _same_batches(parts: list[Array], axis: int, n_batch: int) -> list[Array]:
    """Broadcasts the batch axes of arrays to common sizes, except along `axis`."""
    shapes = [x.shape[:n_batch] for x in parts]
    common = [max(extents) for extents in zip(*shapes, strict=True)]
    out = []
    for x in parts:
        batch = [x.shape[k] if k == axis else common[k] for k in range(n_batch)]
        out.append(jnp.broadcast_to(x, (*batch, *x.shape[n_batch:])))
    return out


def bcoo_reshape(
    mat: BCOO,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: None = None,
) -> BCOO:
    """Reshapes a sparse array.

    Batch, sparse and dense axes can each be reshaped only among themselves.

    Args:
      mat: the array.
      new_sizes: the new shape.
      dimensions: permutation of the axes that is applied first.
      sharding: must be None.

    Raises:
      ValueError: if the number of elements differs, or axes of different kinds would be mixed.
    """
    shape = _integers(new_sizes)
    if math.prod(shape) != mat.size:
        raise ValueError(
            f"bcoo_reshape: shapes {mat.shape} and {shape} have different numbers of elements"
        )
    if dimensions is not None:
        mat = bcoo_transpose(
            mat, permutation=check_permutation("bcoo_reshape", dimensions, mat.ndim)
        )
    p = mat.properties
    n_batch = _prefix(shape, 0, mat.shape[: p.n_batch], mat.shape, shape)
    first_dense = _prefix(shape, n_batch, mat.sparse_shape, mat.shape, shape)
    if math.prod(shape[first_dense:]) != math.prod(mat.shape[p.n_batch + p.n_sparse :]):
        raise _mixed(mat.shape, shape)

    def batches(x: Array) -> Array:
        if any(n != full for n, full in zip(x.shape, mat.shape[: p.n_batch], strict=False)):
            if all(n == 1 for n in x.shape[: p.n_batch]):
                return x.reshape(*(1,) * n_batch, *x.shape[p.n_batch :])
            x = jnp.broadcast_to(x, (*mat.shape[: p.n_batch], *x.shape[p.n_batch :]))
        return x.reshape(*shape[:n_batch], *x.shape[p.n_batch :])

    data = batches(mat.data)
    data = data.reshape(*data.shape[: n_batch + 1], *shape[first_dense:])
    indices = batches(mat.indices)
    old, new = mat.sparse_shape, shape[n_batch:first_dense]
    stored = is_stored(indices, old)[..., None]
    flat = jnp.zeros(indices.shape[:-1], indices.dtype)
    for k, n in enumerate(old):
        flat = flat * n + indices[..., k]
    parts = []
    for n in new[::-1]:
        parts.append(flat % max(n, 1))
        flat = flat // max(n, 1)
    at = jnp.stack(parts[::-1], -1) if parts else indices[..., :0]
    at = jnp.where(stored, at, padding(at.shape, new, at.dtype))
    return BCOO(
        (data, at),
        shape=shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _prefix(sizes: Shape, start: int, group: Shape, old: Shape, new: Shape) -> int:
    """Returns the end of the axes that begin at `start` and have as many elements as `group`.

    Raises:
      ValueError: if no run of axes of `sizes` that begins at `start` has that many elements.
    """
    n_elements, end, held = math.prod(group), start, 1
    if not group:
        return start
    while held != n_elements or (end == start and sizes[end:]):
        if end == len(sizes) or held > n_elements > 0:
            raise _mixed(old, new)
        held *= sizes[end]
        end += 1
    return end


def _mixed(old: Shape, new: Shape) -> ValueError:
    return ValueError(
        f"bcoo_reshape: reshaping from {old} to {new} would mix batch, sparse and dense axes; change "
        "the layout first, with update_layout"
    )


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """Reverses the order of elements along axes.

    Raises:
      ValueError: if an axis is out of bounds or repeated.
    """
    axes = _integers(dimensions)
    if len(set(axes)) < len(axes) or any(not 0 <= k < operand.ndim for k in axes):
        raise ValueError(
            f"bcoo_rev: axes {axes} are repeated or out of bounds for shape {operand.shape}"
        )
    p = operand.properties
    batch = [k for k in axes if k < p.n_batch]
    sparse = [k - p.n_batch for k in axes if p.n_batch <= k < p.n_batch + p.n_sparse]
    dense = [k - p.n_sparse + 1 for k in axes if k >= p.n_batch + p.n_sparse]
    data, indices = lax.rev(operand.data, (*batch, *dense)), lax.rev(operand.indices, tuple(batch))
    if sparse:
        extents = jnp.array(operand.sparse_shape, indices.dtype)
        is_reversed = jnp.array([k in sparse for k in range(p.n_sparse)])
        stored = is_stored(indices, operand.sparse_shape)[..., None]
        indices = jnp.where(stored & is_reversed, extents - 1 - indices, indices)
    return BCOO(
        (data, indices),
        shape=operand.shape,
        indices_sorted=operand.indices_sorted and not sparse,
        unique_indices=operand.unique_indices,
    )


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Removes axes of size 1.

    Raises:
      ValueError: if an axis is out of bounds, or its size is not 1.
    """
    axes = tuple(k + arr.ndim if k < 0 else k for k in _integers(dimensions))
    if any(not 0 <= k < arr.ndim or arr.shape[k] != 1 for k in axes):
        raise ValueError(
            f"bcoo_squeeze: `dimensions` must be axes of size 1, but they are {axes} for shape "
            f"{arr.shape}"
        )
    p = arr.properties
    batch = tuple(k for k in axes if k < p.n_batch)
    sparse = [k - p.n_batch for k in axes if p.n_batch <= k < p.n_batch + p.n_sparse]
    dense = tuple(k - p.n_sparse + 1 for k in axes if k >= p.n_batch + p.n_sparse)
    remaining = [k for k in range(p.n_sparse) if k not in sparse]
    indices = jnp.squeeze(arr.indices, batch)
    data = jnp.squeeze(arr.data, (*batch, *dense))
    if sparse:
        stored = is_stored(indices, arr.sparse_shape)
        data, indices = _without(data, indices, stored, remaining, arr.sparse_shape)
    return BCOO(
        (data, indices),
        shape=tuple(n for k, n in enumerate(arr.shape) if k not in axes),
        indices_sorted=arr.indices_sorted,
        unique_indices=arr.unique_indices,
    )


def _without(
    data: Array, indices: Array, stored: Array, remaining: Sequence[int], extents: Shape
) -> tuple[Array, Array]:
    """Drops all sparse axes but `remaining`; returns (data, indices).

    Padding stays marked by its indices or, if no sparse axis remains, by data that are zero.
    """
    if remaining:
        at = jnp.stack([indices[..., k] for k in remaining], -1)
        empty = padding(at.shape, [extents[k] for k in remaining], at.dtype)
        return data, jnp.where(stored[..., None], at, empty)
    mask = stored.reshape(*stored.shape, *(1,) * (data.ndim - stored.ndim))
    return jnp.where(mask, data, jnp.zeros((), data.dtype)), indices[..., :0]


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """Computes `lax.slice` of a sparse array.

    Raises:
      ValueError: if the bounds do not match the shape.
    """
    starts, limits = _integers(start_indices), _integers(limit_indices)
    steps = (1,) * mat.ndim if strides is None else _integers(strides)
    if not len(starts) == len(limits) == len(steps) == mat.ndim:
        raise ValueError(
            "bcoo_slice: there must be a start, a limit and a stride for each axis of shape "
            f"{mat.shape}, but got {starts=}, {limits=} and strides={steps}"
        )
    if any(
        not 0 <= a <= b <= n or s < 1
        for a, b, s, n in zip(starts, limits, steps, mat.shape, strict=True)
    ):
        raise ValueError(
            "bcoo_slice: 0 <= start <= limit <= size and stride >= 1 must hold for each axis, but got "
            f"{starts=}, {limits=} and strides={steps} for shape {mat.shape}"
        )
    shape = tuple(-(-(b - a) // s) for a, b, s in zip(starts, limits, steps, strict=True))
    p = mat.properties
    first_dense = p.n_batch + p.n_sparse
    bounds = [slice(a, b, s) for a, b, s in zip(starts, limits, steps, strict=True)]

    def batches(x: Array) -> tuple[slice, ...]:
        return tuple(
            slice(None) if x.shape[k] == 1 != mat.shape[k] else bounds[k] for k in range(p.n_batch)
        )

    data = mat.data[(*batches(mat.data), slice(None), *bounds[first_dense:])]
    indices = mat.indices[batches(mat.indices)]
    sparse = range(p.n_batch, first_dense)
    if all(starts[k] == 0 and limits[k] == mat.shape[k] and steps[k] == 1 for k in sparse):
        return BCOO(
            (data, indices),
            shape=shape,
            indices_sorted=mat.indices_sorted,
            unique_indices=mat.unique_indices,
        )

    def bound(values: Shape) -> Array:
        return jnp.array([values[k] for k in sparse], indices.dtype)

    offset = indices - bound(starts)
    inside = (offset >= 0) & (indices < bound(limits)) & (offset % bound(steps) == 0)
    return _cut(mat, data, offset // bound(steps), jnp.all(inside, -1), shape)


def _cut(mat: BCOO, data: Array, at: Array, inside: Array, shape: Shape) -> BCOO:
    """Returns an array of `shape` with the blocks of `data` that are `inside`, at indices `at`.

    It stores at most as many blocks as `shape` has positions.
    """
    p = mat.properties
    new = shape[p.n_batch : p.n_batch + p.n_sparse]
    at = jnp.where(inside[..., None], at, padding(at.shape, new, at.dtype))
    mask = inside.reshape(*inside.shape, *(1,) * p.n_dense)
    out = BCOO(
        (jnp.where(mask, data, jnp.zeros((), data.dtype)), at),
        shape=shape,
        unique_indices=mat.unique_indices,
    )
    room = math.prod(new)
    return bcoo_sum_duplicates(out, nse=room) if room < out.nse else out


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """Computes `lax.dynamic_slice` of a sparse array; start indices are clamped.

    Raises:
      ValueError: if the sizes do not match the shape.
      TypeError: if a start index is not a scalar.
    """
    sizes = _integers(slice_sizes)
    starts = [jnp.asarray(s) for s in start_indices]
    if len(sizes) != mat.ndim or len(starts) != mat.ndim:
        raise ValueError(
            f"bcoo_dynamic_slice: expected a start index and a size for each axis of {mat.shape}"
        )
    if any(not 0 <= n <= full for n, full in zip(sizes, mat.shape, strict=True)):
        raise ValueError(
            f"bcoo_dynamic_slice: `slice_sizes` must be between 0 and the sizes of the axes, but "
            f"they are {sizes} for shape {mat.shape}"
        )
    if any(s.ndim for s in starts):
        raise TypeError("bcoo_dynamic_slice: start indices must be scalars")
    p = mat.properties
    first_dense = p.n_batch + p.n_sparse
    dtype = mat.indices.dtype
    starts = [
        jnp.clip(s, 0, full - n).astype(dtype)
        for s, n, full in zip(starts, sizes, mat.shape, strict=True)
    ]

    def batches(x: Array) -> Array:
        for k in range(p.n_batch):
            if x.shape[k] == mat.shape[k]:
                x = lax.dynamic_slice_in_dim(x, starts[k], sizes[k], k)
        return x

    data, indices = batches(mat.data), batches(mat.indices)
    for k in range(first_dense, mat.ndim):
        data = lax.dynamic_slice_in_dim(data, starts[k], sizes[k], k - p.n_sparse + 1)
    new = sizes[p.n_batch : first_dense]
    if not p.n_sparse or new == mat.sparse_shape:
        return BCOO((data, indices), shape=sizes, unique_indices=mat.unique_indices)
    offset = indices - jnp.stack(starts[p.n_batch : first_dense])
    inside = jnp.all((offset >= 0) & (offset < jnp.array(new, dtype)), -1)
    return _cut(mat, data, offset, inside & is_stored(indices, mat.sparse_shape), sizes)


def bcoo_gather(
    operand: BCOO,
    start_indices: Array,
    dimension_numbers: lax.GatherDimensionNumbers,
    slice_sizes: Shape,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | lax.GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> BCOO:
    """Computes `lax.gather` of a sparse array, for the gathers that integer indexing creates.

    Axes of `start_indices` become batch axes of the result.

    Raises:
      NotImplementedError: if there are batching dimensions or a `fill_value`, if the mode is
        neither "clip" nor "promise_in_bounds", or if the axes of slices are not the last axes of
        the result.
    """
    del unique_indices, indices_are_sorted
    parsed = (
        mode if isinstance(mode, lax.GatherScatterMode) else lax.GatherScatterMode.from_any(mode)
    )
    numbers = dimension_numbers
    at = jnp.asarray(start_indices)
    if numbers.operand_batching_dims:
        raise NotImplementedError("bcoo_gather: operand_batching_dims must be empty")
    if parsed not in (lax.GatherScatterMode.PROMISE_IN_BOUNDS, lax.GatherScatterMode.CLIP):
        raise NotImplementedError(
            f"bcoo_gather: mode must be 'clip' or 'promise_in_bounds', but got {mode}"
        )
    if fill_value is not None:
        raise NotImplementedError("bcoo_gather: fill_value is not supported for sparse arrays")
    n_outer = at.ndim - 1
    rank = operand.ndim - len(numbers.collapsed_slice_dims)
    if numbers.offset_dims != tuple(range(n_outer, n_outer + rank)):
        raise NotImplementedError(
            f"bcoo_gather: axes of slices must be the last axes of the result, but got {numbers}"
        )

    def one(start: Array) -> BCOO:
        starts: list[Any] = [0] * operand.ndim
        for k, axis in enumerate(numbers.start_index_map):
            starts[axis] = start[k]
        out = bcoo_dynamic_slice(operand, starts, slice_sizes)
        return bcoo_squeeze(out, dimensions=numbers.collapsed_slice_dims)

    if not n_outer:
        return one(at)
    shape: Shape = ()

    def arrays(start: Array) -> tuple[Array, Array]:
        nonlocal shape
        out = one(start)
        shape = out.shape
        return out.data, out.indices

    data, indices = nfold_vmap(arrays, n_outer, broadcasted=False)(at)
    return BCOO((data, indices), shape=(*at.shape[:-1], *shape))


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Computes the sum over axes.

    Raises:
      ValueError: if an axis is out of bounds or repeated.
    """
    axes = tuple(k + mat.ndim if k < 0 else k for k in _integers(axes))
    if len(set(axes)) < len(axes) or any(not 0 <= k < mat.ndim for k in axes):
        raise ValueError(
            f"bcoo_reduce_sum: axes {axes} are repeated or out of bounds for shape {mat.shape}"
        )
    if not axes:
        return mat
    p = mat.properties
    first_dense = p.n_batch + p.n_sparse
    dense = tuple(k - p.n_sparse + 1 for k in axes if k >= first_dense)
    batch = [k for k in axes if k < p.n_batch]
    remaining = [k for k in range(p.n_sparse) if k + p.n_batch not in axes]
    data, indices = mat.data, mat.indices
    if dense:
        data = jnp.sum(data, axis=dense, dtype=data.dtype)
    if len(remaining) < p.n_sparse:
        stored = is_stored(indices, mat.sparse_shape)
        data, indices = _without(data, indices, stored, remaining, mat.sparse_shape)
    if batch:  # blocks of all batches are joined
        data, indices = (_joined(x, mat, batch) for x in (data, indices))
    return BCOO((data, indices), shape=tuple(n for k, n in enumerate(mat.shape) if k not in axes))


def _joined(x: Array, mat: BCOO, axes: Sequence[int]) -> Array:
    """Merges the batch axes `axes` of `x` [*batch, nse, ...] into the axis of size nse."""
    n = mat.n_batch
    full = [mat.shape[k] if k in axes else x.shape[k] for k in range(n)]
    x = jnp.broadcast_to(x, (*full, *x.shape[n:]))
    remaining = [k for k in range(n) if k not in axes]
    x = jnp.transpose(x, (*remaining, *axes, *range(n, x.ndim)))
    end = len(remaining)
    joined = math.prod(x.shape[end : n + 1])
    return x.reshape(*x.shape[:end], joined, *x.shape[n + 1 :])
