"""`unique` and variants: distinct elements in order, their first positions, inverse and counts."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.creation import full, zeros
from jitney.numpy.cumulative import cumsum
from jitney.numpy.indexing import get
from jitney.numpy.joining import concatenate
from jitney.numpy.nonzero_indices import nonzero
from jitney.numpy.reductions import (
    any as any_true,
    sum as sum_of,
)
from jitney.numpy.selection import where
from jitney.numpy.sorting import lexsort
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.creation import iota
from jitney.primitives.array.shape import reshape, transpose
from jitney.primitives.elementwise import binary, compare
from jitney.primitives.elementwise.convert import as_value, convert

__all__ = ["unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"]

_BOOL = np.dtype(bool)


def default_index_dtype() -> np.dtype:
    """Returns the default dtype of positions."""
    return dtypes.canonicalize_dtype(np.int64)


def raveled(x: Array) -> Array:
    """Flattens `x` into one axis."""
    return reshape(x, (x.size,))


@partial(jit_when_traced, name="_unique_sorted_mask", static_argnames=("axis", "equal_nan"))
def unique_sorted_mask(
    x: Array, *, axis: int, equal_nan: bool = True
) -> tuple[Array, Array, Array]:
    """Sorts the slices of `x` along `axis` in lexicographic order.

    Returns: (sorted array, mask that is True at the first of each run of equal slices, indices that
      sort the slices of `x`).
    """
    from jitney.numpy.manipulation import moveaxis

    moved = moveaxis(x, axis, 0)
    if moved.dtype.kind == "c":  # NaN in either part becomes one NaN, which sorts last
        nan = full(moved.shape, complex(np.nan, 0), moved.dtype)
        moved = where(compare.ne(moved, moved), nan, moved)
    n, *row_shape = moved.shape
    rows = reshape(moved, (n, int(np.prod(row_shape, dtype=np.int64))))
    columns = transpose(rows, (1, 0))
    order = (
        lexsort(columns[::-1])
        if len(columns)
        else iota(dtypes.canonicalize_dtype(np.dtype(np.int64)), n)
    )
    ordered = moved[order]
    later, earlier = ordered[1:], ordered[:-1]
    differ = compare.ne(later, earlier)
    if equal_nan and promotion.is_inexact(x.dtype):
        both = binary.bitwise_and(compare.ne(later, later), compare.ne(earlier, earlier))
        differ = binary.bitwise_and(differ, ~both)
    differ = any_true(differ, axis=tuple(range(1, ordered.ndim)))
    mask = concatenate([full((min(n, 1),), True, _BOOL), differ])
    return moveaxis(ordered, 0, axis), mask, order


def _unique(
    x: Array,
    axis: int,
    size: int | None,
    fill_value: ArrayLike | None,
    flags: tuple[bool, bool, bool],
    equal_nan: bool = True,
) -> tuple[Array, ...]:
    """Returns the distinct values, then those of index, inverse and counts that are requested."""
    n = x.shape[axis]
    with_index, with_inverse, with_counts = flags
    index_dtype = default_index_dtype()
    if size and n == 0:
        if fill_value is None:
            raise ValueError(
                "jnp.unique: `fill_value` must be passed, as the result has `size` "
                f"{size}, but `ar` has no elements and shape {x.shape}"
            )
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        out: tuple[Any, ...] = (full(shape, fill_value, x.dtype),)
        out += (full((size,), 0, index_dtype),) if with_index else ()
        out += (zeros((0,), index_dtype),) if with_inverse else ()
        return out + ((full((size,), 0, index_dtype),) if with_counts else ())
    ordered, mask, order = unique_sorted_mask(x, axis=axis, equal_nan=equal_nan)
    (places,) = nonzero(mask, size=size)
    lead = (slice(None),) * axis
    values = get(ordered, (*lead, places))
    if size is not None and fill_value is not None:
        present = compare.lt(iota(index_dtype, size), spread(sum_of(mask), size))
        column = expand_dims(present, tuple(range(1, values.ndim - axis)))
        values = where(column, values, convert(fill_value, values.dtype))
    out = (values,)
    if with_index:
        out += (order[places],)
    if with_inverse:
        positions = cumsum(mask) - 1
        out += (full((n,), 0, index_dtype).at[order].set(positions),)
    if with_counts:
        out += (_counts(mask, n, size),)
    return out


def spread(x: Array, size: int) -> Array:
    from jitney.primitives.array.broadcasting import broadcast_to

    return broadcast_to(x, (size,))


def _counts(mask: Array, n: int, size: int | None) -> Array:
    """Returns the distances between the true positions of `mask`; the last one ends at `n`."""
    if n == 0:
        return zeros((0,), default_index_dtype())
    if size is None:
        (places,) = nonzero(mask)
        bounds = concatenate([places, full((1,), n, places.dtype)])
    else:
        (places,) = nonzero(mask, size=size + 1)
        ends = places[1:]
        bounds = concatenate([places[:1], where(ends != 0, ends, n)])
    return bounds[1:] - bounds[:-1]


def concrete_operand(x: ArrayLike, name: str, size: int | None) -> Array:
    """Returns `x` as an array; raises an error if it is traced and no size is passed."""
    if size is not None:
        return as_value(x)
    about = (
        f"The size of the result of {name}() depends on the values of its argument; pass it as `size` "
        f"to use {name}() in traced functions."
    )
    return as_value(concrete_or_error(None, x, about))


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]: ...


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]:
    """Returns the distinct elements of an array in ascending order.

    Args:
      ar: an array.
      return_index: whether to return the index of the first occurrence of each distinct element.
      return_inverse: whether to return the indices that reconstruct `ar` from the distinct
        elements.
      return_counts: whether to return how many times each distinct element occurs.
      axis: the axis whose slices are compared; if None, elements are compared.
      equal_nan: whether NaNs count as equal.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; the smallest element by default.
      sorted: has no effect; the result is always sorted.

    Returns: the distinct elements, or a tuple of these and the requested indices, inverse and
      counts.

    Example:
      >>> words = jnp.array([7, 2, 7, 7, 5])
      >>> jnp.unique(words)
      Array([2, 5, 7], dtype=int32)
      >>> values, inverse = jnp.unique(words, return_inverse=True)
      >>> values[inverse]
      Array([7, 2, 7, 7, 5], dtype=int32)
      >>> jax.jit(lambda x: jnp.unique(x, size=4, fill_value=-1))(words)
      Array([ 2,  5,  7, -1], dtype=int32)
    """
    promotion.check_arraylike("unique", ar)
    x = concrete_operand(ar, "jnp.unique", size)
    shape = x.shape
    if axis is None:
        x, dim = raveled(x), 0
    else:
        dim = canonical_axis(axis, x.ndim)
    flags = (return_index, return_inverse, return_counts)
    out = list(_unique(x, dim, size, fill_value, flags, equal_nan))
    if return_inverse and axis is None:
        place = 1 + return_index
        out[place] = reshape(out[place], shape)
    return tuple(out) if any(flags) else out[0]


class _UniqueAllResult(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class _UniqueCountsResult(NamedTuple):
    values: Array
    counts: Array


class _UniqueInverseResult(NamedTuple):
    values: Array
    inverse_indices: Array


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueAllResult:
    """Returns the distinct elements in ascending order, with indices, inverse and counts.

    Args:
      x: an array; flattened. NaNs count as distinct.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; the smallest element by default.

    Returns: a named tuple: the distinct `values`; the `indices` of their first occurrences; the
      `inverse_indices` that reconstruct `x` from `values`; the `counts` of their occurrences.

    Example:
      >>> jnp.unique_all(jnp.array([3, 1, 3])).indices
      Array([1, 0], dtype=int32)
    """
    promotion.check_arraylike("unique_all", x)
    return _UniqueAllResult(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueCountsResult:
    """Returns the distinct elements in ascending order, and their counts.

    Args:
      x: an array; flattened. NaNs count as distinct.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; the smallest element by default.

    Returns: a named tuple of `values` and `counts`.

    Example:
      >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    promotion.check_arraylike("unique_counts", x)
    return _UniqueCountsResult(
        *unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> _UniqueInverseResult:
    """Returns the distinct elements in ascending order, and the index of each element in them.

    Args:
      x: an array; flattened. NaNs count as distinct.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; the smallest element by default.

    Returns: a named tuple of `values` and `inverse_indices`; the latter have the shape of `x`.

    Example:
      >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
      Array([1, 0, 1], dtype=int32)
    """
    promotion.check_arraylike("unique_inverse", x)
    return _UniqueInverseResult(
        *unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Returns the distinct elements of an array in ascending order.

    Args:
      x: an array; flattened. NaNs count as distinct.
      size: the number of elements to return, for use under `jit`.
      fill_value: the value that pads the result to `size`; the smallest element by default.

    Example:
      >>> jnp.unique_values(jnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    promotion.check_arraylike("unique_values", x)
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
