"""Changes of shape and axis order: `reshape`, `transpose`, `broadcast_to`, `tile`, `repeat`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.typing import ArrayLike, Axis, ShapeLike
from jitney.numpy import promotion
from jitney.numpy.flips import roll
from jitney.numpy.joining import stack
from jitney.numpy.out_sharding import call_with_sharding
from jitney.numpy.triangular import diagonal
from jitney.primitives.array import broadcasting, concatenation, shape as lax_shape
from jitney.primitives.array.annotations import copy_p
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.canonical import canonical_axes, canonical_axis, canonical_shape
from jitney.primitives.array.resharding import as_named
from jitney.primitives.elementwise import binary
from jitney.primitives.elementwise.convert import as_value, scalar_operand

if TYPE_CHECKING:
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "diagonal", "expand_dims",
    "matrix_transpose", "moveaxis", "permute_dims", "ravel", "repeat",
    "reshape", "rollaxis", "squeeze", "stack", "swapaxes", "tile", "transpose",
]  # fmt: skip

_INT32 = np.dtype(np.int32)


# --- reshape --------------------------------------------------------------------------------------


def reshape(
    a: ArrayLike,
    shape: ShapeLike,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Returns an array of the given shape with the elements of `a`.

    Args:
      a: an array.
      shape: the new shape; one size can be -1, and is then inferred from the others.
      order: the order in which elements are read and written: "C" (row-major) or "F"
        (column-major).
      copy: whether to copy the array even if its shape does not change.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      TypeError: if the number of elements differs.

    Example:
      >>> jnp.reshape(jnp.arange(6), (2, -1))
      Array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    a = promotion.ensure_arraylike("reshape", a)
    new = _sizes(a.shape, shape)
    if order == "C":
        place = None if out_sharding is None else as_named(out_sharding, "reshape")
        out = lax_shape.reshape(a, new, out_sharding=place)
    elif order == "F":

        def by_columns(x: Array) -> Array:
            return _reshaped_by_columns(x, new)

        out = call_with_sharding(out_sharding, "reshape", by_columns, a)
    elif order == "A":
        raise NotImplementedError(
            "jnp.reshape: `order` must be 'C' or 'F', but it is 'A', and arrays do not expose "
            "the memory layout that it depends on"
        )
    else:
        raise ValueError(f"jnp.reshape: `order` must be 'C' or 'F', but it is {order!r}")
    return copy_p.bind(out) if copy and out is a else out


def _reshaped_by_columns(x: Array, new: tuple[int, ...]) -> Array:
    out = lax_shape.reshape(x, new[::-1], tuple(range(x.ndim))[::-1])
    return lax_shape.transpose(out, tuple(range(len(new)))[::-1])


def _sizes(old: tuple[int, ...], shape: ShapeLike) -> tuple[int, ...]:
    """Returns `shape` with -1 replaced by the inferred size."""
    new = canonical_shape(shape)
    if -1 not in new:
        return new
    if new.count(-1) > 1:
        raise TypeError(
            f"jnp.reshape: at most one size can be -1, but `shape` is {new}, and the array has "
            f"shape {old}"
        )
    size = math.prod(old)
    known = math.prod(n for n in new if n != -1)
    if known == 0:
        raise ZeroDivisionError(
            f"jnp.reshape: -1 is ambiguous if another size is 0, but `shape` is {new}; pass the size"
        )
    if size % known:
        raise TypeError(
            f"jnp.reshape: an array of shape {old} has {messages.counted(size, 'element')}, which "
            f"shape {new} cannot hold: {size} is not a multiple of {known}, the product of the "
            "other sizes"
        )
    return tuple([size // known if n == -1 else n for n in new])


def ravel(
    a: ArrayLike, order: str = "C", *, out_sharding: Sharding | PartitionSpec | None = None
) -> Array:
    """Flattens an array to rank 1.

    Args:
      a: an array.
      order: the order in which elements are read: "C" (row-major) or "F" (column-major).
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: an array of rank 1.

    Example:
      >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
      Array([1, 2, 3, 4], dtype=int32)
    """
    a = promotion.ensure_arraylike("ravel", a)
    if order in ("K", "A"):
        raise NotImplementedError(
            f"jnp.ravel: `order` must be 'C' or 'F', but it is {order!r}, and arrays do not expose "
            "the memory layout that it depends on"
        )
    if order not in ("C", "F"):
        raise ValueError(f"jnp.ravel: `order` must be 'C' or 'F', but it is {order!r}")
    return reshape(a, (a.size,), order, out_sharding=out_sharding)


# --- axes -----------------------------------------------------------------------------------------


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Permutes the axes of `a`.

    Args:
      a: an array.
      axes: the axis of `a` for each axis of the result; by default, all axes in reverse order.

    Example:
      >>> jnp.transpose(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
      >>> jnp.transpose(jnp.ones((2, 3, 4)), (0, 2, 1)).shape
      (2, 4, 3)
    """
    a = promotion.ensure_arraylike("transpose", a)
    if axes is None:
        axes = range(a.ndim)[::-1]
    return lax_shape.transpose(a, canonical_axes(axes, a.ndim))


def permute_dims(a: ArrayLike, /, axes: tuple[int, ...]) -> Array:
    """Permutes the axes of `a`; the name of `transpose` in the array API standard.

    Args:
      a: an array.
      axes: the axis of `a` for each axis of the result.

    Example:
      >>> jnp.permute_dims(jnp.array([[1, 2], [3, 4]]), (1, 0))
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    promotion.check_arraylike("permute_dims", a)
    return transpose(a, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Exchanges the last two axes of `x`.

    Args:
      x: an array of rank 2 or more.

    Raises:
      ValueError: if the rank is less than 2.

    Example:
      >>> jnp.matrix_transpose(jnp.array([[[1, 2], [3, 4]]]))
      Array([[[1, 3],
              [2, 4]]], dtype=int32)
    """
    x = promotion.ensure_arraylike("matrix_transpose", x)
    rank = x.ndim
    if rank < 2:
        raise ValueError(
            f"jnp.matrix_transpose: `x` must have two or more axes, but it has shape {x.shape}"
        )
    return lax_shape.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Moves the axes `source` to the positions `destination`; the other axes keep their order.

    Args:
      a: an array.
      source: an axis, or a sequence of axes.
      destination: the positions of these axes in the result.

    Raises:
      ValueError: if the numbers of axes and positions differ.

    Example:
      >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    a = promotion.ensure_arraylike("moveaxis", a)
    sources, targets = canonical_axes(source, a.ndim), canonical_axes(destination, a.ndim)
    if len(sources) != len(targets):
        raise ValueError(
            f"jnp.moveaxis: `source` and `destination` must have the same length, but they have "
            f"lengths {len(sources)} and {len(targets)}"
        )
    order = [k for k in range(a.ndim) if k not in sources]
    for target, k in sorted(zip(targets, sources, strict=True)):
        order.insert(target, k)
    return lax_shape.transpose(a, order)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Exchanges two axes of `a`.

    Args:
      a: an array.
      axis1: the first axis.
      axis2: the second axis.

    Example:
      >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)
    """
    a = promotion.ensure_arraylike("swapaxes", a)
    order = np.arange(a.ndim)
    try:
        i, j = canonical_axis(axis1, a.ndim), canonical_axis(axis2, a.ndim)
    except ValueError as error:
        raise IndexError(str(error)) from None  # the exception class of JAX
    order[i], order[j] = j, i
    return lax_shape.transpose(a, order.tolist())


@jit_when_traced(static_argnames=("axis", "start"))
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Moves axis `axis` in front of axis `start`; `moveaxis` is easier to read.

    Args:
      a: an array.
      axis: the axis to move.
      start: the axis before which to move it, as numbered before the move.

    Raises:
      ValueError: if `start` is out of range.

    Example:
      >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    a = promotion.ensure_arraylike("rollaxis", a)
    rank = a.ndim
    start = operator.index(concrete_or_error(None, start, "`start` of jnp.rollaxis must be static"))
    axis = canonical_axis(axis, rank)
    if not -rank <= start <= rank:
        raise ValueError(
            f"jnp.rollaxis: `start` must be between {-rank} and {rank}, but it is {start}"
        )
    start += rank if start < 0 else 0
    return moveaxis(a, axis, start - 1 if start > axis else start)


def squeeze(a: ArrayLike, axis: Axis = None) -> Array:
    """Removes axes of size 1 from `a`.

    Args:
      a: an array.
      axis: the axis or axes to remove; by default, all axes of size 1.

    Raises:
      ValueError: if one of the given axes has a size other than 1.

    Example:
      >>> jnp.squeeze(jnp.array([[[1], [2]]]))
      Array([1, 2], dtype=int32)
    """
    a = promotion.ensure_arraylike("squeeze", a)
    if axis is None:
        axis = tuple(k for k, n in enumerate(a.shape) if n == 1)
    return lax_shape.squeeze(a, axis)


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Inserts axes of size 1 into `a`.

    Args:
      a: an array.
      axis: the position, or a sequence of positions, of the new axes in the result.

    Raises:
      ValueError: if a position is repeated or out of range.

    Example:
      >>> jnp.expand_dims(jnp.array([1, 2]), 1)
      Array([[1],
             [2]], dtype=int32)
    """
    a = promotion.ensure_arraylike("expand_dims", a)
    if isinstance(axis, Array | np.ndarray):
        axis = concrete_or_error(
            np.asarray, axis, "`axis` of jnp.expand_dims must be static"
        ).tolist()
    axes = axis if isinstance(axis, Sequence) else (axis,)
    rank = a.ndim + len(axes)
    dims = canonical_axes(tuple(axes), rank)
    if len(set(dims)) != len(dims):
        raise ValueError(
            f"jnp.expand_dims: the axes in `axis` must be distinct, but they are {tuple(axes)}"
        )
    return broadcasting.expand_dims(a, dims)


# --- broadcasting ---------------------------------------------------------------------------------


def broadcast_to(
    array: ArrayLike, shape: ShapeLike, *, out_sharding: Sharding | PartitionSpec | None = None
) -> Array:
    """Broadcasts `array` to `shape`, along new leading axes and along axes of size 1.

    Args:
      array: an array.
      shape: the shape to broadcast to; an integer stands for one axis.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if the shapes do not broadcast.

    Example:
      >>> jnp.broadcast_to(jnp.array([1, 2]), (2, 2))
      Array([[1, 2],
             [1, 2]], dtype=int32)
    """
    promotion.check_arraylike("broadcast_to", array)
    place = None if out_sharding is None else as_named(out_sharding, "broadcast_to")
    return broadcasting.broadcast_to(array, canonical_shape(shape), out_sharding=place)


def broadcast_arrays(*args: ArrayLike) -> tuple[Array, ...]:
    """Broadcasts arrays to their common shape.

    Args:
      *args: arrays; their dtypes are kept.

    Returns: a tuple of arrays.

    Raises:
      ValueError: if the shapes do not broadcast.

    Example:
      >>> jnp.broadcast_arrays(jnp.array([1, 2]), 3.0)
      (Array([1, 2], dtype=int32), Array([3., 3.], dtype=float32, weak_type=True))
    """
    promotion.check_arraylike("broadcast_arrays", *args)
    return promotion.broadcast_arrays(*args)


def broadcast_shapes(*shapes: ShapeLike) -> tuple[int, ...]:
    """Returns the shape to which arrays of the given shapes broadcast.

    Args:
      *shapes: shapes; an integer stands for one axis.

    Returns: a tuple of integers.

    Raises:
      ValueError: if the shapes do not broadcast.

    Example:
      >>> jnp.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    if not shapes:
        return ()
    return broadcasting.broadcast_shapes(*[canonical_shape(s) for s in shapes])


# --- repetition -----------------------------------------------------------------------------------


def tile(A: ArrayLike, reps: ShapeLike) -> Array:
    """Repeats the whole array `A` along its axes.

    Args:
      A: an array.
      reps: the number of repetitions for each axis; the last one applies to the last axis.

    Returns: an array whose rank is the larger of the rank of `A` and the length of `reps`.

    Example:
      >>> jnp.tile(jnp.array([1, 2]), (2, 2))
      Array([[1, 2, 1, 2],
             [1, 2, 1, 2]], dtype=int32)
    """
    promotion.check_arraylike("tile", A)
    x = as_value(A)
    repeats: Any = reps
    try:
        counts = tuple(repeats)
    except TypeError:
        counts = (repeats,)
    counts = canonical_shape(counts)
    rank = max(x.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    x = broadcasting.expand_dims(x, tuple(range(rank - x.ndim)))
    return concatenation.tile(x, counts) if rank else x


def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Repeats each element of `a`, or each slice along `axis`.

    Args:
      a: an array; flattened if `axis` is None.
      repeats: the number of repetitions: one for all, or one for each element along `axis`.
      axis: the axis along which to repeat.
      total_repeat_length: the size of the result along `axis`, required if `repeats` is traced. If
        there are fewer repetitions, the result is padded with the last element; if there are more,
        it is cut off.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ConcretizationTypeError: if `repeats` is traced and `total_repeat_length` is not passed.

    Example:
      >>> jnp.repeat(jnp.array([1, 2]), 2)
      Array([1, 1, 2, 2], dtype=int32)
      >>> jnp.repeat(jnp.array([1, 2]), jnp.array([1, 3]))
      Array([1, 2, 2, 2], dtype=int32)
    """
    _check_repeated(a, repeats)
    x = as_value(a)
    if axis is None:
        x, axis = lax_shape.reshape(x, (x.size,)), 0
    axis = canonical_axis(axis, x.ndim)
    counts: Any = repeats
    if total_repeat_length is None:
        known: Any = concrete_or_error(
            None,
            repeats,
            "The sum of `repeats` is the size of the result of jnp.repeat, so it must be static: "
            "pass `total_repeat_length`, or pass `repeats` as Python scalars or a NumPy array.",
        )
        if np.size(known) == 1:
            count: Any = known.item() if hasattr(known, "item") else known

            def repeat_all(x: Array) -> Array:
                return _repeat_all(x, count, axis)

            return call_with_sharding(out_sharding, "repeat", repeat_all, x)
        counts = np.ravel(np.asarray(known))
        if len(counts) != x.shape[axis]:
            raise ValueError(
                "jnp.repeat: `repeats` must be one integer, or one for each element along axis "
                f"{axis}, of which {messages.there_are(x.shape[axis])}, but it has {len(counts)}"
            )
        total_repeat_length = int(np.sum(counts))
        counts = counts.astype(_INT32)
    length = operator.index(total_repeat_length)

    def repeat_each(x: Array, n: Array) -> Array:
        return _repeat_each(x, n, axis, length)

    return call_with_sharding(out_sharding, "repeat", repeat_each, x, counts)


def _check_repeated(a: ArrayLike, repeats: ArrayLike) -> None:
    """Raises TypeError unless the operands of `repeat` are arrays or scalars."""
    if isinstance(repeats, Array | np.ndarray) or np.isscalar(repeats):
        promotion.check_arraylike("repeat", a, repeats)
        return
    promotion.check_arraylike("repeat", a)
    if not hasattr(repeats, "__index__"):
        raise TypeError(
            "jnp.repeat: operands must be arrays or scalars, but the one at position 1 is of "
            f"{type(repeats)}; convert lists and tuples with jnp.asarray"
        )


def _repeat_all(x: Array, count: Any, axis: int) -> Array:
    if not isinstance(count, int):
        raise TypeError(
            f"jnp.repeat: `repeats` must be an integer or an integer array, but it is {count}, of "
            f"{type(count)}"
        )
    if count < 0:
        raise TypeError(f"jnp.repeat: `repeats` must be 0 or more, but it is {count}")
    shape = x.shape
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    dims = (*range(axis + 1), *range(axis + 2, len(wide)))
    spread = broadcast_in_dim(x, wide, dims)
    return lax_shape.reshape(spread, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _repeat_each(x: Array, repeats: Any, axis: int, length: int) -> Array:
    """Repeats each slice k of `x` along `axis` as many times as `repeats[k]`."""
    from jitney.numpy.creation import zeros
    from jitney.numpy.cumulative import cumsum
    from jitney.numpy.take_put import take

    n = x.shape[axis]
    if n == 0:
        return lax_shape.reshape(x, (*x.shape[:axis], 0, *x.shape[axis + 1 :]))
    counts = as_value(repeats)
    if counts.ndim == 0:
        counts = broadcasting.broadcast_to(counts, (n,))
    if counts.shape != (n,):
        counts = broadcasting.broadcast_to(counts, (n,))
    # The start of each slice in the result is the sum of the counts before it.
    before = roll(counts, 1).at[0].set(0)
    starts = cumsum(before)
    marks = zeros((length,), _INT32).at[starts].add(1)
    source = binary.sub(cumsum(marks), scalar_operand(1, _INT32, False))
    return take(x, source, axis=axis)


for _name in __all__:
    if _name not in ("diagonal", "stack"):
        globals()[_name].__module__ = "jax.numpy"
