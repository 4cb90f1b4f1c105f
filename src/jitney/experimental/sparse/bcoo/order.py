"""Primitives that reorder stored blocks: sorting, summing of duplicates, transposition."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney import numpy as jnp
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.experimental.sparse.bcoo.layout import (
    BCOOProperties,
    columns,
    is_stored,
    padding,
    validate,
)
from jitney.experimental.sparse.composed import composed
from jitney.experimental.sparse.util import nfold_vmap, scatter_sum

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.experimental.sparse.util import Shape, SparseInfo


def sorting_order(indices: Array) -> Array:
    """Returns the stable permutation that sorts indices [nse, n_sparse]."""
    if not indices.shape[1]:
        return jnp.arange(indices.shape[0])
    return jnp.lexsort(columns(indices)[::-1])


def _sort_indices(data: Array, indices: Array, *, spinfo: SparseInfo) -> Sequence[Array]:
    p = validate(data, indices, spinfo.shape)

    def of_batch(data: Array, indices: Array) -> tuple[Array, Array]:
        order = sorting_order(indices)
        return data[order], indices[order]

    return nfold_vmap(of_batch, p.n_batch)(data, indices)


def _reordered_type(
    data: ShapedArray, indices: ShapedArray, *, spinfo: SparseInfo, nse: int | None = None
) -> list[ShapedArray]:
    """Returns the types of reordered data and indices, with their batch axes broadcast."""
    p = validate(data, indices, spinfo.shape)
    batch = np.broadcast_shapes(data.shape[: p.n_batch], indices.shape[: p.n_batch])
    room = p.nse if nse is None else nse
    return [
        shaped_array((*batch, room, *data.shape[p.n_batch + 1 :]), data.dtype),
        shaped_array((*batch, room, p.n_sparse), indices.dtype),
    ]


bcoo_sort_indices_p = composed(
    "bcoo_sort_indices", _sort_indices, _reordered_type, linear_in=(0,), multiple_results=True
)


def _firsts(indices: Array, extents: Sequence[int]) -> Array:
    """Returns a mask of the first of equal indices [nse, n_sparse], which are sorted.

    It is False at padding.
    """
    if not indices.shape[1]:
        return jnp.arange(indices.shape[0]) == 0
    differs = jnp.any(indices[1:] != indices[:-1], axis=1)
    first = jnp.concatenate([jnp.ones(indices.shape[0] - differs.shape[0], bool), differs])
    return first & is_stored(indices, extents)


def _sum_duplicates(
    data: Array, indices: Array, *, spinfo: SparseInfo, nse: int
) -> Sequence[Array]:
    p = validate(data, indices, spinfo.shape)
    extents = spinfo.shape[p.n_batch : p.n_batch + p.n_sparse]

    def of_batch(data: Array, indices: Array) -> tuple[Array, Array]:
        order = sorting_order(indices)
        data, indices = data[order], indices[order]
        first = _firsts(indices, extents)
        place = jnp.cumsum(first) - 1
        # Padding is sorted to the end; its place `nse` is out of bounds, so it is dropped.
        place = jnp.where(is_stored(indices, extents), place, nse)
        empty = padding((nse, p.n_sparse), extents, indices.dtype)
        return (
            scatter_sum((nse, *data.shape[1:]), (place,), data, indices_are_sorted=True),
            empty.at[place].set(indices, mode="drop"),
        )

    return nfold_vmap(of_batch, p.n_batch)(data, indices)


bcoo_sum_duplicates_p = composed(
    "bcoo_sum_duplicates", _sum_duplicates, _reordered_type, linear_in=(0,), multiple_results=True
)


def count_unique(indices: Array, shape: Sequence[int]) -> int:
    """Returns the largest number of distinct indices in a batch; indices must be concrete."""
    values = np.asarray(indices)
    n_batch, (nse, n_sparse) = values.ndim - 2, values.shape[-2:]
    if not n_sparse or not nse:
        return min(nse, 1)
    extents = np.array(shape[n_batch : n_batch + n_sparse])
    counts = [
        len(np.unique(rows[(rows < extents).all(axis=1)], axis=0))
        for rows in values.reshape(-1, nse, n_sparse)
    ]
    return max(counts, default=0)


def _transpose(
    data: Array, indices: Array, *, permutation: Sequence[int], spinfo: SparseInfo
) -> Sequence[Array]:
    p = validate(data, indices, spinfo.shape)
    sparse = [k - p.n_batch for k in permutation[p.n_batch : p.n_batch + p.n_sparse]]
    of_data, of_indices = _transposed_axes(permutation, p)
    return [
        jnp.transpose(data, of_data),
        jnp.transpose(indices, of_indices)[..., np.array(sparse, int)],
    ]


def _transposed_axes(permutation: Sequence[int], p: BCOOProperties) -> tuple[Shape, Shape]:
    """Returns the permutations of the axes of data and of indices."""
    batch = permutation[: p.n_batch]
    dense = [k - p.n_sparse + 1 for k in permutation[p.n_batch + p.n_sparse :]]
    return (*batch, p.n_batch, *dense), (*batch, p.n_batch, p.n_batch + 1)


def _transpose_type(
    data: ShapedArray, indices: ShapedArray, *, permutation: Sequence[int], spinfo: SparseInfo
) -> list[ShapedArray]:
    p = validate(data, indices, spinfo.shape)
    _check_transposition(permutation, p, len(spinfo.shape))
    of_data, of_indices = _transposed_axes(permutation, p)
    return [
        shaped_array(tuple([data.shape[k] for k in of_data]), data.dtype),
        shaped_array(tuple([indices.shape[k] for k in of_indices]), indices.dtype),
    ]


bcoo_transpose_p = composed(
    "bcoo_transpose", _transpose, _transpose_type, linear_in=(0,), multiple_results=True
)


def _check_transposition(permutation: Sequence[int], p: BCOOProperties, ndim: int) -> None:
    """Raises NotImplementedError if the permutation mixes axes of different kinds."""
    bounds = (0, p.n_batch, p.n_batch + p.n_sparse, ndim)
    for start, end in itertools.pairwise(bounds):
        if sorted(permutation[start:end]) != list(range(start, end)):
            raise NotImplementedError(
                "bcoo_transpose: batch, sparse and dense axes can only be permuted among themselves, "
                f"but got permutation {tuple(permutation)} of {p}; change the layout first, with "
                "update_layout"
            )


def first_of_equals(indices: Array) -> Array:
    """Returns a mask [*batch, nse] of the first occurrences of indices [*batch, nse, n_sparse]."""

    def of_batch(indices: Array) -> Array:
        perm = sorting_order(indices)
        ordered = indices[perm]
        differs = jnp.any(ordered[1:] != ordered[:-1], axis=1)
        first = jnp.concatenate([jnp.ones(indices.shape[0] - differs.shape[0], bool), differs])
        return jnp.zeros(indices.shape[0], bool).at[perm].set(first)

    return nfold_vmap(of_batch, indices.ndim - 2)(indices)
