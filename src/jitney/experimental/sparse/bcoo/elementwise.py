"""Elementwise products of BCOO arrays, which store no more elements than the sparser operand."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from jitney import numpy as jnp
from jitney.experimental.sparse.bcoo.layout import columns, is_stored
from jitney.experimental.sparse.bcoo.matrix import BCOO, bcoo_sum_duplicates
from jitney.experimental.sparse.bcoo.order import sorting_order
from jitney.experimental.sparse.util import nfold_vmap

if TYPE_CHECKING:
    from jitney.core.typing import Array


def bcoo_multiply_dense(sp_mat: BCOO, v: Array) -> Array:
    """Multiplies a sparse array elementwise by a dense array.

    Args:
      sp_mat: sparse array.
      v: dense array that broadcasts to the shape of `sp_mat`.

    Returns: the data of the product, which has the indices of `sp_mat`.

    Raises:
      ValueError: if `v` does not broadcast to the shape of `sp_mat`.

    Example:
      >>> sparse.bcoo_multiply_dense(sparse.eye(2), jnp.array([3.0, 4.0]))
      Array([3., 4.], dtype=float32)
    """
    return with_dense(operator.mul, sp_mat, v, 0)


def with_dense(
    fun: Callable[[Array, Array], Array], sp_mat: BCOO, v: Array, fill_value: int
) -> Array:
    """Applies `fun` to each stored block and the corresponding elements of a dense array.

    At padding, `fill_value` is used in place of the elements of the dense array.

    Raises:
      ValueError: if `v` does not broadcast to the shape of `sp_mat`.
    """
    v = jnp.asarray(v)
    shape = sp_mat.shape
    if v.ndim > len(shape) or any(
        n not in (1, full) for n, full in zip(v.shape[::-1], shape[::-1], strict=False)
    ):
        raise ValueError(f"bcoo_multiply_dense: shape {v.shape} does not broadcast to {shape}")
    v = v.reshape(*(1,) * (len(shape) - v.ndim), *v.shape)
    p = sp_mat.properties
    wide = [k for k in range(p.n_sparse) if v.shape[p.n_batch + k] != 1]
    narrow = tuple(k for k in range(p.n_sparse) if k not in wide)

    def of_batch(data: Array, indices: Array, v: Array) -> Array:
        v = jnp.squeeze(v, narrow)
        if wide:
            v = v.at[columns(indices, wide)].get(mode="fill", fill_value=fill_value)
        return fun(*jnp.broadcast_arrays(data, v))

    if all(n == 1 for n in v.shape[: p.n_batch]):  # one `v` for all batches; blocks may be shared
        v = jnp.squeeze(v, tuple(range(p.n_batch)))
        batched = nfold_vmap(of_batch, p.n_batch, in_axes=(0, 0, None))
    else:
        batched = nfold_vmap(of_batch, p.n_batch)
    return batched(sp_mat.data, sp_mat.indices, v)


def unique(mat: BCOO) -> BCOO:
    """Returns the array without duplicate indices; `nse` does not grow."""
    if not mat.n_sparse:
        return mat if mat.nse <= 1 else bcoo_sum_duplicates(mat, nse=1)
    return mat if mat.unique_indices else bcoo_sum_duplicates(mat, nse=mat.nse)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Multiplies two sparse arrays of the same shape and layout elementwise.

    The result stores as many blocks as the operand with fewer blocks.

    Raises:
      ValueError: if the shapes differ.
      NotImplementedError: if the numbers of batch or dense axes differ.
    """
    if lhs.shape != rhs.shape:
        raise ValueError(
            f"bcoo_multiply_sparse: shapes must be equal, but got {lhs.shape} and {rhs.shape}"
        )
    if (lhs.n_batch, lhs.n_dense) != (rhs.n_batch, rhs.n_dense):
        raise NotImplementedError(
            "bcoo_multiply_sparse: operands must have the same numbers of batch and dense axes, but "
            f"got {lhs} and {rhs}"
        )
    lhs, rhs = unique(lhs), unique(rhs)
    extents = lhs.sparse_shape

    def of_batch(a: Array, a_at: Array, b: Array, b_at: Array) -> tuple[Array, Array]:
        """Merges the sorted indices of both; of equal indices, the one of `a` comes first."""
        at = jnp.concatenate([a_at, b_at])
        order = sorting_order(at)
        at = at[order]
        n = a_at.shape[0]
        meets = jnp.all(at[1:] == at[:-1], axis=1) & is_stored(at[1:], extents)
        left, right = order[:-1], order[1:] - n
        product = a.at[left].get(mode="fill", fill_value=0) * b.at[right].get(
            mode="fill", fill_value=0
        )
        mask = meets.reshape(-1, *(1,) * (product.ndim - 1))
        empty = jnp.array(extents, at.dtype)
        return (
            jnp.where(mask, product, jnp.zeros((), product.dtype)),
            jnp.where(meets[:, None], at[1:], empty),
        )

    if not lhs.nse or not rhs.nse:
        return BCOO._empty(
            lhs.shape,
            dtype=jnp.result_type(lhs.data, rhs.data),
            index_dtype=lhs.indices.dtype,
            n_batch=lhs.n_batch,
            n_dense=lhs.n_dense,
        )
    data, indices = nfold_vmap(of_batch, lhs.n_batch)(lhs.data, lhs.indices, rhs.data, rhs.indices)
    out = BCOO((data, indices), shape=lhs.shape)
    return bcoo_sum_duplicates(out, nse=min(lhs.nse, rhs.nse))
