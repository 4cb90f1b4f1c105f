"""Sorting (`sort`, `argsort`, `lexsort`, `partition`) and binary search (`searchsorted`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.numpy import promotion
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.creation import broadcasted_iota, full_like
from jitney.primitives.array.shape import reshape, rev
from jitney.primitives.elementwise import binary, compare, select, unary
from jitney.primitives.elementwise.compiled_rules import LARGE
from jitney.primitives.elementwise.convert import (
    as_value,
    bitcast_convert_type,
    convert,
    scalar_operand,
    user_dtype,
)
from jitney.primitives.reduction import sort as lax_sort
from jitney.runtime.arrays import host_path

__all__ = [
    "argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort",
    "sort_complex", "top_k",
]  # fmt: skip


def _check_options(name: str, kind: object, order: object) -> None:
    if order is not None:
        raise TypeError(
            f"jnp.{name}: `order` must be None, as arrays have no fields, but it is {order!r}"
        )
    if kind is not None:
        raise TypeError(
            f"jnp.{name}: `kind` must be None, but it is {kind!r}; use `stable` to choose whether "
            "equal elements keep their order"
        )


def _along(x: Array, axis: int | None) -> tuple[Array, int]:
    """Returns `x`, flattened if `axis` is None, and the axis."""
    if axis is None:
        return reshape(x, (x.size,)), 0
    return x, canonical_axis(axis, x.ndim)


# --- sorting --------------------------------------------------------------------------------------


@partial(jit_when_traced, static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Array:
    """Sorts elements along `axis`, in ascending order by default; NaN is the largest element.

    Args:
      a: an array.
      axis: the axis to sort along; if None, `a` is flattened first.
      kind: must be None.
      order: must be None.
      stable: whether equal elements keep their order.
      descending: whether the largest elements come first.

    Example:
      >>> jnp.sort(jnp.array([3.0, jnp.nan, 1.0]))
      Array([ 1.,  3., nan], dtype=float32)
      >>> jnp.sort(jnp.array([[3, 1], [2, 4]]), descending=True)
      Array([[3, 1],
             [4, 2]], dtype=int32)
    """
    x = promotion.ensure_arraylike("sort", a)
    _check_options("sort", kind, order)
    x, axis = _along(x, axis)
    out = lax_sort.sort(x, dimension=axis, is_stable=stable)
    return rev(out, (axis,)) if descending else out


@partial(
    jit_when_traced, static_argnames=("axis", "kind", "order", "stable", "descending", "dtype")
)
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """Returns the indices that sort an array along an axis.

    Args:
      a: an array.
      axis: the axis to sort along; if None, `a` is flattened first.
      kind: must be None.
      order: must be None.
      stable: whether equal elements keep their order.
      descending: whether the largest elements come first; a stable sort keeps the order of equal
        elements then, too.
      dtype: the dtype of the indices; the default integer dtype if None.

    Returns: an integer array of the shape of `a`.

    Example:
      >>> jnp.argsort(jnp.array([3, 1, 2]))
      Array([1, 2, 0], dtype=int32)
    """
    x = promotion.ensure_arraylike("argsort", a)
    _check_options("argsort", kind, order)
    x, axis = _along(x, axis)
    indices = broadcasted_iota(dtypes.canonicalize_dtype(int), x.shape, axis)
    # Reversal before and after the sort keeps the order of equal elements.
    if descending:
        x, indices = rev(x, (axis,)), rev(indices, (axis,))
    _, out = lax_sort.sort((x, indices), dimension=axis, is_stable=stable, num_keys=1)
    out = rev(out, (axis,)) if descending else out
    return out if dtype is None else convert(out, user_dtype(dtype, "argsort"))


def _index_dtype(extent: int) -> np.dtype:
    wide = extent > np.iinfo(np.int32).max
    return dtypes.canonicalize_dtype(np.int64 if wide else np.int32)


@partial(jit_when_traced, static_argnames=("axis", "batch_size"))
def lexsort(
    keys: Array | np.ndarray | Sequence[ArrayLike], axis: int = -1, *, batch_size: int = 16
) -> Array:
    """Returns the indices that sort by several keys; the last key takes precedence.

    Args:
      keys: arrays of the same shape, or one array whose slices along the first axis are the keys.
      axis: the axis to sort along.
      batch_size: the maximum number of keys of the same dtype per sort. More keys require several
        stable sorts, from the least significant keys to the most significant ones.

    Returns: an integer array of the shape of one key.

    Raises:
      ValueError: if the shapes of the keys differ, or `batch_size` is less than 1.
      TypeError: if there are no keys.

    Example:
      >>> jnp.lexsort((jnp.array([2, 1, 0]), jnp.array([1, 0, 1])))
      Array([1, 2, 0], dtype=int32)
    """
    if isinstance(keys, Array | np.ndarray) and keys.ndim == 0:
        raise TypeError(
            "jnp.lexsort: `keys` must be a sequence of keys, but it is a scalar; pass a list"
        )
    parts = [as_value(k) for k in (_rows(keys) if isinstance(keys, Array | np.ndarray) else keys)]
    if not parts:
        raise TypeError("jnp.lexsort: `keys` must have at least one key, but it is empty")
    if any(k.shape != parts[0].shape for k in parts):
        raise ValueError(
            "jnp.lexsort: keys must have the same shape, but they have shapes "
            f"{[k.shape for k in parts]}"
        )
    if parts[0].ndim == 0:
        return as_value(scalar_operand(0, dtypes.canonicalize_dtype(int), False))
    axis = canonical_axis(axis, parts[0].ndim)
    if batch_size < 1:
        raise ValueError(f"jnp.lexsort: `batch_size` must be 1 or more, but it is {batch_size}")
    indices = broadcasted_iota(dtypes.canonicalize_dtype(int), parts[0].shape, axis)
    while len(parts) > batch_size and all([k.dtype == parts[0].dtype for k in parts]):
        least, parts = parts[:batch_size], parts[batch_size:]
        operands = (*least[::-1], *parts, indices)
        moved = lax_sort.sort(operands, dimension=axis, num_keys=len(least))
        *parts, indices = moved[len(least) :]
    return lax_sort.sort((*parts[::-1], indices), dimension=axis, num_keys=len(parts))[-1]


def _rows(x: Array | np.ndarray) -> list[Array]:
    from jitney.primitives.array.shape import squeeze
    from jitney.primitives.indexing.slice import slice as lax_slice

    x = as_value(x)
    row_shape = x.shape[1:]
    ones = (1,) * x.ndim
    zeros = (0,) * len(row_shape)
    return [
        squeeze(lax_slice(x, (k, *zeros), (k + 1, *row_shape), ones), (0,))
        for k in range(x.shape[0])
    ]


@jit_when_traced
def sort_complex(a: ArrayLike) -> Array:
    """Sorts elements along the last axis in ascending order and converts them to a complex dtype.

    Example:
      >>> jnp.sort_complex(jnp.array([2, 1]))
      Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    x = promotion.ensure_arraylike("sort_complex", a)
    out = lax_sort.sort(x, dimension=x.ndim - 1)
    is_wide = out.dtype.itemsize == 8 and not promotion.is_complex(out.dtype)
    wide = np.complex128 if is_wide or out.dtype.itemsize > 8 else np.complex64
    return convert(out, np.dtype(wide))


# --- partitions -----------------------------------------------------------------------------------


def _kth(name: str, kth: int, extent: int) -> int:
    kth = operator.index(concrete_or_error(None, kth, f"`kth` of jnp.{name} must be static"))
    if not -extent <= kth < extent:
        raise ValueError(
            f"jnp.{name}: `kth` must be a position along an axis of {extent} elements, but it is {kth}"
        )
    return kth % extent


@partial(jit_when_traced, static_argnames=("kth", "axis"))
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Partitions an array along an axis, so that element `kth` is in its sorted position.

    Smaller elements come before it, and larger elements after it.

    Args:
      a: a real array.
      kth: a position along the axis, a static integer.
      axis: the axis along which to partition.

    Raises:
      NotImplementedError: if `a` is complex.

    Example:
      >>> jnp.partition(jnp.array([4, 1, 3, 2]), 1)[1]
      Array(2, dtype=int32)
    """
    x = promotion.ensure_arraylike("partition", a)
    _check_real("partition", x)
    axis = canonical_axis(axis, x.ndim)
    kth = _kth("partition", kth, x.shape[axis])
    turn = _reversal(x.dtype)
    low = turn(_top(turn(x), kth + 1, axis)[0])
    high = _top(x, x.shape[axis] - kth - 1, axis)[0]
    return concatenate([low, high], axis)


@partial(jit_when_traced, static_argnames=("kth", "axis"))
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """Returns the indices that partition an array along an axis; see `partition`.

    Args:
      a: a real array.
      kth: a position along the axis, a static integer.
      axis: the axis along which to partition.

    Returns: an integer array of the shape of `a`.

    Raises:
      NotImplementedError: if `a` is complex.

    Example:
      >>> jnp.argpartition(jnp.array([4, 1, 3, 2]), 0)[0]
      Array(1, dtype=int32)
    """
    from jitney.numpy.take_put import put_along_axis

    x = promotion.ensure_arraylike("argpartition", a)
    _check_real("argpartition", x)
    axis = canonical_axis(axis, x.ndim)
    kth = _kth("argpartition", kth, x.shape[axis])
    low = _top(_reversal(x.dtype)(x), kth + 1, axis)[1]
    remaining = full_like(x, 1, np.dtype(np.float32))
    remaining = put_along_axis(remaining, low, np.float32(0), axis, inplace=False)
    high = _top(remaining, x.shape[axis] - kth - 1, axis)[1]
    return concatenate([low, high], axis)


@partial(jit_when_traced, static_argnums=(1,), static_argnames=("axis", "mode", "sorted"))
def top_k(
    a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True
) -> list[Array] | tuple[Array, Array]:
    """Computes the k largest or smallest elements along an axis, and their indices.

    Args:
      a: a real array.
      k: the number of elements, a static integer from 0 to the size of the axis.
      axis: the axis along which to select.
      mode: "largest" or "smallest".
      sorted: whether the result must be ordered, with the largest or smallest element first; it
        always is.

    Returns: the values and their int32 indices, of size k along `axis`: in a list for "largest", in
      a tuple for "smallest". Among equal elements, those with lower indices come first. NaN counts
      as larger than infinity, and NaN with the sign bit set as smaller than -infinity.

    Raises:
      ValueError: if `k` is out of range, `mode` is another string, or `a` is complex.

    Example:
      >>> jnp.top_k(jnp.array([4, 1, 3, 2]), 2)
      [Array([4, 3], dtype=int32), Array([0, 2], dtype=int32)]
    """
    if mode not in ("largest", "smallest"):
        raise ValueError(f"jnp.top_k: `mode` must be 'largest' or 'smallest', not {mode!r}")
    x = promotion.ensure_arraylike("top_k", a)
    if mode == "largest":
        return _top(x, k, axis)
    if promotion.is_complex(x.dtype):
        raise ValueError(f"jnp.top_k: `a` must be real, but it is {x.dtype}")
    turn = _reversal(x.dtype)
    values, indices = _top(turn(x), k, axis)
    return turn(values), indices


def _reversal(dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    """Returns a function f that reverses the order of the values of `dtype`: f(x) > f(y) if x < y.

    The function is its own inverse.
    """
    # Negation would leave the smallest integer unchanged.
    is_of_bits = dtype == np.bool_ or promotion.is_integer(dtype)
    return unary.bitwise_not if is_of_bits else unary.neg


def _check_real(name: str, x: Array) -> None:
    if promotion.is_complex(x.dtype):
        raise NotImplementedError(f"jnp.{name}: `a` must be real, but it is {x.dtype}")


def _top(x: Array, k: int, axis: int) -> list[Array]:
    return lax_sort.top_k(x, k, axis=axis)


# --- search ---------------------------------------------------------------------------------------


@partial(jit_when_traced, static_argnames=("side", "method"), compiled_from=LARGE)
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Returns the positions at which to insert elements into a sorted array to keep it sorted.

    Args:
      a: an array of rank 1, in ascending order.
      v: the elements to insert.
      side: whether to insert before ("left") or after ("right") equal elements.
      sorter: indices that sort `a`, if it is not sorted.
      method: "scan" (or "scan_unrolled"), "sort" or "compare_all"; all give the same result.

    Returns: an integer array of the shape of `v`.

    Example:
      >>> jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 6]))
      Array([0, 1, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"jnp.searchsorted: `side` must be 'left' or 'right', but it is {side!r}")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            "jnp.searchsorted: `method` must be 'scan', 'scan_unrolled', 'sort' or 'compare_all', "
            f"but it is {method!r}"
        )
    if sorter is not None:
        promotion.check_arraylike("searchsorted", a, v, sorter)
    else:
        promotion.check_arraylike("searchsorted", a, v)
    a, v = map(as_value, promotion.promote_dtypes(a, v))
    if a.ndim != 1:
        raise ValueError(f"jnp.searchsorted: `a` must be a vector, but it has shape {a.shape}")
    if sorter is not None:
        a = a[sorter]
    dtype = _index_dtype(a.shape[0])
    if a.shape[0] == 0:
        return full_like(v, 0, dtype)
    if a.dtype.kind in "biuf" and a.dtype.itemsize > 2:  # NumPy orders these dtypes in the same way
        ordered, values = host_path.host_data(a), host_path.host_data(v)
        if ordered is not None and values is not None:
            positions = np.searchsorted(ordered, values, side)
            return as_value(np.asarray(positions).astype(dtype))
    a, v = _ordered(a), _ordered(v)
    if method == "compare_all":
        return _count_below(a, v, side, dtype)
    return _bisect(a, v, side, dtype)


def _ordered(x: Array) -> Array:
    """Canonicalizes zeros and NaNs of `x`, so that their total order is the order of sorting."""
    if promotion.is_complex(x.dtype):
        return binary.complex(_ordered(unary.real(x)), _ordered(unary.imag(x)))
    if not promotion.is_floating(x.dtype):
        return x
    zero = full_like(x, 0)
    x = select.select(compare.eq(x, zero), zero, x)
    return select.select(compare.ne(x, x), full_like(x, np.nan), x)


def _precedes(x: Array, y: Array, *, or_equal: bool) -> Array:
    """Returns whether x sorts before y; both are `_ordered`."""
    if promotion.is_complex(x.dtype):
        first = _precedes(unary.real(x), unary.real(y), or_equal=False)
        tie = compare.eq_to(unary.real(x), unary.real(y))
        second = _precedes(unary.imag(x), unary.imag(y), or_equal=or_equal)
        return binary.bitwise_or(first, binary.bitwise_and(tie, second))
    if promotion.is_floating(x.dtype):
        return compare.le_to(x, y) if or_equal else compare.lt_to(x, y)
    return compare.le(x, y) if or_equal else compare.lt(x, y)


def _count_below(a: Array, v: Array, side: str, dtype: np.dtype[Any]) -> Array:
    """Returns the position at which to insert each element of `v` into `a`, by comparing all pairs.

    It is the number of elements of `a` that sort before the element of `v`; if `side` is "right",
    elements that are equal to it are counted as well.
    """
    from jitney.numpy.reductions import sum as sum_of

    column = expand_dims(a, tuple(range(1, v.ndim + 1)))
    row = expand_dims(v, (0,))
    column, row = promotion.broadcast_arrays(column, row)
    return sum_of(_precedes(column, row, or_equal=side == "right"), axis=0, dtype=dtype)


def _bisect(a: Array, v: Array, side: str, dtype: np.dtype[Any]) -> Array:
    """Searches by bisecting intervals of positions, whose halves can differ in size by one.

    The midpoints are those of JAX, so results agree even if `a` is not sorted.
    """
    from jitney.numpy.take_put import take

    n = a.shape[0]
    a, v = _as_words(a), _as_words(v)
    one = scalar_operand(1, dtype, False)
    low, size = full_like(v, 0, dtype), full_like(v, n, dtype)
    for _ in range(n.bit_length()):
        half = binary.shift_right_logical(size, one)
        middle = binary.add(low, half)
        before = _precedes(take(a, middle, mode="clip"), v, or_equal=side == "right")
        low = select.select(before, middle, low)
        size = select.select(before, binary.sub(size, half), half)
    return binary.add(low, size)


def _as_words(x: Array) -> Array:
    """Returns integers that sort like floats `x` after `_ordered`; other dtypes are unchanged."""
    if not promotion.is_floating(x.dtype) or x.dtype.itemsize < 2:
        return x
    width = 8 * x.dtype.itemsize
    dtype = np.dtype(f"int{width}")
    bits = bitcast_convert_type(x, dtype)
    sign = binary.shift_right_arithmetic(bits, scalar_operand(width - 1, dtype, False))
    mask = scalar_operand(np.iinfo(dtype).max, dtype, False)
    return binary.bitwise_xor(bits, binary.bitwise_and(sign, mask))


@partial(jit_when_traced, static_argnames=("right", "method"))
def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """Returns the index of the interval between `bins` that contains each element.

    Index 0 is the interval before the first edge.

    Args:
      x: an array.
      bins: the edges of the intervals, of rank 1, in ascending or descending order.
      right: whether intervals include their right edges instead of their left edges.
      method: see `searchsorted`.

    Example:
      >>> jnp.digitize(jnp.array([0.5, 1.0, 7.0]), jnp.array([1.0, 2.0, 3.0]))
      Array([0, 1, 3], dtype=int32)
    """
    from jitney.numpy.selection import where

    x, bins = promotion.ensure_arraylike("digitize", x, bins)
    if bins.ndim != 1:
        raise ValueError(
            f"jnp.digitize: `bins` must be a vector of edges, but it has shape {bins.shape}"
        )
    count = bins.shape[0]
    if count == 0:
        return full_like(x, 0, _index_dtype(0))
    side = "right" if not right else "left"
    method = "scan" if method is None else method
    ascending = bins[-1] >= bins[0]
    up = searchsorted(bins, x, side=side, method=method)
    down = count - searchsorted(rev(bins, (0,)), x, side=side, method=method)
    return where(ascending, up, down)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
