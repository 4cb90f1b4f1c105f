"""Insertion and removal of elements: `append`, `insert`, `delete`, `resize`, `trim_zeros`."""

# Arguments from users are checked, whatever the annotations say.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

import math
import operator

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import Tracer, concrete_or_error
from jitney.core.typing import ArrayLike, Axis, ShapeLike
from jitney.numpy import promotion
from jitney.numpy.creation import full, zeros, zeros_like
from jitney.numpy.manipulation import moveaxis
from jitney.numpy.selection import clip, where
from jitney.numpy.sorting import argsort, sort
from jitney.primitives.array.broadcasting import broadcast_in_dim, broadcast_to, expand_dims
from jitney.primitives.array.canonical import canonical_axis, canonical_shape
from jitney.primitives.array.concatenation import concatenate, tile
from jitney.primitives.array.creation import iota
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.elementwise import binary
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand
from jitney.primitives.indexing.slice import slice_in_dim

__all__ = ["append", "delete", "insert", "resize", "trim_zeros"]

_INT32 = np.dtype(np.int32)


def _flat(x: Array) -> Array:
    return reshape(x, (x.size,))


def _along(x: Array, axis: int | None) -> tuple[Array, int]:
    return (_flat(x), 0) if axis is None else (x, canonical_axis(axis, x.ndim))


@jit_when_traced(static_argnames=("axis",))
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Returns `arr` with `values` appended along `axis`.

    Args:
      arr: an array.
      values: an array whose shape equals that of `arr` except along `axis`.
      axis: the axis along which to append; if None, both arrays are flattened.

    Returns: a new array of the common dtype.

    Example:
      >>> jnp.append(jnp.array([1, 2]), jnp.array([3]))
      Array([1, 2, 3], dtype=int32)
    """
    from jitney.numpy.joining import concatenate as joined

    x, y = promotion.ensure_arraylike("append", arr, values)
    return joined([_flat(x), _flat(y)]) if axis is None else joined([x, y], axis=axis)


def _positions(index: Array, n: int) -> Array:
    """Returns indices clipped to 0..n, where negative ones count from the end."""
    wrapped = where(index < 0, index + scalar_operand(n, index.dtype, index.weak_type), index)
    return clip(wrapped, 0, n)


# --- insert ---------------------------------------------------------------------------------------


def insert(
    arr: ArrayLike, obj: ArrayLike | slice, values: ArrayLike, axis: int | None = None
) -> Array:
    """Returns `arr` with `values` inserted before the positions given by `obj`.

    Args:
      arr: an array; flattened if `axis` is None.
      obj: positions in `arr`: an integer, an array of integers, or a slice.
      values: the elements to insert, broadcast, and converted to the dtype of `arr`.
      axis: the axis along which to insert.

    Returns: a new array of the dtype of `arr`. Positions out of range are clipped (NumPy raises an
      error).

    Raises:
      ValueError: if `obj` is an array of a non-integer dtype.

    Example:
      >>> jnp.insert(jnp.array([1, 2, 3]), 1, 9)
      Array([1, 9, 2, 3], dtype=int32)
    """
    from jitney.numpy.nonzero_indices import nonzero
    from jitney.numpy.ranges import arange

    promotion.check_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    x, axis = _along(as_value(arr), axis)
    n = x.shape[axis]
    new = convert(values, x.dtype, x.aval.weak_type)
    new = expand_dims(new, tuple(range(max(0, x.ndim - new.ndim))))
    if isinstance(obj, slice):
        index = arange(*obj.indices(n))
    else:
        index = as_value(obj)
        if not promotion.is_integer(index.dtype):
            raise ValueError(
                f"jnp.insert: `obj` must contain integer positions, but it is {index.aval.str_short()}"
            )
        if index.ndim == 0:
            # A scalar position may receive several slices, which NumPy reads along the first axis.
            new = moveaxis(new, 0, axis)
            index = reshape(index, (1,))
        else:
            index = _flat(index)
    if index.shape[0] == 1:
        count = new.shape[axis]
        index = broadcast_to(index[0], (count,))
    shape = list(x.shape)
    count = index.shape[0]
    shape[axis] = count
    new = broadcast_to(new, tuple(shape))
    shape[axis] = n + count
    index = _positions(index, n)
    # Positions in the result: each is shifted by the insertions before it.
    order = argsort(index)
    places = convert(index, _INT32).at[order].add(iota(_INT32, count))
    is_old = full((n + count,), True, np.dtype(bool)).at[places].set(False)
    (old_places,) = nonzero(is_old, size=n)
    lead = (slice(None),) * axis
    out = zeros_like(x, shape=tuple(shape))
    return out.at[(*lead, places)].set(new).at[(*lead, old_places)].set(x)


# --- delete ---------------------------------------------------------------------------------------


def delete(
    arr: ArrayLike,
    obj: ArrayLike | slice,
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """Returns `arr` without the elements at the positions `obj`.

    Args:
      arr: an array; flattened if `axis` is None.
      obj: an integer, an array of integers or booleans, or a slice.
      axis: the axis along which to delete.
      assume_unique_indices: a promise that no position occurs twice; `obj` can then be traced.

    Returns: a new array of the dtype of `arr`.

    Raises:
      IndexError: if an element of an index array is out of range.
      ValueError: if a scalar index is out of range, the dtype of `obj` is neither integer nor
        boolean, or the size of a mask does not match.
      ConcretizationTypeError: if `obj` is traced, unless it contains integers and
        `assume_unique_indices` is True.

    Example:
      >>> jnp.delete(jnp.array([1, 2, 3, 4]), jnp.array([0, 2]))
      Array([2, 4], dtype=int32)
    """
    promotion.check_arraylike("delete", arr, 0 if isinstance(obj, slice) else obj)
    x, axis = _along(as_value(arr), axis)
    n = x.shape[axis]
    if isinstance(obj, slice):
        return _without_slice(x, obj, axis)
    dtype = promotion.dtype_of(obj)
    if not promotion.is_integer(dtype) and dtype != np.bool_:
        raise ValueError(
            "jnp.delete: `obj` must be integer positions or a boolean mask, but it has dtype "
            f"{dtype}"
        )
    unique = promotion.is_integer(dtype) and assume_unique_indices
    if unique and isinstance(obj, Tracer):
        return _without(x, _flat(as_value(obj)), axis)
    if isinstance(obj, int | np.integer) or (shape_of(obj) == () and promotion.is_integer(dtype)):
        at = concrete_or_error(operator.index, obj, "`obj` of jnp.delete must be static")
        at = canonical_axis(at, n)
        parts = [slice_in_dim(x, 0, at, axis=axis), slice_in_dim(x, at + 1, n, axis=axis)]
        return concatenate(parts, axis)
    if unique:
        return _without(x, _flat(as_value(obj)), axis)
    known = concrete_or_error(np.asarray, obj, "`obj` of jnp.delete must be static")
    kept = np.flatnonzero(_kept(np.asarray(known), n, axis))
    return x[(*(slice(None),) * axis, as_value(kept.astype(_INT32)))]


def _without_slice(x: Array, obj: slice, axis: int) -> Array:
    """Returns `x` without the positions of a slice."""
    from jitney.numpy.ranges import arange

    n = x.shape[axis]
    start, stop, step = obj.indices(n)
    count = len(range(start, stop, step))
    if count == 0:
        return x
    index = arange(n)[start : start + count : 1] if step == 1 else arange(start, stop, step)
    return _without(x, index, axis)


def _kept(selection: np.ndarray, n: int, axis: int) -> np.ndarray:
    """Returns a mask [n] of the positions that remain after those of `selection` are deleted.

    Args:
      selection: a mask, or an array of indices.
      n: the number of positions.
      axis: the axis of the positions, for error messages.

    Raises:
      ValueError: if the shape of a mask does not match.
      IndexError: if an index is out of range.
    """
    if selection.dtype == np.bool_:
        if selection.shape != (n,):
            raise ValueError(
                "jnp.delete: a mask must have one axis, whose size is that of `arr` along `axis`, "
                f"{n}, but it has shape {selection.shape}"
            )
        return ~selection
    wrapped = np.where(selection < 0, selection + n, selection)
    outside = (wrapped < 0) | (wrapped >= n)
    if outside.any():
        bad = selection[outside][0]
        raise IndexError(f"jnp.delete: there is no index {bad} along axis {axis} of size {n}")
    kept = np.ones(n, bool)
    kept[wrapped] = False
    return kept


def _without(x: Array, index: Array, axis: int) -> Array:
    """Returns `x` without the slices at `index`, which must be distinct."""
    from jitney.numpy.reductions import sum as sum_of

    n, count = x.shape[axis], index.shape[0]
    gone = sort(_positions(index, n))
    before = binary.sub(gone, iota(gone.dtype, count))
    target = iota(_INT32, n - count)
    later = broadcast_in_dim(target, (1, n - count), (1,)) >= broadcast_in_dim(
        before, (count, 1), (0,)
    )
    source = target + sum_of(later, axis=0)
    return x[(*((slice(None),) * axis), source)]


# --- resize, trim ---------------------------------------------------------------------------------


@jit_when_traced(static_argnames=("new_shape",))
def resize(a: ArrayLike, new_shape: ShapeLike) -> Array:
    """Repeats the elements of `a` in row-major order to fill an array of shape `new_shape`.

    Args:
      a: an array.
      new_shape: the shape of the result; an integer stands for one axis.

    Returns: an array of the dtype of `a`; zeros if `a` has no elements.

    Raises:
      ValueError: if a size is negative.

    Example:
      >>> jnp.resize(jnp.array([1, 2, 3]), (2, 4))
      Array([[1, 2, 3, 1],
             [2, 3, 1, 2]], dtype=int32)
    """
    x = promotion.ensure_arraylike("resize", a)
    shape = canonical_shape(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError(
            f"jnp.resize: `new_shape` must not contain negative sizes, but it is {shape}"
        )
    flat = _flat(x)
    size = math.prod(shape)
    if flat.shape[0] == 0 or size == 0:
        return convert(zeros(shape, x.dtype), x.dtype, x.weak_type)
    times = -(-size // flat.shape[0])
    return reshape(tile(flat, (times,))[:size], shape)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axis = None) -> Array:
    """Removes zeros from the front and the back of `filt`.

    Args:
      filt: an array; it must be concrete.
      trim: where to trim: "f" for the front, "b" for the back, or "fb".
      axis: the axis or axes to trim; all by default.

    Returns: a slice of `filt`.

    Example:
      >>> jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
      Array([1, 0, 2], dtype=int32)
    """
    x = promotion.ensure_arraylike("trim_zeros", filt)
    if not x.ndim:
        return x
    known = concrete_or_error(
        np.asarray,
        x,
        "The values of `filt` determine the size of the result of jnp.trim_zeros, so it must be static",
    )
    if not isinstance(trim, str):
        raise TypeError(
            f"jnp.trim_zeros: `trim` must be a string, such as 'fb', but it is {trim!r}"
        )
    trim = trim.lower()
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    where_nonzero = np.nonzero(known)
    index: list[slice] = [slice(None)] * x.ndim
    for k in axes:
        k = canonical_axis(k, x.ndim)
        places = where_nonzero[k]
        if not places.size:
            index[k] = slice(0, 0)
            continue
        low = int(places.min()) if "f" in trim else None
        high = int(places.max()) + 1 if "b" in trim else None
        index[k] = slice(low, high)
    return x[tuple(index)]


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
