"""Arrays from nothing: iota, full, empty."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney.core import dtypes
from jitney.core.array import Array
from jitney.core.avals import ShapedArray, get_aval, shaped_array
from jitney.core.memory_space import MemorySpace
from jitney.core.primitive import declare
from jitney.primitives.array.shape import broadcast, canonical_shape, shape_of
from jitney.primitives.elementwise import families
from jitney.primitives.elementwise.convert import convert, user_dtype
from jitney.primitives.elementwise.families import Shape

iota_p = declare("iota")


@iota_p.abstract
def _(*, dtype: Any, shape: Shape, dimension: int, sharding: Any) -> ShapedArray:
    families.check_dtype("iota", dtype, families.NUMERIC)
    if any(n < 0 for n in shape):
        raise TypeError(f"iota shape must have every element be nonnegative, got {shape}.")
    if not 0 <= dimension < len(shape):
        raise ValueError(
            f"iota dimension must be between 0 and len(shape), got {dimension=} for {shape=}"
        )
    return shaped_array(shape, dtype, False)


@iota_p.eager
def _(*, dtype: Any, shape: Shape, dimension: int, sharding: Any) -> np.ndarray:
    row = np.arange(shape[dimension]).astype(dtype)
    tail = (1,) * (len(shape) - dimension - 1)
    return np.broadcast_to(row.reshape(-1, *tail), shape)


@iota_p.lower
def _(b: Any, *, dtype: Any, shape: Shape, dimension: int, sharding: Any) -> Any:
    return b.iota(dtype, shape, dimension)


def iota(dtype: Any, size: int) -> Any:
    """0, 1, ..., size - 1."""
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Any:
    """An array of `shape` whose elements are their indices along `dimension`."""
    return iota_p.bind(
        dtype=user_dtype(dtype, "iota"),
        shape=canonical_shape(shape),
        dimension=operator.index(dimension),
        sharding=out_sharding,
    )


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of `shape` with `fill_value` everywhere.

    Args:
      shape: extents.
      fill_value: a scalar.
      dtype: that of the result; that of the fill value, as weak as it, by default.
      sharding: unused on one device.
    """
    shape = canonical_shape(shape)
    if shape_of(fill_value):
        raise TypeError(
            "full must be called with scalar fill_value, got fill_value.shape "
            f"{shape_of(fill_value)}."
        )
    if dtype is None:
        aval = get_aval(fill_value)
        fill = convert(fill_value, aval.dtype, aval.weak_type)
    else:
        fill = convert(fill_value, user_dtype(dtype, "full"))
    return broadcast(fill, shape)


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Any:
    """`full` with shape and dtype of `x` where these are not given."""
    if not isinstance(x, Array) and hasattr(x, "shape") and hasattr(x, "dtype"):
        old_shape, old_dtype, weak = x.shape, x.dtype, bool(getattr(x, "weak_type", False))
        if not dtypes.is_extended(old_dtype):
            old_dtype = dtypes.canonicalize_dtype(old_dtype)
    else:
        aval = get_aval(x)
        old_shape, old_dtype, weak = aval.shape, aval.dtype, aval.weak_type
    shape = old_shape if shape is None else canonical_shape(shape)
    if dtype is None:
        fill = convert(fill_value, old_dtype, weak)
    else:
        fill = convert(fill_value, user_dtype(dtype, "full_like"))
    return broadcast(fill, shape)


empty_p = declare("empty")


@empty_p.abstract
def _(*, shape: Shape, dtype: Any, out_sharding: Any) -> ShapedArray:
    return shaped_array(shape, np.dtype(dtype), False)


@empty_p.eager
def _(*, shape: Shape, dtype: Any, out_sharding: Any) -> np.ndarray:
    return np.zeros(shape, np.dtype(dtype))


@empty_p.lower
def _(b: Any, *, shape: Shape, dtype: Any, out_sharding: Any) -> Any:
    return b.full(shape, 0, np.dtype(dtype))


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array of `shape` with unspecified contents: zeros.

    Its dtype is `dtype` whatever the settings: 64-bit dtypes are not narrowed.
    """
    return empty_p.bind(shape=canonical_shape(shape), dtype=dtype, out_sharding=out_sharding)


@empty_p.batch_with_axis
def _(
    axis: Any, args: Any, dims: Any, *, shape: Shape, dtype: Any, out_sharding: Any
) -> tuple[Any, int]:
    return empty_p.bind(shape=(axis.size, *shape), dtype=dtype, out_sharding=out_sharding), 0


# A scalar of which nothing is read: what branches give for residuals of other branches.
empty2_p = declare("empty2")


@empty2_p.abstract
def _(*, dtype: Any, memory_space: MemorySpace) -> ShapedArray:
    return shaped_array((), dtype, False)


@empty2_p.eager
def _(*, dtype: Any, memory_space: MemorySpace) -> np.ndarray:
    return np.zeros((), dtypes.physical_dtype(dtype))


@empty2_p.lower
def _(b: Any, *, dtype: Any, memory_space: MemorySpace) -> Any:
    return b.full((), 0, dtypes.physical_dtype(dtype))


iota_p.absent("jvp", "transpose", "batch", why="no operands")
empty_p.absent("jvp", "transpose", why="no operands")
empty2_p.absent("jvp", "transpose", "batch", why="no operands")
