"""The storage format of BCOO arrays.

An array of shape [*batch, *sparse, *dense] is stored as

    data      [*batch, nse, *dense]
    indices   [*batch, nse, n_sparse]

`indices[b, k]` is the position of the block `data[b, k]` in the sparse axes. Blocks with equal
indices are summed. An index beyond the shape marks padding, whose data are ignored. Batch axes of
`data` or `indices` may have size 1, which broadcasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from jitney import numpy as jnp
from jitney.core.types import dtypes

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike


# The dtypes for which JAX calls cuSPARSE. Here all dtypes use the same code.
CUSPARSE_DATA_DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
CUSPARSE_INDEX_DTYPES = [np.int32]


class Buffer(Protocol):
    """An array described by its shape and dtype."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype: ...


class BCOOProperties(NamedTuple):
    """The numbers of batch, sparse and dense axes, and of stored blocks."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


def validate(data: Buffer, indices: Buffer, shape: Sequence[int]) -> BCOOProperties:
    """Returns the properties of an array stored as `data` and `indices`.

    Raises:
      ValueError: if the shapes are inconsistent, or indices are not integers.
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
            raise ValueError(
                f"BCOO: batch axes of {name} must have size 1 or the sizes in the shape, but got {what}"
            )
    if data.shape[n_batch] != nse or data.shape[n_batch + 1 :] != tuple(
        shape[n_batch + n_sparse :]
    ):
        raise ValueError(
            f"BCOO: data must be [*batch, nse, *dense], matching the shape and indices, but got {what}"
        )
    return BCOOProperties(n_batch, n_sparse, n_dense, nse)


def is_stored(indices: Array, extents: Sequence[int]) -> Array:
    """Returns a mask of the `indices` [..., n_sparse] that are within bounds, and not padding."""
    return jnp.all(indices < jnp.array(extents, indices.dtype), axis=-1)


def padding(indices_shape: Sequence[int], extents: Sequence[int], dtype: DTypeLike) -> Array:
    """Returns an array of shape [..., n_sparse] of indices that mark padding."""
    return jnp.broadcast_to(jnp.array(extents, dtype), tuple(indices_shape))


def columns(indices: Array, chosen: Sequence[int] | None = None) -> tuple[Array, ...]:
    """Splits indices [nse, n_sparse] into an array for each chosen axis (by default, for all)."""
    axes = range(indices.shape[1]) if chosen is None else chosen
    return tuple(indices[:, k] for k in axes)
