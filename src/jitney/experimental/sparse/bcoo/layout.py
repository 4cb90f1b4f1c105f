"""The storage of BCOO arrays.

An array of shape [*batch, *sparse, *dense] is stored as

    data      [*batch, nse, *dense]
    indices   [*batch, nse, n_sparse]

`indices[b, k]` is where, in the sparse axes, the block `data[b, k]` stands. Blocks of equal positions
add up. A position beyond the shape is padding: its block does not count. Batch axes of `data` or
`indices` may have size 1 for any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from jitney import numpy as jnp
from jitney.core import dtypes

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike


# What JAX gives to a library for GPUs. Here every dtype is computed by the same code.
CUSPARSE_DATA_DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
CUSPARSE_INDEX_DTYPES = [np.int32]


class Buffer(Protocol):
    """An array by its type alone."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...


class BCOOProperties(NamedTuple):
    """The numbers of axes of each kind and of stored blocks."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


def validate(data: Buffer, indices: Buffer, shape: Sequence[int]) -> BCOOProperties:
    """Returns the properties of an array stored as `data` and `indices`.

    Raises:
      ValueError: if the shapes do not fit, or indices are not integers.
    """
    what = f"data: {list(data.shape)}, indices: {list(indices.shape)}, shape: {list(shape)}"
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"BCOO: indices must be integers, but got {indices.dtype}")
    if len(indices.shape) < 2:
        raise ValueError(f"BCOO: indices must be [*batch, nse, n_sparse], but got {what}")
    nse, n_sparse = indices.shape[-2:]
    n_batch = len(indices.shape) - 2
    n_dense = len(shape) - n_batch - n_sparse
    if n_dense < 0 or len(data.shape) != n_batch + 1 + n_dense:
        raise ValueError(
            f"BCOO: data must be [*batch, nse, *dense] for indices of {n_batch} batch and {n_sparse} "
            f"sparse axes, but got {what}"
        )
    for name, x in (("data", data), ("indices", indices)):
        if any(n not in (1, full) for n, full in zip(x.shape, shape[:n_batch], strict=False)):
            raise ValueError(f"BCOO: batch axes of {name} must be those of the shape, or 1: {what}")
    if data.shape[n_batch] != nse or data.shape[n_batch + 1 :] != tuple(
        shape[n_batch + n_sparse :]
    ):
        raise ValueError(
            f"BCOO: data must be [*batch, nse, *dense] of the shape and indices: {what}"
        )
    return BCOOProperties(n_batch, n_sparse, n_dense, nse)


def is_stored(indices: Array, extents: Sequence[int]) -> Array:
    """Returns which positions `indices` [..., n_sparse] are within `extents`, and not padding."""
    return jnp.all(indices < jnp.array(extents, indices.dtype), axis=-1)


def padding(indices_shape: Sequence[int], extents: Sequence[int], dtype: DTypeLike) -> Array:
    """Returns positions beyond `extents`, of shape [..., n_sparse]."""
    return jnp.broadcast_to(jnp.array(extents, dtype), tuple(indices_shape))


def columns(indices: Array, chosen: Sequence[int] | None = None) -> tuple[Array, ...]:
    """Returns the positions [nse, n_sparse], axis by axis."""
    axes = range(indices.shape[1]) if chosen is None else chosen
    return tuple(indices[:, k] for k in axes)
