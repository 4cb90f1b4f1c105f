"""Access by arrays of indices: `take`, `take_along_axis`, `put`, `choose`, `fill_diagonal`.

Unlike `x[indices]`, `take` and `take_along_axis` return NaN (or the smallest signed or the largest
unsigned integer) for positions out of range, unless `mode` specifies otherwise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.diagnostics import errors
from jitney.core.messages import messages
from jitney.core.tracing.trace import Tracer, concrete_value
from jitney.core.types import dtypes
from jitney.core.types.avals import shaped_array
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.at import IndexUpdateRef
from jitney.numpy.division import remainder
from jitney.numpy.indexing import empty_of_type, index_dtype, mode_of
from jitney.numpy.selection import clip, where
from jitney.primitives.array.broadcasting import (
    broadcast_in_dim,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
)
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.concatenation import concatenate, tile
from jitney.primitives.array.creation import broadcasted_iota, iota
from jitney.primitives.array.shape import reshape, squeeze
from jitney.primitives.elementwise import binary, compare, select
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand
from jitney.primitives.indexing.gather import GatherDimensionNumbers, GatherScatterMode, gather
from jitney.primitives.indexing.slice import slice as lax_slice
from jitney.runtime.arrays import host_path
from jitney.runtime.arrays.array import ArrayImpl

_INT32 = np.dtype(np.int32)


_INDICES = "jnp.take: `indices` must be of an integer or boolean type, but they are {}"


def check_not_inplace(name: str, inplace: bool) -> None:
    """Raises ValueError if an in-place update is requested."""
    if inplace:
        raise ValueError(
            f"jax.numpy.{name}: `inplace` must be False, as arrays are immutable; the result is an "
            "updated array"
        )


def _flat(x: Array) -> Array:
    return reshape(x, (math.prod(x.shape),))


def _is_integral(x: ArrayLike) -> bool:
    dtype = promotion.dtype_of(x)
    return dtype == np.bool_ or promotion.is_integer(dtype)


# --- take ---------------------------------------------------------------------------------------


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Returns the elements or slices of `a` at `indices` along `axis`.

    Args:
      a: an array.
      indices: an integer array of any shape; its axes replace `axis`.
      axis: the axis along which to select; if None, `a` is flattened first.
      out: must be None.
      mode: how positions out of range are handled: "fill" (the default) returns `fill_value`,
        "clip" uses the nearest position, "wrap" reduces positions modulo the size. Negative
        positions count from the end, except with "clip".
      unique_indices: a promise that no position occurs twice.
      indices_are_sorted: a promise that positions are in ascending order.
      fill_value: the value for positions out of range; by default NaN, or the smallest signed or
        the largest unsigned integer.

    Raises:
      ValueError: if the indices are neither integers nor booleans, or `mode` is unknown.
      NotImplementedError: if `mode` is "raise".
      IndexError: if the axis is empty and the indices are not.

    Example:
      >>> jnp.take(jnp.array([10, 20, 30]), jnp.array([2, 0]))
      Array([30, 10], dtype=int32)
      >>> jnp.take(jnp.array([1.0, 2.0]), jnp.array([1, 5]))
      Array([ 2., nan], dtype=float32)
    """
    promotion.check_no_out("take", out)
    if type(a) is ArrayImpl and type(indices) is ArrayImpl and mode is None:
        elements = _at_once(np.take, a, indices, axis)
        if elements is not None:
            return elements
    promotion.check_arraylike("take", a, indices)
    return _take(
        a,
        indices,
        axis=None if axis is None else operator.index(axis),
        mode=mode,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )


def _at_once(
    function: Callable[..., np.ndarray], a: ArrayImpl, indices: ArrayImpl, axis: int | None
) -> Array | None:
    """Applies a NumPy indexing function eagerly; returns None if positions are out of range."""
    value, positions = host_path.eager_data(a), host_path.eager_data(indices)
    if value is None or positions is None or positions.dtype.kind not in "iu":
        return None
    try:
        out = np.asarray(function(value, positions, axis))
    except (IndexError, ValueError, TypeError):
        return None  # out of range, or an error for the general path to report
    return host_path.array_from_numpy(out, shaped_array(out.shape, a.aval.dtype, a.aval.weak_type))


def _take_body(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None,
    mode: str | None,
    unique_indices: bool,
    indices_are_sorted: bool,
    fill_value: ArrayLike | None,
) -> Array:
    x, index = as_value(a), as_value(indices)
    if axis is None:
        x, axis = _flat(x), 0
    axis = canonical_axis(axis, x.ndim)
    if not _is_integral(index):
        raise ValueError(_INDICES.format(index.dtype))
    extent = x.shape[axis]
    size = math.prod(index.shape)
    if extent == 0 and size:
        raise IndexError(
            f"jnp.take: axis {axis} of `a`, of shape {x.shape}, has no elements, but the indices "
            f"request {messages.counted(size, 'element')}"
        )
    if promotion.dtype_of(index) == np.bool_:
        if mode == "clip":
            raise ValueError(
                "jnp.take: `indices` must be of an integer type in mode 'clip', but they are bool"
            )
        index = convert(index, _INT32)
        if mode == "wrap":  # the size as a boolean is True, so positions count modulo 1
            extent = min(extent, 1)
    index, gather_mode = _treat_outside(index, extent, mode)
    rank = index.ndim
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    if 0 in shape:
        return empty_of_type(x, shape)
    sizes = list(x.shape)
    sizes[axis] = 1
    return gather(
        x,
        expand_dims(index, (rank,)),
        GatherDimensionNumbers(
            offset_dims=(*range(axis), *range(axis + rank, len(shape))),
            collapsed_slice_dims=(axis,),
            start_index_map=(axis,),
        ),
        tuple(sizes),
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        mode=gather_mode,
        fill_value=fill_value if mode == "fill" or mode is None else None,
    )


_take = jit_when_traced(
    _take_body,
    name="_take",
    static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"),
)


def _treat_outside(index: Array, extent: int, mode: str | None) -> tuple[Array, GatherScatterMode]:
    """Returns indices and the mode of a gather that handles indices out of range as `mode` says."""
    match mode:
        case None | "fill":
            wrapped = _wrapped(index, extent) if index.size else index
            return wrapped, GatherScatterMode.FILL_OR_DROP
        case "wrap":
            within = remainder(index, index.dtype.type(extent)) if index.size else index
            return within, GatherScatterMode.PROMISE_IN_BOUNDS
        case "clip":
            return index, GatherScatterMode.CLIP
        case "raise":
            raise NotImplementedError(
                "jnp.take: `mode` cannot be 'raise', as compiled code raises no errors; use 'fill', "
                "which gives `fill_value` (by default NaN, for floats) for indices out of range"
            )
        case _:
            raise ValueError(
                f"jnp.take: `mode` must be 'fill', 'wrap' or 'clip', but it is {mode!r}"
            )


def _wrapped(indices: Array, extent: int) -> Array:
    if type(extent) is int and extent > dtypes.iinfo(indices.dtype).max:
        indices = convert(indices, _INT32)
    dtype = indices.dtype
    below = compare.lt(indices, dtype.type(0))
    shifted = binary.add(indices, scalar_operand(extent, dtype, indices.aval.weak_type))
    return where(below, shifted, indices)


# --- take_along_axis ------------------------------------------------------------------------------


def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool = True,
) -> Array:
    """Selects one element along `axis` for each entry of `indices`.

    out[i, k, j] = arr[i, indices[i, k, j], j], where k is the position along `axis`.

    Args:
      arr: an array.
      indices: an integer array of the same rank as `arr`; axes other than `axis` are broadcast
        against those of `arr`.
      axis: the axis that the indices refer to; if None, `arr` is flattened first.
      mode: how positions out of range are handled; see `x.at[...].get`; "fill" by default.
      fill_value: the value for positions out of range with mode "fill".
      wrap_negative_indices: whether negative positions count from the end.

    Example:
      >>> logits = jnp.array([[0.5, 2.0, -1.0], [1.5, 0.0, 3.0]])
      >>> labels = jnp.array([1, 0])
      >>> jnp.take_along_axis(logits, labels[:, None], axis=1)  # the logit of each label
      Array([[2. ],
             [1.5]], dtype=float32)
    """
    plain = mode is None and axis is not None and wrap_negative_indices
    if plain and type(arr) is ArrayImpl and type(indices) is ArrayImpl and arr.size:
        elements = _at_once(np.take_along_axis, arr, indices, axis)
        if elements is not None:
            return elements
    promotion.check_arraylike("take_along_axis", arr, indices)
    return _take_along_axis(
        arr,
        indices,
        axis=axis,
        mode=mode,
        fill_value=fill_value,
        wrap_negative_indices=wrap_negative_indices,
    )


def _take_along_axis_body(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None,
    mode: str | GatherScatterMode | None,
    fill_value: ArrayLike | None,
    wrap_negative_indices: bool,
) -> Array:
    x, index = as_value(arr), as_value(indices)
    dtype = promotion.dtype_of(index)
    if not promotion.is_integer(dtype):
        raise TypeError(
            "jnp.take_along_axis: `indices` must be of an integer type, but they are "
            f"{dtypes.long_name(dtype)}"
        )
    if axis is None:
        if index.ndim != 1:
            raise ValueError(
                "jnp.take_along_axis: `indices` must be a vector if `axis` is None, but they "
                f"have shape {index.shape}"
            )
        x, axis = _flat(x), 0
    rank = x.ndim
    if rank != index.ndim:
        raise ValueError(
            "jnp.take_along_axis: `indices` must have the same rank as `arr`, but they have shapes "
            f"{index.shape} and {x.shape}"
        )
    axis = canonical_axis(axis, rank)
    extent = x.shape[axis]
    others = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    shape = broadcast_shapes(index.shape, others)
    if wrap_negative_indices:
        index = convert(index, index_dtype(x.shape))
        kind = index.dtype.type
        index = select.select(compare.lt(index, kind(0)), binary.add(index, kind(extent)), index)
    if mode == "one_hot":
        mode, fill_value = "fill", 0
    gather_mode = (
        GatherScatterMode.FILL_OR_DROP if mode is None else mode_of(mode, "jnp.take_along_axis")
    )
    if 0 in shape or not x.size:  # for empty arrays: zeros, strongly typed, as in JAX
        nothing = empty_of_type(x, shape)
        return nothing if dtypes.is_extended(x.dtype) else convert(nothing, x.dtype)
    return _gather_along(x, index, axis, gather_mode, fill_value)


def _gather_along(
    x: Array, index: Array, axis: int, mode: GatherScatterMode, fill_value: ArrayLike | None
) -> Array:
    """Gathers from `x` along `axis`; other axes are batch dimensions or windows of the gather."""
    rank = x.ndim
    # Axes of `arr` that are broadcast against the indices are omitted.
    repeating = [k for k in range(rank) if k != axis and x.shape[k] == 1 != index.shape[k]]
    offset: list[int] = []
    batching: list[int] = []
    index_batching: list[int] = []
    sizes: list[int] = []
    index_shape: list[int] = []
    for k in range(rank):
        if k != axis and index.shape[k] == 1:  # the window spans the axis of `arr`
            offset.append(k)
            sizes.append(x.shape[k])
            continue
        if k not in repeating:
            if k != axis:
                batching.append(len(sizes))
                index_batching.append(len(index_shape))
            sizes.append(1)
        index_shape.append(index.shape[k])
    x = squeeze(x, repeating) if repeating else x
    indexed = (axis - sum(k < axis for k in repeating),)
    return gather(
        x,
        reshape(index, (*index_shape, 1)),
        GatherDimensionNumbers(
            offset_dims=tuple(offset),
            collapsed_slice_dims=indexed,
            start_index_map=indexed,
            operand_batching_dims=tuple(batching),
            start_indices_batching_dims=tuple(index_batching),
        ),
        tuple(sizes),
        mode=mode,
        fill_value=fill_value,
    )


_take_along_axis = jit_when_traced(
    _take_along_axis_body,
    name="take_along_axis",
    static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"),
)


# --- put ----------------------------------------------------------------------------------------


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """Returns `a` with the elements at the flat positions `ind` replaced by `v`.

    Args:
      a: an array.
      ind: an integer array of positions in the flattened array.
      v: the new elements, repeated as needed.
      mode: how positions out of range are handled: None ignores those past the end, "clip" uses the
        nearest position, "wrap" reduces positions modulo the size.
      inplace: must be False, unlike in NumPy, since arrays are immutable.

    Raises:
      ValueError: if `inplace` is True, or `mode` is unknown.
      NotImplementedError: if `mode` is "raise".

    Example:
      >>> jnp.put(jnp.zeros(4), jnp.array([0, 2]), 5.0, inplace=False)
      Array([5., 0., 5., 0.], dtype=float32)
    """
    check_not_inplace("put", inplace)
    promotion.check_arraylike("put", a, ind, v)
    x, places, new = as_value(a), _flat(as_value(ind)), _flat(as_value(v))
    if not (x.size and places.size and new.size):
        return x
    if mode == "raise":
        raise NotImplementedError(
            "jnp.put: `mode` cannot be 'raise', as compiled code raises no errors; use None to "
            "drop values with positions out of range"
        )
    if mode == "clip":
        places = clip(places, 0, x.size - 1)
    elif mode == "wrap":
        places = remainder(places, x.size)
    elif mode is not None:
        raise ValueError(f"jnp.put: `mode` must be None, 'wrap' or 'clip', but it is {mode!r}")
    values = repeated(new, places.shape[0])
    if dtypes.issubdtype(places.dtype, np.signedinteger):
        # Positions before the first element count as the first.
        places = binary.max(places, places.dtype.type(-x.size))
    scatter_mode = "drop" if mode is None else "promise_in_bounds"
    flat = IndexUpdateRef(_flat(x), (places,)).set(values, mode=scatter_mode)
    return reshape(flat, x.shape)


def repeated(v: Array, size: int) -> Array:
    """Returns `size` elements: those of the vector `v`, repeated cyclically."""
    n = v.shape[0]
    v = tile(v, (-(-size // n),)) if n < size else v
    return lax_slice(v, (0,), (size,)) if v.shape[0] > size else v


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Returns `arr` with one element along `axis` replaced for each entry of `indices`.

    out[i, indices[i, k, j], j] = values[i, k, j], where k is the position along `axis`.

    Args:
      arr: an array.
      indices: an integer array of the same rank as `arr`; axes other than `axis` are broadcast
        against those of `arr`.
      values: the new elements, broadcast to the shape of the indices.
      axis: the axis that the indices refer to; if None, `arr` is flattened first.
      inplace: must be False, unlike in NumPy, since arrays are immutable.
      mode: how positions out of range are handled; see `x.at[...].set`; by default, they are
        ignored.

    Raises:
      ValueError: if `inplace` is True, or the ranks differ.
      TypeError: if the indices are not integers.

    Example:
      >>> x = jnp.zeros((2, 2))
      >>> jnp.put_along_axis(x, jnp.array([[0], [1]]), 9.0, axis=1, inplace=False)
      Array([[9., 0.],
             [0., 9.]], dtype=float32)
    """
    check_not_inplace("put_along_axis", inplace)
    promotion.check_arraylike("put_along_axis", arr, indices, values)
    arr, indices, values = as_value(arr), as_value(indices), as_value(values)
    shape = arr.shape
    if axis is None:
        arr, axis = _flat(arr), 0
    if not promotion.is_integer(indices.dtype):
        raise TypeError(
            f"jnp.put_along_axis: `indices` must be of an integer type, not {indices.dtype}"
        )
    if arr.ndim != indices.ndim:
        raise ValueError(
            "jnp.put_along_axis: `indices` must have the same rank as `arr`, but they have shapes "
            f"{indices.shape} and {arr.shape}"
        )
    axis = canonical_axis(axis, arr.ndim)
    others = (*arr.shape[:axis], 1, *arr.shape[axis + 1 :])
    full = broadcast_shapes(indices.shape, others)
    places = [
        broadcast_to(indices, full) if k == axis else broadcasted_iota(np.int32, full, k)
        for k in range(arr.ndim)
    ]
    out = IndexUpdateRef(arr, tuple(places)).set(values, mode=mode)
    return reshape(out, shape)


# --- choose -------------------------------------------------------------------------------------


def choose(
    a: ArrayLike,
    choices: Array | np.ndarray | Sequence[ArrayLike],
    out: None = None,
    mode: str = "raise",
) -> Array:
    """Selects elements from several arrays by index: choices[a[i]][i].

    Args:
      a: an integer array of indices into `choices`.
      choices: a sequence of arrays, or one array whose slices along the first axis are the choices;
        they are broadcast against `a`.
      out: must be None.
      mode: how indices out of range are handled: "raise" raises ValueError and requires a concrete
        `a`, "clip" uses the nearest choice, "wrap" reduces indices modulo the number of choices.

    Returns: an array of the common dtype of the choices.

    Example:
      >>> jnp.choose(jnp.array([0, 1, 0]), [jnp.array([1, 2, 3]), jnp.array([10, 20, 30])])
      Array([ 1, 20,  3], dtype=int32)
    """
    promotion.check_no_out("choose", out)
    promotion.check_arraylike("choose", a, *choices)
    x = as_value(a)
    if not promotion.is_integer(promotion.dtype_of(x)):
        raise ValueError(f"jnp.choose: `a` must be of an integer type, but it is {x.dtype}")
    n = len(choices)
    if mode == "raise":
        value = concrete_value(x)
        if value is None:
            assert isinstance(x, Tracer)
            raise errors.ConcretizationTypeError(
                x,
                "jnp.choose compares indices with the number of choices in mode 'raise', so they "
                "must be concrete; the modes 'wrap' and 'clip' accept traced indices.",
            )
        known = np.asarray(value)
        outside = known[(known < 0) | (known >= n)]
        if outside.size and not n:
            raise ValueError("jnp.choose: `choices` must have at least one choice, but it is empty")
        if outside.size:
            raise ValueError(
                f"jnp.choose: elements of `a` must be from 0 to {n - 1}, as "
                f"{messages.there_are(n, 'choice')}, but one is {outside.flat[0]}; "
                "use mode 'wrap' or 'clip' for indices out of range"
            )
    elif mode == "wrap":
        x = remainder(x, n)
    elif mode == "clip":
        x = clip(x, 0, n - 1)
    else:
        raise ValueError(
            f"jnp.choose: `mode` must be 'raise', 'wrap' or 'clip', but it is {mode!r}"
        )
    parts = promotion.promote_dtypes(*[choices[k] for k in range(n)])
    shape = broadcast_shapes(x.shape, *[np.shape(p) for p in parts])
    rows = [expand_dims(broadcast_to(p, shape), (0,)) for p in parts]
    stacked = concatenate(rows, 0)
    stacked = convert(stacked, stacked.dtype)
    which = expand_dims(broadcast_to(convert(x, _INT32), shape), (0,))
    elements = take_along_axis(stacked, which, axis=0, mode="promise_in_bounds")
    return reshape(elements, shape)


# --- diagonals ----------------------------------------------------------------------------------


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """Returns `a` with `val`, repeated as needed, on its main diagonal.

    Args:
      a: an array of rank 2 or more.
      val: the new elements, a scalar or an array.
      wrap: must be False.
      inplace: must be False, unlike in NumPy, since arrays are immutable.

    Raises:
      NotImplementedError: if `inplace` or `wrap` is True.
      ValueError: if there are fewer than two axes, or more than two axes of different sizes.

    Example:
      >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 1.0, inplace=False)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError(
            "jnp.fill_diagonal: `inplace` must be False, as arrays are immutable; the result is an "
            "updated array"
        )
    if wrap:
        raise NotImplementedError(
            "jnp.fill_diagonal: `wrap` must be False; fill the blocks of a tall matrix separately"
        )
    promotion.check_arraylike("fill_diagonal", a, val)
    a = as_value(a)
    if a.ndim < 2:
        raise ValueError(
            f"jnp.fill_diagonal: `a` must have two or more axes, but it has shape {a.shape}"
        )
    if a.ndim > 2 and any(n != a.shape[0] for n in a.shape):
        raise ValueError(
            "jnp.fill_diagonal: an array with more than two axes must have axes of equal size, "
            f"but `a` has shape {a.shape}"
        )
    n = min(a.shape)
    if np.ndim(val) and n:
        val = repeated(_flat(as_value(val)), n)
    places = iota(_INT32, n)
    return IndexUpdateRef(a, (places,) * a.ndim).set(val)


def ix_(*args: ArrayLike) -> tuple[Array, ...]:
    """Returns index arrays that select the grid of all combinations of the given indices.

    Args:
      *args: integer arrays of rank 1, one for each axis.

    Returns: a tuple of arrays; the elements of array k are along axis k.

    Raises:
      ValueError: if an argument is not of rank 1.
      NotImplementedError: if an argument is boolean.

    Example:
      >>> jnp.arange(6).reshape(2, 3)[jnp.ix_(jnp.array([0, 1]), jnp.array([0, 2]))]
      Array([[0, 2],
             [3, 5]], dtype=int32)
    """
    promotion.check_arraylike("ix", *args)
    out: list[Any] = []
    for k, x in enumerate(args):
        x = as_value(x)
        if x.ndim != 1:
            raise ValueError(
                f"jax.numpy.ix_: operands must be vectors, but operand {k} has shape {x.shape}"
            )
        if x.dtype == np.bool_:
            raise NotImplementedError(
                f"jax.numpy.ix_: operands must be integer positions, but operand {k} is boolean; "
                "use jnp.nonzero(mask)[0] for the positions of a mask"
            )
        if x.shape[0] == 0:
            x = convert(x, dtypes.canonicalize_dtype(np.dtype(np.int64)))
        shape = [1] * len(args)
        shape[k] = x.shape[0]
        out.append(broadcast_in_dim(x, tuple(shape), (k,)))
    return tuple(out)


for _function in (choose, fill_diagonal, ix_, put, put_along_axis, take, take_along_axis):
    _function.__module__ = "jax.numpy"
