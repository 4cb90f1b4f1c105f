"""Primitives for conversions: `bcoo_todense`, `bcoo_fromdense`, `bcoo_extract`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney import numpy as jnp
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.experimental.sparse.bcoo.layout import columns, validate
from jitney.experimental.sparse.composed import composed, is_nonzero
from jitney.experimental.sparse.util import nfold_vmap, scatter_sum, stored_mask
from jitney.primitives.rules import zero_tangent

if TYPE_CHECKING:
    from jitney.core.typing import Array, Value
    from jitney.experimental.sparse.util import SparseInfo
    from jitney.primitives.rule_types import Param, Primals, Tangents
    from jitney.transforms.zero import Tangent


def _todense(data: Array, indices: Array, *, spinfo: SparseInfo) -> Array:
    shape = spinfo.shape
    p = validate(data, indices, shape)

    def of_batch(data: Array, indices: Array) -> Array:
        if not p.n_sparse:
            return jnp.sum(data, axis=0, dtype=data.dtype)
        return scatter_sum(
            shape[p.n_batch :],
            columns(indices),
            data,
            indices_are_sorted=spinfo.indices_sorted,
            unique_indices=spinfo.unique_indices,
        )

    return jnp.broadcast_to(nfold_vmap(of_batch, p.n_batch)(data, indices), shape)


def _todense_type(data: ShapedArray, indices: ShapedArray, *, spinfo: SparseInfo) -> ShapedArray:
    validate(data, indices, spinfo.shape)
    return shaped_array(spinfo.shape, data.dtype)


bcoo_todense_p = composed("bcoo_todense", _todense, _todense_type, linear_in=(0,))


def _extract(indices: Array, mat: Array) -> Array:
    n_batch, (nse, n_sparse) = indices.ndim - 2, indices.shape[-2:]

    def of_batch(indices: Array, mat: Array) -> Array:
        if not n_sparse:  # the array is one block, stored first
            first = (jnp.arange(nse) == 0).reshape(nse, *(1,) * mat.ndim)
            return jnp.where(first, mat[None], jnp.zeros((), mat.dtype))
        return mat.at[columns(indices)].get(mode="fill", fill_value=0)

    return nfold_vmap(of_batch, n_batch)(indices, mat)


def _extract_type(indices: ShapedArray, mat: ShapedArray) -> ShapedArray:
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    if mat.ndim < n_batch + n_sparse:
        raise ValueError(
            f"bcoo_extract: indices with {n_batch} batch and {n_sparse} sparse axes require an array "
            f"of at least {n_batch + n_sparse} axes, but got shape {mat.shape}"
        )
    if any(k not in (1, n) for k, n in zip(indices.shape[:n_batch], mat.shape, strict=False)):
        raise ValueError(
            f"bcoo_extract: batch axes of indices of shape {indices.shape} must have size 1 or the "
            f"sizes in the array, of shape {mat.shape}"
        )
    nse, dense = indices.shape[-2], mat.shape[n_batch + n_sparse :]
    return shaped_array((*mat.shape[:n_batch], nse, *dense), mat.dtype)


bcoo_extract_p = composed("bcoo_extract", _extract, _extract_type, linear_in=(1,))


def extract(indices: Array, mat: Array) -> Array:
    """Returns the blocks of `mat` at `indices`, and zeros at padding.

    Raises:
      ValueError: if `mat` has too few axes, or its batch axes do not match.
    """
    return bcoo_extract_p.bind(indices, mat)


def _fromdense(
    mat: Array, *, nse: int, n_batch: int, n_dense: int, index_dtype: np.dtype
) -> Sequence[Array]:
    mask = stored_mask(mat, n_dense)
    n_sparse = mask.ndim - n_batch

    def of_batch(mask: Array) -> Array:
        if not n_sparse:
            return jnp.zeros((nse, 0), index_dtype)
        coordinates = jnp.nonzero(mask, size=nse, fill_value=mask.shape)
        return jnp.stack(coordinates, axis=-1).astype(index_dtype)

    indices = nfold_vmap(of_batch, n_batch, broadcasted=False)(mask)
    return [extract(indices, mat), indices]


def _fromdense_type(
    mat: ShapedArray, *, nse: int, n_batch: int, n_dense: int, index_dtype: np.dtype
) -> list[ShapedArray]:
    batch, dense = mat.shape[:n_batch], mat.shape[mat.ndim - n_dense :]
    return [
        shaped_array((*batch, nse, *dense), mat.dtype),
        shaped_array((*batch, nse, mat.ndim - n_batch - n_dense), index_dtype),
    ]


bcoo_fromdense_p = composed(
    "bcoo_fromdense", _fromdense, _fromdense_type, linear_in=(), multiple_results=True
)
bcoo_fromdense_p.absent("transpose", why="which elements are stored depends on the operand")


@bcoo_fromdense_p.jvp
def _bcoo_fromdense_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[list[Value], list[Tangent]]:
    (mat,), (t,) = primals, tangents
    data, indices = bcoo_fromdense_p.bind(mat, **params)
    dot = extract(indices, t) if is_nonzero(t) else zero_tangent(data)
    return [data, indices], [dot, zero_tangent(indices)]


def dense(data: Array, indices: Array, spinfo: SparseInfo) -> Array:
    """Returns the dense array."""
    return bcoo_todense_p.bind(data, indices, spinfo=spinfo)
