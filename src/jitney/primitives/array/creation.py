"""Creation of arrays without array operands: iota, full, empty."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.array import Array
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.core.types.memory_space import MemorySpace
from jitney.primitives.array import placement
from jitney.primitives.array.broadcasting import broadcast
from jitney.primitives.array.canonical import canonical_shape
from jitney.primitives.array.out_places import out_place
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import families
from jitney.primitives.elementwise.convert import convert, refuse_complex_scalar, user_dtype
from jitney.primitives.elementwise.families import Shape

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import ArrayLike, DTypeLike, ShapeLike, SupportsDType
    from jitney.primitives.rule_types import Builder, Node

iota_p = declare("iota")


@iota_p.abstract
def _iota_abstract(
    *, dtype: np.dtype, shape: Shape, dimension: int, sharding: object
) -> ShapedArray:
    families.check_dtype("iota", dtype, families.NUMERIC)
    if any(n < 0 for n in shape):
        raise TypeError(f"iota: the sizes in `shape` must not be negative, but it is {shape}")
    if not 0 <= dimension < len(shape):
        raise ValueError(
            f"iota: `dimension` must be an axis of the result, but is {dimension} for shape {shape}"
        )
    return shaped_array(shape, dtype, False)


@iota_p.eager
def _iota_eager(*, dtype: np.dtype, shape: Shape, dimension: int, sharding: object) -> np.ndarray:
    row = np.arange(shape[dimension]).astype(dtype)
    tail = (1,) * (len(shape) - dimension - 1)
    return np.broadcast_to(row.reshape(-1, *tail), shape)


@iota_p.lower
def _iota_lower(
    b: Builder, *, dtype: np.dtype, shape: Shape, dimension: int, sharding: object
) -> Node:
    return b.iota(dtype, shape, dimension)


def iota(dtype: DTypeLike, size: int) -> Array:
    """Returns the array [0, 1, ..., size - 1].

    Args:
      dtype: numeric dtype of the result.
      size: number of elements.

    Raises:
      TypeError: if `dtype` is not numeric, or if `size` is negative or not a Python integer.

    Example:
      >>> lax.iota(jnp.int32, 4)
      Array([0, 1, 2, 3], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(
    dtype: DTypeLike,
    shape: ShapeLike,
    dimension: int,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Returns an array in which each element equals its index along `dimension`.

    Args:
      dtype: numeric dtype of the result.
      shape: shape of the result.
      dimension: the axis along which the elements increase.
      out_sharding: sharding of the result on the context mesh.

    Example:
      >>> lax.broadcasted_iota(jnp.int32, (2, 3), 1)
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    return iota_p.bind(
        dtype=user_dtype(dtype, "iota"),
        shape=canonical_shape(shape),
        dimension=operator.index(dimension),
        sharding=out_place(out_sharding, "broadcasted_iota"),
    )


def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    sharding: Sharding | None = None,
) -> Array:
    """Returns an array of `shape` filled with `fill_value`.

    Args:
      shape: shape of the result.
      fill_value: a scalar.
      dtype: dtype of the result. By default, the result has the dtype and the weak type of
        `fill_value`.
      sharding: sharding of the result. By default, the result is uncommitted.

    Raises:
      TypeError: if `fill_value` is not a scalar, or if it is complex and `dtype` is not.

    Example:
      >>> lax.full((2, 2), 7.0)
      Array([[7., 7.],
             [7., 7.]], dtype=float32, weak_type=True)
    """
    shape = canonical_shape(shape)
    if shape_of(fill_value):
        raise TypeError(
            f"lax.full: `fill_value` must have rank 0, but has shape {shape_of(fill_value)}; "
            "jnp.full and jnp.broadcast_to take arrays"
        )
    if dtype is None:
        aval = get_aval(fill_value)
        fill = convert(fill_value, aval.dtype, aval.weak_type)
    else:
        dtype = user_dtype(dtype, "full")
        refuse_complex_scalar(fill_value, dtype, "lax.full")
        fill = convert(fill_value, dtype)
    return placement.placed(broadcast(fill, shape), sharding)


def full_like(
    x: ArrayLike | SupportsDType,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    sharding: Sharding | None = None,
) -> Array:
    """Returns an array like `x`, filled with `fill_value`.

    Args:
      x: array, or anything with a shape and a dtype.
      fill_value: a scalar.
      dtype: dtype of the result; that of `x` by default.
      shape: shape of the result; that of `x` by default.
      sharding: sharding of the result; by default that of `x`, if `x` is committed.

    Example:
      >>> lax.full_like(jnp.array([1, 2, 3]), 9)
      Array([9, 9, 9], dtype=int32)
    """
    if not isinstance(x, Array) and hasattr(x, "shape") and hasattr(x, "dtype"):
        like: Any = x
        old_shape, old_dtype, weak = like.shape, like.dtype, bool(getattr(x, "weak_type", False))
        if not dtypes.is_extended(old_dtype):
            old_dtype = dtypes.canonicalize_dtype(old_dtype)
    else:
        aval = get_aval(x)
        old_shape, old_dtype, weak = aval.shape, aval.dtype, aval.weak_type
    extents = old_shape if shape is None else canonical_shape(shape)
    if dtype is not None:
        old_dtype, weak = user_dtype(dtype, "full_like"), False
    refuse_complex_scalar(fill_value, old_dtype, "lax.full_like")
    fill = convert(fill_value, old_dtype, weak)
    return placement.placed_like(broadcast(fill, extents), x, shape, sharding, None)


empty_p = declare("empty")


@empty_p.abstract
def _empty_abstract(*, shape: Shape, dtype: np.dtype, out_sharding: object) -> ShapedArray:
    return shaped_array(shape, np.dtype(dtype), False)


@empty_p.eager
def _empty_eager(*, shape: Shape, dtype: np.dtype, out_sharding: object) -> np.ndarray:
    return np.zeros(shape, np.dtype(dtype))


@empty_p.lower
def _empty_lower(b: Builder, *, shape: Shape, dtype: np.dtype, out_sharding: object) -> Node:
    return b.full(shape, 0, np.dtype(dtype))


def empty(shape: ShapeLike, dtype: DTypeLike, *, out_sharding: ShardingLike | None = None) -> Array:
    """Returns an array of `shape` with unspecified contents, which in fact are zeros.

    The result has exactly the given dtype: 64-bit dtypes are not narrowed, regardless of the
    settings.

    Example:
      >>> lax.empty((2, 3), jnp.float32).shape
      (2, 3)
    """
    if dtypes.is_extended(dtype):
        return full(shape, 0, dtype)
    place = out_place(out_sharding, "empty")
    return empty_p.bind(shape=canonical_shape(shape), dtype=dtype, out_sharding=place)


# A scalar that is never read. Branches return it in place of residuals of other branches.
empty2_p = declare("empty2")


@empty2_p.abstract
def _empty2_abstract(*, dtype: np.dtype, memory_space: MemorySpace) -> ShapedArray:
    return shaped_array((), dtype, False)


@empty2_p.eager
def _empty2_eager(*, dtype: np.dtype, memory_space: MemorySpace) -> np.ndarray:
    return np.zeros((), dtypes.physical_dtype(dtype))


@empty2_p.lower
def _empty2_lower(b: Builder, *, dtype: np.dtype, memory_space: MemorySpace) -> Node:
    return b.full((), 0, dtypes.physical_dtype(dtype))


@empty2_p.key_words
def _empty2_key_words(
    avals: Sequence[ShapedArray], *, dtype: dtypes.KeyDType, memory_space: MemorySpace
) -> Array:
    return broadcast(np.zeros((), np.uint32), (dtype.n_words,))


iota_p.absent("jvp", "transpose", "batch", why="no operands")
empty_p.absent("jvp", "transpose", "batch", why="no operands")
empty2_p.absent("jvp", "transpose", "batch", why="no operands")
