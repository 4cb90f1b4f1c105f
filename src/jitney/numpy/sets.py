"""Arrays as sets: `unique` and variants, `union1d`, `intersect1d`, `setdiff1d`, `setxor1d`, `isin`.

The size of a result depends on the elements, so under `jit` it must be passed as `size`; a result
with fewer elements is then padded with `fill_value`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.thresholds import threshold
from jitney.numpy import promotion
from jitney.numpy.creation import full, zeros
from jitney.numpy.cumulative import cumsum
from jitney.numpy.indexing import get
from jitney.numpy.joining import concatenate
from jitney.numpy.nonzero_indices import nonzero
from jitney.numpy.reductions import (
    all as all_true,
    any as any_true,
    max as max_of,
    min as min_of,
    sum as sum_of,
)
from jitney.numpy.selection import where
from jitney.numpy.sorting import lexsort, searchsorted, sort
from jitney.numpy.unique_elements import (
    concrete_operand,
    default_index_dtype,
    raveled,
    spread,
    unique,
    unique_sorted_mask,
)
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.creation import iota
from jitney.primitives.array.shape import reshape
from jitney.primitives.elementwise import binary, compare
from jitney.primitives.elementwise.convert import as_value, convert

__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "union1d"]

_BOOL = np.dtype(bool)


# --- set operations -------------------------------------------------------------------------------


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Returns the distinct elements of both arrays in ascending order.

    Args:
      ar1: an array; flattened.
      ar2: an array; flattened.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; the smallest element by default.

    Example:
      >>> jnp.union1d(jnp.array([3, 1]), jnp.array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    promotion.check_arraylike("union1d", ar1, ar2)
    x, y = (raveled(concrete_operand(a, "union1d", size)) for a in (ar1, ar2))
    return unique(concatenate([x, y]), size=size, fill_value=fill_value)


def _picked(x: Array, mask: Array, size: int | None, fill_value: ArrayLike | None) -> Array:
    """Returns the elements of `x` where `mask` is true, padded to `size`."""
    if size is None:
        return x[mask]
    (places,) = nonzero(mask, size=size)
    return _filled(x[places], sum_of(mask), size, fill_value)


def _filled(values: Array, count: Array, size: int, fill_value: Any) -> Array:
    """Replaces the elements at positions `count` and above by `fill_value`, in the common dtype."""
    present = compare.lt(iota(count.dtype, size), spread(count, size))
    return where(present, values, fill_value)


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Returns the distinct elements of `ar1` that are not in `ar2`, in ascending order.

    Args:
      ar1: an array.
      ar2: an array.
      assume_unique: a promise that the elements of each array are distinct; the result is then in
        the order of `ar1`.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; 0 by default.

    Example:
      >>> jnp.setdiff1d(jnp.array([3, 1, 2]), jnp.array([2]))
      Array([1, 3], dtype=int32)
    """
    promotion.check_arraylike("setdiff1d", ar1, ar2)
    x, y = (raveled(concrete_operand(a, "setdiff1d", size)) for a in (ar1, ar2))
    if size is None:
        x = x if assume_unique else unique(x)
        return x[_in1d(x, y, invert=True)]
    fill = convert(as_value(0 if fill_value is None else fill_value), x.dtype, x.weak_type)
    if x.size == 0:
        return full((size,), fill, x.dtype)
    if assume_unique:
        return _picked(x, _in1d(x, y, invert=True), size, fill)
    ordered, first, _ = unique_sorted_mask(x, axis=0)
    mask = binary.bitwise_and(first, _in1d(ordered, y, invert=True))
    return _picked(ordered, mask, size, fill)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Returns the distinct elements that only one of the arrays contains, in ascending order.

    Args:
      ar1: an array; flattened.
      ar2: an array; flattened.
      assume_unique: a promise that the elements of each array are distinct.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; the smallest element of the result by
        default.

    Example:
      >>> jnp.setxor1d(jnp.array([3, 1]), jnp.array([2, 3]))
      Array([1, 2], dtype=int32)
    """
    promotion.check_arraylike("setxor1d", ar1, ar2)
    x, y = (raveled(concrete_operand(a, "setxor1d", size)) for a in (ar1, ar2))
    x, y = promotion.promote_dtypes(x, y)
    if size is None:
        if not assume_unique:
            x, y = unique(x), unique(y)
        both = sort(concatenate([x, y]))
        if both.size == 0:
            return both
        return both[_alone(both)]
    if not assume_unique:
        x, y = convert(x, x.dtype), convert(y, y.dtype)
    both, first, order = unique_sorted_mask(concatenate([x, y]), axis=0)
    if both.size == 0:
        return full((size,), 0 if fill_value is None else fill_value, both.dtype)
    # For each run of equal elements: whether exactly one of the arrays contains it.
    run = cumsum(first) - 1
    from_y = compare.ge(order, spread(as_value(np.asarray(x.size, order.dtype)), order.shape[0]))
    n = both.shape[0]
    in_y = zeros((n,), default_index_dtype()).at[run].add(convert(from_y, default_index_dtype()))
    in_x = zeros((n,), default_index_dtype()).at[run].add(convert(~from_y, default_index_dtype()))
    one_only = ((in_x > 0) ^ (in_y > 0))[run]
    mask = binary.bitwise_and(first, one_only)
    fill = _least(both, mask) if fill_value is None else fill_value
    return _picked(both, mask, size, fill)


def _least(x: Array, mask: Array) -> Array:
    """Returns the smallest element of `x` where `mask` is true; 0 if there is none."""
    return where(any_true(mask), min_of(where(mask, x, max_of(x))), np.zeros((), x.dtype))


def _alone(x: Array) -> Array:
    """Returns a mask of the elements of sorted `x` that differ from both neighbors."""
    edge = full((1,), True, _BOOL)
    differ = concatenate([edge, compare.ne(x[1:], x[:-1]), edge])
    return binary.bitwise_and(differ[1:], differ[:-1])


@partial(jit_when_traced, name="_intersect1d_size", static_argnames=("size", "return_indices"))
def _intersect_of_size(
    x: Array, y: Array, fill_value: ArrayLike | None, *, size: int, return_indices: bool
) -> Array | tuple[Array, Array, Array]:
    index_dtype = default_index_dtype()
    if x.size == 0 or y.size == 0:
        values = full((size,), 0 if fill_value is None else fill_value, x.dtype)
        nowhere = full((size,), 0, index_dtype)
        return (values, nowhere, nowhere) if return_indices else values
    both, first, order = unique_sorted_mask(concatenate([x, y]), axis=0)
    run = cumsum(first) - 1
    n = both.shape[0]
    split = as_value(np.asarray(x.size, order.dtype))
    from_y = compare.ge(order, spread(split, n))
    in_y = full((n,), n, index_dtype).at[run].min(where(from_y, order, n))
    in_x = full((n,), n, index_dtype).at[run].min(where(from_y, n, order))
    shared = binary.bitwise_and((in_x < n)[run], (in_y < n)[run])
    mask = binary.bitwise_and(first, shared)
    (places,) = nonzero(mask, size=size)
    count = sum_of(mask)
    values = both[places]
    if fill_value is None:
        fill_value = _least(both, mask)
    values = _filled(values, count, size, fill_value)
    if not return_indices:
        return values
    runs = run[places]
    return (
        values,
        _filled(in_x[runs], count, size, x.size),
        _filled(in_y[runs] - x.size, count, size, y.size),
    )


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    return_indices: Literal[True],
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]: ...


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]:
    """Returns the distinct elements that both arrays contain, in ascending order.

    Args:
      ar1: an array.
      ar2: an array.
      assume_unique: a promise that the elements of each array are distinct.
      return_indices: whether to return the indices of the first occurrences of these elements in
        each array as well.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; the smallest common element by default,
        or 0 if there is none.

    Returns: the common elements; with `return_indices`, a tuple of these, their indices in `ar1`,
      and their indices in `ar2`.

    Example:
      >>> jnp.intersect1d(jnp.array([3, 1, 2]), jnp.array([2, 3]))
      Array([2, 3], dtype=int32)
    """
    promotion.check_arraylike("intersect1d", ar1, ar2)
    x, y = (raveled(concrete_operand(a, "intersect1d", size)) for a in (ar1, ar2))
    x, y = map(as_value, promotion.promote_dtypes(x, y))
    if size is not None:
        if not assume_unique:
            x, y = convert(x, x.dtype), convert(y, y.dtype)
        return _intersect_of_size(x, y, fill_value, size=size, return_indices=return_indices)
    index_dtype = default_index_dtype()
    if assume_unique:
        first_x, first_y = iota(index_dtype, x.size), iota(index_dtype, y.size)
    else:
        x, first_x = unique(x, return_index=True)
        y, first_y = unique(y, return_index=True)
    both = concatenate([x, y])
    order = lexsort((both,))
    ordered = both[order]
    pairs = compare.eq(ordered[1:], ordered[:-1])
    values = ordered[:-1][pairs]
    if not return_indices:
        return values
    return values, first_x[order[:-1][pairs]], first_y[order[1:][pairs] - x.size]


# --- membership -----------------------------------------------------------------------------------


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Returns True where an element is in `test_elements`, or, if `invert`, where it is not.

    Args:
      element: an array.
      test_elements: an array.
      assume_unique: has no effect.
      invert: whether to negate the result.
      method: "auto", "compare_all", "binary_search" or "sort"; all give the same result.

    Returns: an array of booleans of the shape of `element`.

    Example:
      >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([3, 1]))
      Array([ True, False,  True], dtype=bool)
    """
    del assume_unique
    x, y = promotion.ensure_arraylike("isin", element, test_elements)
    is_member = _in1d(raveled(x), raveled(y), invert=bool(invert), method=method)
    return reshape(is_member, x.shape)


# The number of pairs above which elements are searched for instead of compared in pairs.
_MANY = threshold(100_000, small=16)


@partial(jit_when_traced, name="_in1d", static_argnames=("invert", "method"))
def _in1d(x: Array, y: Array, *, invert: bool, method: str = "auto") -> Array:
    if method == "auto":
        method = "compare_all" if x.size * y.size <= _MANY else "binary_search"
    if method not in ("compare_all", "binary_search", "sort"):
        raise ValueError(
            "jnp.isin: `method` must be 'auto', 'sort', 'binary_search' or 'compare_all', but it is "
            f"{method!r}"
        )
    x, y = map(as_value, promotion.promote_dtypes(x, y))
    if x.size == 0 or y.size == 0:
        return full(x.shape, invert, _BOOL)
    if method == "compare_all":
        column, row = promotion.broadcast_arrays(expand_dims(x, (1,)), expand_dims(y, (0,)))
        reduction: Callable[..., Any] = all_true if invert else any_true
        return reduction((compare.ne if invert else compare.eq)(column, row), axis=1)
    y = sort(y)
    place = searchsorted(y, x)
    near = get(y, (where(place < y.size, place, y.size - 1),))
    return (compare.ne if invert else compare.eq)(near, x)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
