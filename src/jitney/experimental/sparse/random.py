"""`jax.experimental.sparse.random`: random sparse arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney import numpy as jnp, random
from jitney.api.batching.vmap import vmap
from jitney.core.types import dtypes
from jitney.core.util.lazy import listing, refusing
from jitney.experimental.sparse.bcoo.matrix import BCOO, bcoo_sort_indices

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike
    from jitney.primitives.rule_types import Param

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


def random_bcoo(
    key: Array,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = np.float64,
    indices_dtype: DTypeLike | None = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = random.uniform,
    **kwds: Param,
) -> BCOO:
    """Draws a sparse array with random data at random indices; the values are the same as in JAX.

    Args:
      key: a PRNG key.
      shape: shape of the array.
      dtype: dtype of the elements.
      indices_dtype: dtype of the indices; the default integer dtype if None.
      nse: number of blocks stored for each batch or, if less than 1, the fraction of positions that
        are stored; it must be less than the number of positions.
      n_batch, n_dense: numbers of batch axes and of dense axes.
      unique_indices: whether indices are unique.
      sorted_indices: whether indices are sorted.
      generator: function (key, *, shape, dtype, ...) that draws the data.
      **kwds: further arguments of `generator`.

    Raises:
      ValueError: if the array has fewer than `n_batch + n_dense` axes, or `nse` is out of bounds.
      TypeError: if `nse` is at least 1 and not an integer.

    Example:
      >>> sparse.random_bcoo(jax.random.key(0), (3, 4), nse=0.5, dtype=jnp.float32)
      BCOO(float32[3, 4], nse=6)
    """
    shape = tuple(map(operator.index, shape))
    n_batch, n_dense = operator.index(n_batch), operator.index(n_dense)
    n_sparse = len(shape) - n_batch - n_dense
    if min(n_batch, n_dense, n_sparse) < 0:
        raise ValueError(
            "random_bcoo: `n_batch` and `n_dense` must be 0 or more, and their sum at most the rank, "
            f"but got {n_batch=} and {n_dense=} for {shape=}"
        )
    batch, sparse = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
    positions = math.prod(sparse)
    if not 0 <= nse < positions:
        raise ValueError(f"random_bcoo: nse must be in [0, {positions}), but got {nse}")
    n = math.ceil(nse * positions) if 0 < nse < 1 else int(nse)
    if n != nse and nse >= 1:
        raise TypeError(
            f"random_bcoo: nse must be an integer, or a fraction below 1, but got {nse}"
        )
    index_dtype = dtypes.canonicalize_dtype(np.int64 if indices_dtype is None else indices_dtype)
    if positions > jnp.iinfo(index_dtype).max:
        raise ValueError(
            f"random_bcoo: {index_dtype} cannot represent all indices of sparse axes of sizes {sparse}"
        )

    def places(key: Array) -> Array:
        if not sparse:
            return jnp.zeros((n, 0), index_dtype)
        flat = random.choice(key, positions, shape=(n,), replace=not unique_indices)
        return jnp.stack(jnp.unravel_index(flat.astype(index_dtype), sparse), axis=-1)

    keys = random.split(key, math.prod(batch) + 1)
    data = generator(keys[0], shape=(*batch, n, *shape[n_batch + n_sparse :]), dtype=dtype, **kwds)
    indices = vmap(places)(keys[1:]).reshape(*batch, n, n_sparse)
    out = BCOO((data, indices), shape=shape, unique_indices=unique_indices)
    return bcoo_sort_indices(out) if sorted_indices else out
