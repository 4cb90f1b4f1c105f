"""`jax.ops`: segment reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.util.lazy import listing
from jitney.numpy import creation, promotion, reductions
from jitney.numpy.indexing import get
from jitney.numpy.out_sharding import call_with_sharding
from jitney.primitives.array.broadcasting import broadcast_to, expand_dims
from jitney.primitives.indexing.scatter import (
    ScatterDimensionNumbers,
    scatter_add,
    scatter_max,
    scatter_min,
    scatter_mul,
)
from jitney.primitives.reduction.windows import highest, lowest

if TYPE_CHECKING:
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.indexing.gather import GatherScatterMode

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

__dir__ = listing(__name__)


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Computes the sum of the rows of each segment, which is 0 for empty segments.

    Args:
      data: array whose rows, along the first axis, are reduced.
      segment_ids: integer array of the segment of each row.
      num_segments: number of segments, static under `jit`; by default the maximum of `segment_ids`
        plus 1.
      indices_are_sorted: whether `segment_ids` is known to be in ascending order.
      unique_indices: whether the elements of `segment_ids` are known to be unique.
      bucket_size: number of consecutive rows that are reduced separately before the results are
        combined; by default all rows are reduced together.
      mode: treatment of rows whose segment is out of bounds: "drop" (the default) or "clip".
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: array of shape (num_segments, *data.shape[1:]) and the dtype of `data`.

    Raises:
      ConcretizationTypeError: if the number of segments is traced.
      ValueError: if the number of rows is not the number of elements of `segment_ids`.

    Example:
      >>> prices, shops = jnp.array([1.0, 2.0, 4.0]), jnp.array([2, 0, 2])
      >>> jax.ops.segment_sum(prices, shops)
      Array([2., 0., 5.], dtype=float32)
    """
    return _reduced(scatter_add, 0, reductions.sum, data, segment_ids, num_segments, indices_are_sorted,
                    unique_indices, bucket_size, mode, out_sharding)  # fmt: skip


def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Computes the product of the rows of each segment, which is 1 for empty segments.

    See `segment_sum` for the arguments.
    """
    return _reduced(scatter_mul, 1, reductions.prod, data, segment_ids, num_segments,
                    indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)  # fmt: skip


def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Computes the maximum of the rows of each segment.

    For empty segments it is -inf, or the least integer. See `segment_sum` for the arguments.
    """
    neutral = lowest(promotion.dtype_of(data))
    return _reduced(scatter_max, neutral, reductions.max, data, segment_ids, num_segments,
                    indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)  # fmt: skip


def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Computes the minimum of the rows of each segment.

    For empty segments it is inf, or the greatest integer. See `segment_sum` for the arguments.
    """
    neutral = highest(promotion.dtype_of(data))
    return _reduced(scatter_min, neutral, reductions.min, data, segment_ids, num_segments,
                    indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)  # fmt: skip


def _reduced(
    scatter: Callable[..., Array], neutral: ArrayLike, reduction: Callable[..., Array],
    data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None, indices_are_sorted: bool,
    unique_indices: bool, bucket_size: int | None, mode: str | GatherScatterMode | None,
    out_sharding: Sharding | PartitionSpec | None,
) -> Array:  # fmt: skip
    """Scatters rows into arrays of neutral elements, one for each bucket, and combines these."""
    name = f"segment_{reduction.__name__}"
    promotion.check_arraylike(name, data, segment_ids)
    spec = getattr(out_sharding, "spec", out_sharding)
    if scatter is not scatter_add and getattr(spec, "unreduced", None):
        raise NotImplementedError(
            f"{name}: only sums can be unreduced, but got out_sharding={out_sharding}"
        )
    values, segments = creation.asarray(data), creation.asarray(segment_ids)
    if segments.ndim == values.ndim == 0:  # a single row
        segments, values = expand_dims(segments, (0,)), expand_dims(values, (0,))
    n_segments = reductions.max(segments, initial=-1) + 1 if num_segments is None else num_segments
    count = concrete_or_error(int, n_segments, f"{name}: num_segments")
    if count < 0:
        raise ValueError(f"{name}: `num_segments` must be 0 or more, but it is {count}")
    trailing = values.shape[1:]
    values = broadcast_to(values, (*segments.shape, *trailing))
    if not dtypes.issubdtype(segments.dtype, np.integer):
        raise TypeError(
            f"{name}: `segment_ids` must be integers, but got {dtypes.long_name(segments.dtype)}"
        )
    numbers = ScatterDimensionNumbers(tuple(range(1, values.ndim)), (0,), (0,))

    def of_rows(rows: Array, ids: Array) -> Array:
        return scatter(
            creation.full((count, *trailing), neutral, values.dtype),
            expand_dims(ids, (ids.ndim,)), rows, numbers,
            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
        )  # fmt: skip

    def of_all(rows: Array, ids: Array) -> Array:
        size = bucket_size or rows.shape[0]
        if size >= rows.shape[0]:
            return of_rows(rows, ids)
        parts = [
            of_rows(get(rows, slice(k, k + size)), get(ids, slice(k, k + size)))
            for k in range(0, rows.shape[0], size)
        ]
        return creation.asarray(reduction(creation.array(parts), axis=0), dtype=values.dtype)

    is_sum = scatter is scatter_add
    return call_with_sharding(out_sharding, name, of_all, values, segments, is_sum=is_sum)


for _name in __all__:
    globals()[_name].__module__ = "jax.ops"
