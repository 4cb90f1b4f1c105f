"""Products of BCOO arrays: `bcoo_dot_general`, `bcoo_dot_general_sampled`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.types import dtypes
from jitney.experimental.sparse.bcoo.matrix import BCOO, bcoo_sum_duplicates
from jitney.experimental.sparse.bcoo.products import (
    DotDimensionNumbers,
    Pairs,
    bcoo_dot_general_p,
    bcoo_dot_general_sampled_p,
    bcoo_spdot_general_p,
    normalized,
    spdot_shape,
)
from jitney.numpy.promotion import promote_dtypes

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike


def bcoo_dot_general(
    lhs: BCOO | Array,
    rhs: BCOO | Array,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> BCOO | Array:
    """Computes `lax.dot_general` with one or two sparse operands.

    Args:
      lhs, rhs: the operands.
      dimension_numbers: ((contracted axes of lhs, of rhs), (batch axes of lhs, of rhs)).
      precision: accepted for compatibility.
      preferred_element_type: dtype of the result, and of the accumulation.
      out_sharding: must be None.

    Returns: a dense array, or a BCOO array if both operands are sparse. The BCOO array stores a
      block for each pair of blocks of the operands, but at most as many as the result has elements.

    Raises:
      TypeError: if the sizes of paired axes differ.
      NotImplementedError: if a batch axis of the product is not a batch axis of a sparse operand;
        or if both operands are sparse, and have dense axes or contract axes that are not sparse.

    Example:
      >>> numbers = (((1,), (0,)), ((), ()))
      >>> sparse.bcoo_dot_general(sparse.eye(2), jnp.ones(2), dimension_numbers=numbers)
      Array([1., 1.], dtype=float32)
    """
    del precision, out_sharding
    numbers = normalized(dimension_numbers)
    dtype = (
        None if preferred_element_type is None else dtypes.requested_dtype(preferred_element_type)
    )
    if isinstance(lhs, BCOO):
        if isinstance(rhs, BCOO):
            return _sparse_product(lhs, rhs, numbers, dtype)
        return _product(lhs, rhs, numbers, dtype)
    if isinstance(rhs, BCOO):
        return _reversed_product(lhs, rhs, numbers, dtype)
    return lax.dot_general(lhs, rhs, numbers, preferred_element_type=dtype)


def _product(lhs: BCOO, rhs: Array, numbers: DotDimensionNumbers, dtype: np.dtype | None) -> Array:
    data, rhs = promote_dtypes(lhs.data, rhs)
    return bcoo_dot_general_p.bind(
        data,
        lhs.indices,
        rhs,
        dimension_numbers=numbers,
        preferred_element_type=dtype,
        lhs_spinfo=lhs.info,
    )


def _reversed_product(
    lhs: Array, rhs: BCOO, numbers: DotDimensionNumbers, dtype: np.dtype | None
) -> Array:
    """Computes the product with the operands exchanged, and transposes the result."""
    (a, b), (c, d) = numbers
    out = _product(rhs, lhs, ((b, a), (d, c)), dtype)
    n_batch, n_rhs = len(c), rhs.ndim - len(b) - len(d)
    order = [*range(n_batch), *range(n_batch + n_rhs, out.ndim), *range(n_batch, n_batch + n_rhs)]
    return jnp.transpose(out, order)


def _sparse_product(
    lhs: BCOO, rhs: BCOO, numbers: DotDimensionNumbers, dtype: np.dtype | None
) -> BCOO:
    x_data, y_data = promote_dtypes(lhs.data, rhs.data)
    x_indices, y_indices = promote_dtypes(lhs.indices, rhs.indices)
    data, indices = bcoo_spdot_general_p.bind(
        x_data,
        x_indices,
        y_data,
        y_indices,
        lhs_spinfo=lhs.info,
        rhs_spinfo=rhs.info,
        dimension_numbers=numbers,
        preferred_element_type=dtype,
    )
    pairs = Pairs(numbers, lhs.ndim, rhs.ndim)
    shape, n_batch = spdot_shape(pairs, lhs.shape, rhs.shape, (lhs.n_batch, rhs.n_batch))
    out = BCOO((data, indices), shape=shape)
    room = int(np.prod(shape[n_batch:]))
    return bcoo_sum_duplicates(out, nse=room) if out.nse > room else out


def bcoo_dot_general_sampled(
    A: Array, B: Array, indices: Array, *, dimension_numbers: DotDimensionNumbers
) -> Array:
    """Computes only the elements of `lax.dot_general(A, B)` at the given indices.

    Args:
      A, B: dense arrays.
      indices: indices into the product [*batch, nse, n_sparse], as in a BCOO array.
      dimension_numbers: as for `lax.dot_general`.

    Returns: the elements [*batch, nse, *dense]; zeros at indices beyond the shape of the product.

    Raises:
      TypeError: if the sizes of paired axes differ.
      ValueError: if the indices do not match the shape of the product.

    Example:
      >>> x = jnp.arange(3.0)
      >>> outer = (((), ()), ((), ()))
      >>> sparse.bcoo_dot_general_sampled(x, x, jnp.array([[1, 2]]), dimension_numbers=outer)
      Array([2.], dtype=float32)
    """
    A, B = promote_dtypes(A, B)
    return bcoo_dot_general_sampled_p.bind(
        A, B, jnp.asarray(indices), dimension_numbers=normalized(dimension_numbers)
    )
