"""Reductions over axes: sums, extremes, truth, counts; `numpy.averages` has means and variances.

Common arguments:
  axis: an axis, a tuple of axes, or None for all axes.
  dtype: the dtype of the result, in which sums are accumulated; by default small integers are
    summed as the default integer, and half precision is accumulated in float32.
  out: must be None.
  keepdims: whether reduced axes are kept, with size 1.
  initial: the scalar from which the reduction starts.
  where: a boolean mask; elements where it is False are left out.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike, Axis, DTypeLike
from jitney.numpy import promotion
from jitney.numpy.reduction_table import (
    ALL,
    ANY,
    MAX,
    MIN,
    PROD,
    SUM,
    reduced,
    reduced_truth,
    static_axis,
)
from jitney.primitives.elementwise import binary, compare, convert

__all__ = [
    "all", "amax", "amin", "any", "count_nonzero", "max", "min", "minmax", "prod", "ptp", "sum",
]  # fmt: skip

# --- sums and extremes ----------------------------------------------------------------------------


def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Computes the sum over axes; integers wrap around on overflow.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default integer for narrower
        integers and booleans.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which the reduction starts.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.
      promote_integers: whether narrower integers are summed as the default integer.

    Returns: an array without the reduced axes. The sum of no elements is `initial`, or 0.

    Example:
      >>> jnp.sum(jnp.array([[1, 2], [3, 4]]))
      Array(10, dtype=int32)
      >>> jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([4, 6], dtype=int32)
    """
    return reduced(
        SUM, a, axis, out, keepdims, initial, where, dtype=dtype,
        promote_integers=promote_integers,
    )  # fmt: skip


def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Computes the product over axes; integers wrap around on overflow.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default integer for narrower
        integers and booleans.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which the reduction starts.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.
      promote_integers: whether narrower integers are multiplied as the default integer.

    Returns: an array without the reduced axes. The product of no elements is `initial`, or 1.

    Example:
      >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=1)
      Array([ 2, 12], dtype=int32)
    """
    return reduced(
        PROD, a, axis, out, keepdims, initial, where, dtype=dtype,
        promote_integers=promote_integers,
    )  # fmt: skip


def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the largest element over axes; NaN if any element is NaN.

    Args:
      a: an array; complex numbers are compared by their real parts, then by their imaginary parts.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which the reduction starts.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out. Requires
        `initial`.

    Returns: an array of the dtype of `a`, without the reduced axes.

    Raises:
      ValueError: if `initial` is not passed, and there are no elements or `where` is passed.

    Example:
      >>> jnp.max(jnp.array([[1, 4], [3, 2]]), axis=0)
      Array([3, 4], dtype=int32)
    """
    return reduced(MAX, a, axis, out, keepdims, initial, where)


def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the smallest element over axes; NaN if any element is NaN.

    Args:
      a: an array; complex numbers are compared by their real parts, then by their imaginary parts.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which the reduction starts.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out. Requires
        `initial`.

    Returns: an array of the dtype of `a`, without the reduced axes.

    Raises:
      ValueError: if `initial` is not passed, and there are no elements or `where` is passed.

    Example:
      >>> jnp.min(jnp.array([[1, 4], [3, 2]]), axis=0)
      Array([1, 2], dtype=int32)
    """
    return reduced(MIN, a, axis, out, keepdims, initial, where)


def minmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | tuple[ArrayLike | None, ArrayLike | None] | None = None,
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Computes the smallest and the largest element over axes; NaN if any element is NaN.

    Args:
      a: an array; complex numbers are compared by their real parts, then by their imaginary parts.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which both reductions start, or a pair of scalars, one for each.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out. Requires
        `initial`.

    Returns: a pair (smallest, largest) of arrays of the dtype of `a`, without the reduced axes.
      Under `jit`, both are computed in one pass over `a`.

    Raises:
      ValueError: if `initial` is not passed, and there are no elements or `where` is passed; or if
        `initial` is a tuple whose length is not 2.

    Example:
      >>> smallest, largest = jnp.minmax(jnp.array([[1, 4], [3, 2]]), axis=0)
      >>> smallest.tolist(), largest.tolist()
      ([1, 2], [3, 4])
    """
    low: ArrayLike | None
    high: ArrayLike | None
    if isinstance(initial, tuple):
        if len(initial) != 2:
            raise ValueError(
                "jnp.minmax: `initial` must be one scalar, or two, for the smallest and for the "
                f"largest element, but it is a tuple of {len(initial)}"
            )
        low, high = initial
    else:
        low = high = initial
    smallest = reduced(MIN, a, axis, out, keepdims, low, where, name="minmax")
    return smallest, reduced(MAX, a, axis, out, keepdims, high, where, name="minmax")


def amax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the largest element over axes; an alias of `max`.

    Example:
      >>> jnp.amax(jnp.array([1, 3, 2]))
      Array(3, dtype=int32)
    """
    return max(a, axis, out, keepdims, initial, where)


def amin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the smallest element over axes; an alias of `min`.

    Example:
      >>> jnp.amin(jnp.array([1, 3, 2]))
      Array(1, dtype=int32)
    """
    return min(a, axis, out, keepdims, initial, where)


def all(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Tests whether all elements along the given axes are true.

    Elements are true if they are nonzero; of complex numbers, only the real part counts.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.

    Returns: an array of booleans without the reduced axes; True where there are no elements.

    Example:
      >>> jnp.all(jnp.array([[True, False], [True, True]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    return reduced_truth(ALL, a, axis, out, keepdims, where)


def any(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Tests whether any element along the given axes is true.

    Elements are true if they are nonzero; of complex numbers, only the real part counts.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.

    Returns: an array of booleans without the reduced axes; False where there are no elements.

    Example:
      >>> jnp.any(jnp.array([[True, False], [False, False]]), axis=1)
      Array([ True, False], dtype=bool)
    """
    return reduced_truth(ANY, a, axis, out, keepdims, where)


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """Computes the difference between the largest and the smallest element over axes.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.

    Example:
      >>> jnp.ptp(jnp.array([3, 1, 7]))
      Array(6, dtype=int32)
    """
    promotion.check_no_out("ptp", out)
    promotion.check_arraylike("ptp", a)
    return _ptp(a, axis=static_axis(axis), keepdims=keepdims)


@partial(jit_when_traced, name="_ptp", static_argnames=("axis", "keepdims"))
def _ptp(a: ArrayLike, *, axis: Axis, keepdims: bool) -> Array:
    return binary.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


@partial(jit_when_traced, static_argnames=("axis", "keepdims"))
def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Counts the nonzero elements over axes.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      keepdims: whether reduced axes are kept, with size 1.

    Returns: an array of the default integer dtype.

    Example:
      >>> jnp.count_nonzero(jnp.array([[1, 0], [2, 3]]), axis=0)
      Array([2, 1], dtype=int32)
    """
    x = promotion.ensure_arraylike("count_nonzero", a)
    nonzero = compare.ne(x, convert.scalar_operand(0, x.dtype, x.weak_type))
    return sum(nonzero, axis, dtype=dtypes.canonicalize_dtype(np.int64), keepdims=keepdims)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
