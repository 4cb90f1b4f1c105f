"""Conversions between batch, sparse and dense axes: the steps of `bcoo_update_layout`.

Each step maps (data, indices) to (data, indices). Conversions to sparse axes keep the stored
elements. Conversions to batch axes allocate storage for all stored blocks in each batch.
Conversions to dense axes allocate storage for all positions along these axes in each block.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jitney import numpy as jnp
from jitney.experimental.sparse.bcoo.layout import columns, is_stored, padding
from jitney.experimental.sparse.util import nfold_vmap

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike
    from jitney.experimental.sparse.util import Shape


def grid(extents: Shape, dtype: DTypeLike) -> Array:
    """Returns all indices of arrays of shape `extents` in order: [prod(extents), len(extents)]."""
    n = math.prod(extents)
    if not extents:
        return jnp.zeros((1, 0), dtype)
    return jnp.stack(jnp.unravel_index(jnp.arange(n), extents), axis=-1).astype(dtype)


def dense_to_sparse(data: Array, indices: Array, n: int) -> tuple[Array, Array]:
    """Converts the first `n` dense axes to the last sparse axes."""
    n_batch, nse, n_sparse = indices.ndim - 2, *indices.shape[-2:]
    moved = data.shape[n_batch + 1 : n_batch + 1 + n]
    each = math.prod(moved)
    data = data.reshape(*data.shape[:n_batch], nse * each, *data.shape[n_batch + 1 + n :])
    batch = indices.shape[:n_batch]
    outer = jnp.broadcast_to(indices[..., None, :], (*batch, nse, each, n_sparse))
    inner = jnp.broadcast_to(grid(moved, indices.dtype), (*batch, nse, each, n))
    return data, jnp.concatenate([outer, inner], -1).reshape(*batch, nse * each, n_sparse + n)


def batch_to_sparse(data: Array, indices: Array, shape: Shape, n: int) -> tuple[Array, Array]:
    """Converts the last `n` batch axes to the first sparse axes."""
    n_batch, nse, n_sparse = indices.ndim - 2, *indices.shape[-2:]
    n_left, moved = n_batch - n, shape[n_batch - n : n_batch]
    each = math.prod(moved)

    def spread(x: Array) -> Array:
        full = (*x.shape[:n_left], *moved, *x.shape[n_batch:])
        return jnp.broadcast_to(x, full).reshape(
            *x.shape[:n_left], each * nse, *x.shape[n_batch + 1 :]
        )

    data, indices = spread(data), spread(indices)
    outer = jnp.repeat(grid(moved, indices.dtype), nse, axis=0)
    outer = jnp.broadcast_to(outer, (*indices.shape[:n_left], *outer.shape))
    extents = shape[n_left:][: n + n_sparse]
    joined = jnp.concatenate([outer, indices], -1)
    stored = is_stored(joined, extents)[..., None]
    return data, jnp.where(stored, joined, padding(joined.shape, extents, joined.dtype))


def sparse_to_dense(data: Array, indices: Array, shape: Shape, n: int) -> tuple[Array, Array]:
    """Converts the last `n` sparse axes to the first dense axes."""
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    moved = shape[n_batch + n_sparse - n : n_batch + n_sparse]

    def of_block(block: Array, at: Array) -> Array:
        zeros = jnp.zeros((*moved, *block.shape), block.dtype)
        return zeros.at[tuple(at)].set(block, mode="drop")

    data = nfold_vmap(of_block, n_batch + 1)(data, indices[..., n_sparse - n :])
    return data, indices[..., : n_sparse - n]


def sparse_to_batch(data: Array, indices: Array, shape: Shape, n: int) -> tuple[Array, Array]:
    """Converts the first `n` sparse axes to the last batch axes."""
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    moved = shape[n_batch : n_batch + n]
    extents = shape[n_batch + n : n_batch + n_sparse]
    each = math.prod(moved)

    def of_batch(data: Array, indices: Array) -> tuple[Array, Array]:
        place = jnp.ravel_multi_index(columns(indices[:, :n]), moved, mode="clip")
        stored = is_stored(indices, shape[n_batch : n_batch + n_sparse])
        mine = (place == jnp.arange(each)[:, None]) & stored  # [each, nse]
        fill = padding((each, *indices[:, n:].shape), extents, indices.dtype)
        here = jnp.where(mine[..., None], indices[:, n:], fill)
        values = jnp.where(mine.reshape(*mine.shape, *(1,) * (data.ndim - 1)), data, 0)
        return (
            values.astype(data.dtype).reshape(*moved, *data.shape),
            here.reshape(*moved, *here.shape[1:]),
        )

    return nfold_vmap(of_batch, n_batch)(data, indices)
