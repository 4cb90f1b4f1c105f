"""Reductions over axes: sums, extremes, means, variances, truth, counts.

Common arguments:
  axis: an axis, a tuple of axes, or None for all.
  dtype: of the result, in which sums are carried; by default small integers are summed as the
    default integer, and half precision is carried in float32.
  out: must be None.
  keepdims: whether reduced axes stay, with extent 1.
  initial: a scalar to start from.
  where: truth values; elements where they are false are left out.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from jitney.api.jit import jit_when_traced
from jitney.core import dtypes
from jitney.core.array import Array
from jitney.core.trace import concrete_or_error
from jitney.core.typing import ArrayLike, Axis, DTypeLike
from jitney.numpy import promotion
from jitney.numpy.selection import where as choose
from jitney.primitives.array.shape import (
    broadcast_to,
    canonical_axes,
    expand_dims,
    reshape,
    shape_of,
)
from jitney.primitives.elementwise import binary, compare, convert, unary
from jitney.primitives.reduction import reduce

__all__ = [
    "all", "amax", "amin", "any", "average", "count_nonzero", "max", "mean",
    "min", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip

_BOOL = np.dtype(bool)
_F32 = np.dtype(np.float32)


# What sums and products are for booleans.
_TRUTH = {reduce.reduce_sum: reduce.reduce_or, reduce.reduce_prod: reduce.reduce_and}
_COMBINED_TRUTH = {reduce.reduce_sum: binary.bitwise_or, reduce.reduce_prod: binary.bitwise_and}


# --- what they share ------------------------------------------------------------------------------


def static_axis(axis: Axis | Array) -> int | tuple[int, ...] | None:
    """An `axis` argument as ints: None, one, or a tuple of them."""
    if axis is None or type(axis) is int or type(axis) is tuple:
        return axis
    known: Any = concrete_or_error(None, axis, "axis argument to a jnp reduction")
    if isinstance(known, Array | np.ndarray):
        axes = np.asarray(known)
        return operator.index(axes[()]) if axes.ndim == 0 else tuple(axes.tolist())
    try:
        return operator.index(known)
    except TypeError:
        return tuple([operator.index(k) for k in known])


def reduced_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """The axes to reduce over, counted from the front."""
    if axis is None:
        return tuple(range(rank))
    axes = canonical_axes(axis, rank)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return tuple(sorted(axes))


def carrier(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which sums of `dtype` are carried."""
    return _F32 if dtype.itemsize == 2 and promotion.is_floating(dtype) else dtype


def sum_dtype(dtype: np.dtype[Any], promote: bool = True) -> np.dtype[Any]:
    """dtype of the sum of values of `dtype`."""
    if not (dtype == _BOOL or (promote and promotion.is_integer(dtype))):
        return dtype
    unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
    default = dtypes.canonicalize_dtype(np.uint64 if unsigned else np.int64)
    return default if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(default) else dtype


def keep(result: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """`result` with the reduced axes put back if `keepdims`."""
    return expand_dims(result, axes) if keepdims and axes else result


def truth_mask(name: str, where: ArrayLike) -> ArrayLike:
    """`where`, which must be boolean."""
    check_mask(name, where)
    return where


def check_mask(name: str, where: ArrayLike | None) -> None:
    """Raises unless `where` is a boolean array, or not given."""
    if where is None:
        return
    promotion.check_arraylike(name, where)
    dtype = promotion.dtype_of(where)
    if dtype != _BOOL:
        raise ValueError(
            f"jnp.{name}: where must be None or a boolean array; got where.dtype={dtype!r}."
        )


def _reduction(
    name: str,
    a: ArrayLike,
    op: Callable[..., Any],
    neutral: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
    axis: Axis,
    out: None,
    keepdims: bool,
    initial: ArrayLike | None,
    where: ArrayLike | None,
    *,
    sums: bool = False,
    dtype: DTypeLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """A reduction by the lax function `op`.

    Args:
      neutral: dtype -> the value that does not change a result.
      combine: how `initial` goes with the result.
      sums: whether values are promoted before and carried in a wider dtype; reductions that are no
        sums have no result over nothing.
      others: see the module.
    """
    promotion.check_no_out(name, out)
    if isinstance(a, Array):
        x: Any = a
    else:
        promotion.check_arraylike(name, a)
        x = convert.as_value(a)
    shape = x.shape
    axes = reduced_axes(static_axis(axis), len(shape))
    old = x.dtype
    result, carried = old, old
    if sums:
        if dtype is not None:
            result = convert.user_dtype(dtype, name)
            carried = result
        else:
            result = sum_dtype(old, promote_integers)
            carried = carrier(result)
        if result == _BOOL:  # whether there is a nonzero one; whether all are
            x, op, combine = convert.convert(x, _BOOL), _TRUTH[op], _COMBINED_TRUTH[op]
        elif old == _BOOL:
            x = convert.convert(x, dtypes.canonicalize_dtype(np.int64))
    elif initial is None:
        if where is not None:
            raise ValueError(
                f"reduction operation {name} does not have an identity, so to use a where mask one "
                "has to specify 'initial'"
            )
        if 0 in [shape[k] for k in axes]:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    x = convert.convert(x, carried)
    if where is not None:
        fill = convert.scalar_operand(neutral(carried), carried, False)
        x = choose(truth_mask(name, where), x, fill)
    value = op(x, axes)
    if initial is not None:
        if shape_of(initial):
            raise ValueError(
                f"initial value must be a scalar. Got array of shape {shape_of(initial)}"
            )
        value = combine(promotion.as_type(initial, carried, False), value)
    if carried != result:
        value = convert.convert(value, result)
    return keep(value, axes, keepdims)


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
    """Sum over axes; integers wrap.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      dtype: of the result; by default that of `a`, or the default integer for smaller ones and bool.
      out: must be None.
      keepdims: whether reduced axes stay, with extent 1.
      initial: a scalar to start from.
      where: truth values, broadcast to `a`; elements where they are false are left out.
      promote_integers: whether small integers are summed as the default integer.

    Returns: an array without the reduced axes. Sums of no elements are `initial`, or 0.

    Example:
      >>> jnp.sum(jnp.array([[1, 2], [3, 4]]))
      Array(10, dtype=int32)
      >>> jnp.sum(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([4, 6], dtype=int32)
    """
    return _reduction(
        "sum", a, reduce.reduce_sum, lambda _: 0, binary.add, axis, out, keepdims, initial, where,
        sums=True, dtype=dtype, promote_integers=promote_integers,
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
    """Product over axes; integers wrap.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      dtype: of the result; by default that of `a`, or the default integer for smaller ones and bool.
      out: must be None.
      keepdims: whether reduced axes stay, with extent 1.
      initial: a scalar to start from.
      where: truth values, broadcast to `a`; elements where they are false are left out.
      promote_integers: whether small integers are multiplied as the default integer.

    Returns: an array without the reduced axes. Products of no elements are `initial`, or 1.

    Example:
      >>> jnp.prod(jnp.array([[1, 2], [3, 4]]), axis=1)
      Array([ 2, 12], dtype=int32)
    """
    return _reduction(
        "prod", a, reduce.reduce_prod, lambda _: 1, binary.mul, axis, out, keepdims, initial, where,
        sums=True, dtype=dtype, promote_integers=promote_integers,
    )  # fmt: skip


def least(dtype: np.dtype[Any]) -> float:
    """The least value of a dtype."""
    if dtype == _BOOL:
        return False
    return int(dtypes.iinfo(dtype).min) if promotion.is_integer(dtype) else -np.inf


def greatest(dtype: np.dtype[Any]) -> float:
    """The greatest value of a dtype."""
    if dtype == _BOOL:
        return True
    return int(dtypes.iinfo(dtype).max) if promotion.is_integer(dtype) else np.inf


def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The largest element over axes; NaN if there is one.

    Args:
      a: an array; complex numbers are compared by real part, then imaginary part.
      axis: an axis, a tuple of axes, or None for all.
      out: must be None.
      keepdims: whether reduced axes stay, with extent 1.
      initial: a scalar to start from.
      where: truth values, broadcast to `a`; elements where they are false are left out. Needs
        `initial`.

    Returns: an array of the dtype of `a`, without the reduced axes.

    Raises:
      ValueError: if there are no elements, or `where` is given, and no `initial`.

    Example:
      >>> jnp.max(jnp.array([[1, 4], [3, 2]]), axis=0)
      Array([3, 4], dtype=int32)
    """
    return _reduction(
        "max", a, reduce.reduce_max, least, binary.max, axis, out, keepdims, initial, where
    )


def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """The smallest element over axes; NaN if there is one.

    Args:
      a: an array; complex numbers are compared by real part, then imaginary part.
      axis: an axis, a tuple of axes, or None for all.
      out: must be None.
      keepdims: whether reduced axes stay, with extent 1.
      initial: a scalar to start from.
      where: truth values, broadcast to `a`; elements where they are false are left out. Needs
        `initial`.

    Returns: an array of the dtype of `a`, without the reduced axes.

    Raises:
      ValueError: if there are no elements, or `where` is given, and no `initial`.

    Example:
      >>> jnp.min(jnp.array([[1, 4], [3, 2]]), axis=0)
      Array([1, 2], dtype=int32)
    """
    return _reduction(
        "min", a, reduce.reduce_min, greatest, binary.min, axis, out, keepdims, initial, where
    )


def amax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Another name of `max`.

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
    """Another name of `min`.

    Example:
      >>> jnp.amin(jnp.array([1, 3, 2]))
      Array(1, dtype=int32)
    """
    return min(a, axis, out, keepdims, initial, where)


def _truth(
    name: str,
    a: ArrayLike,
    op: Callable[..., Any],
    neutral: bool,
    axis: Axis,
    out: None,
    keepdims: bool,
    where: ArrayLike | None,
) -> Array:
    promotion.check_no_out(name, out)
    x = promotion.ensure_arraylike(name, a)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        x = unary.real(x)  # as in JAX, the imaginary part does not count
    x = convert.convert(x, _BOOL)
    axes = reduced_axes(static_axis(axis), x.ndim)
    if where is not None:
        x = choose(truth_mask(name, where), x, np.bool_(neutral))
    return keep(op(x, axes), axes, keepdims)


def all(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether all elements over axes are true (not zero).

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      out: must be None.
      keepdims: whether reduced axes stay, with extent 1.
      where: truth values, broadcast to `a`; elements where they are false are left out.

    Returns: an array of booleans without the reduced axes; True where there are no elements.

    Example:
      >>> jnp.all(jnp.array([[True, False], [True, True]]), axis=1)
      Array([False,  True], dtype=bool)
    """
    return _truth("all", a, reduce.reduce_and, True, axis, out, keepdims, where)


def any(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether one element over axes is true (not zero).

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      out: must be None.
      keepdims: whether reduced axes stay, with extent 1.
      where: truth values, broadcast to `a`; elements where they are false are left out.

    Returns: an array of booleans without the reduced axes; False where there are no elements.

    Example:
      >>> jnp.any(jnp.array([[True, False], [False, False]]), axis=1)
      Array([ True, False], dtype=bool)
    """
    return _truth("any", a, reduce.reduce_or, False, axis, out, keepdims, where)


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """The difference of the largest and the smallest element over axes.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      out: must be None.
      keepdims: whether reduced axes stay, with extent 1.

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
    """The number of elements over axes that are not zero.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      keepdims: whether reduced axes stay, with extent 1.

    Returns: an array of the default integer.

    Example:
      >>> jnp.count_nonzero(jnp.array([[1, 0], [2, 3]]), axis=0)
      Array([2, 1], dtype=int32)
    """
    x = promotion.ensure_arraylike("count_nonzero", a)
    nonzero = compare.ne(x, convert.scalar_operand(0, x.dtype, x.weak_type))
    return sum(nonzero, axis, dtype=dtypes.canonicalize_dtype(np.int64), keepdims=keepdims)


# --- means ----------------------------------------------------------------------------------------


def _size(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([shape[k] for k in axes])


def _size_operand(shape: tuple[int, ...], axes: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return convert.scalar_operand(_size(shape, axes), dtype, False)


def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """The arithmetic mean over axes; NaN where there are no elements.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      dtype: of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      keepdims: whether reduced axes stay, with extent 1.
      where: truth values, broadcast to `a`; elements where they are false are left out.

    Example:
      >>> jnp.mean(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([2., 3.], dtype=float32)
    """
    promotion.check_no_out("mean", out)
    x = promotion.ensure_arraylike("mean", a)
    if dtype is None:
        result = promotion.to_inexact(x.dtype)
        carried = carrier(result)
    else:
        carried = result = convert.user_dtype(dtype, "mean")
    axis = static_axis(axis)
    axes = reduced_axes(axis, x.ndim)
    if where is None:
        count = _size_operand(x.shape, axes, carried)
    else:
        count = sum(
            broadcast_to(truth_mask("mean", where), x.shape), axes, carried, keepdims=keepdims
        )
    total = sum(x, axes, carried, keepdims=keepdims, where=where)
    quotient = binary.div(total, count)
    return quotient if carried == result else convert.convert(quotient, result)


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> Array: ...


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]: ...


def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]:
    """The mean over axes, weighted.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      weights: of the shape of `a`, or of its extents along `axis`; all 1 by default.
      returned: whether the sum of weights is returned too.
      keepdims: whether reduced axes stay, with extent 1.

    Returns: an array of inexact dtype; with `returned`, the pair of it and the sum of weights.

    Raises:
      ValueError: if the shape of the weights does not fit.

    Example:
      >>> jnp.average(jnp.array([1.0, 3.0]), weights=jnp.array([3.0, 1.0]))
      Array(1.5, dtype=float32)
    """
    axis = static_axis(axis)
    if weights is None:
        x = promotion.ensure_arraylike("average", a)
        value = mean(x, axis, keepdims=keepdims)
        if not returned:
            return value
        n = convert.scalar_operand(_size(x.shape, reduced_axes(axis, x.ndim)), value.dtype, False)
        return value, broadcast_to(n, value.shape)
    promotion.check_arraylike("average", a, weights)
    x, w = map(convert.as_value, promotion.promote_dtypes_inexact(a, weights))
    if x.shape != w.shape:
        if axis is None:
            raise ValueError("Axis must be specified when shapes of a and weights differ.")
        axes = canonical_axes(axis, x.ndim)
        if w.shape != tuple([x.shape[k] for k in axes]):
            raise ValueError(
                "Shape of weights must be consistent with shape of a along specified axis."
            )
        if list(axes) != sorted(axes):
            from jitney.primitives.array.shape import transpose

            w = transpose(w, np.argsort(axes).tolist())
        w = reshape(w, tuple([n if k in axes else 1 for k, n in enumerate(x.shape)]))
    total = sum(w, axis, keepdims=keepdims)
    value = binary.div(*_of_one_shape(sum(_times(x, w), axis, keepdims=keepdims), total))
    return (value, broadcast_to(total, value.shape)) if returned else value


def _times(x: Array, w: Array) -> Array:
    return binary.mul(x, w)


def _of_one_shape(x: Array, y: Array) -> tuple[Array, Array]:
    return (
        (x, y) if x.ndim == y.ndim or not y.ndim else tuple(promotion.align_ranks("divide", x, y))
    )


# --- variances ------------------------------------------------------------------------------------


def _degrees(ddof: ArrayLike, correction: ArrayLike | None) -> ArrayLike:
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: ArrayLike = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: ArrayLike | None = None,
) -> Array:
    """The variance over axes: squared distances from the mean, summed and divided by n - ddof.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      dtype: of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      ddof: subtracted from the number n of elements in the divisor.
      keepdims: whether reduced axes stay, with extent 1.
      where: truth values, broadcast to `a`; elements where they are false are left out.
      mean: the mean, with reduced axes kept, if it is known.
      correction: another name of `ddof`.

    Returns: an array of real dtype, of complex numbers too; NaN where n is at most `ddof`.

    Raises:
      ValueError: if `ddof` and `correction` are given both.

    Example:
      >>> jnp.var(jnp.array([1.0, 2.0, 3.0, 6.0]))
      Array(3.5, dtype=float32)
    """
    promotion.check_no_out("var", out)
    promotion.check_arraylike("var", a)
    ddof = _degrees(ddof, correction)
    check_mask("var", where)
    return _var(
        a, mean, ddof, where, axis=static_axis(axis), dtype=_checked(dtype, "var"),
        keepdims=keepdims,
    )  # fmt: skip


def _checked(dtype: DTypeLike | None, name: str) -> np.dtype[Any] | None:
    return None if dtype is None else convert.user_dtype(dtype, name)


def var_dtypes(old: np.dtype[Any], dtype: DTypeLike | None) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """(dtype of the computation, of the result) of a variance."""
    if dtype is None:
        inexact = promotion.to_inexact(old)
        result = np.dtype(np.finfo(inexact).dtype) if promotion.is_complex(inexact) else inexact
        return carrier(inexact), result
    if promotion.is_complex(old) and not promotion.is_complex(dtype):
        raise ValueError(
            "jax.numpy.var does not yet support real dtype parameters when computing the variance "
            "of an array of complex values."
        )
    inexact = promotion.to_inexact(dtype)
    computed = dtypes.wider(promotion.to_inexact(old), inexact)
    return carrier(computed), inexact


@partial(jit_when_traced, name="_var", static_argnames=("axis", "dtype", "keepdims"))
def _var(
    a: ArrayLike,
    given_mean: ArrayLike | None,
    ddof: ArrayLike,
    where: ArrayLike | None,
    *,
    axis: Axis,
    dtype: np.dtype[Any] | None,
    keepdims: bool,
) -> Array:
    x = convert.as_value(a)
    carried, result = var_dtypes(x.dtype, dtype)
    x = convert.convert(x, carried)
    axes = reduced_axes(axis, x.ndim)
    if given_mean is None:
        center = mean(x, axes, carried, keepdims=True, where=where)
    else:
        center = promotion.as_type(given_mean, carried, False)
        center = promotion.promote_shapes("subtract", x, center)[1]
    apart = binary.sub(x, center)
    if promotion.is_complex(carried):
        squared = unary.real(binary.mul(apart, unary.conj(apart)))
    else:
        squared = unary.square(apart)
    real = squared.dtype
    if where is None:
        count = _size_operand(x.shape, axes, real)
    else:
        count = sum(broadcast_to(truth_mask("var", where), x.shape), axes, real, keepdims=keepdims)
    free = binary.sub(count, promotion.as_type(ddof, real, False))
    out = binary.div(sum(squared, axes, real, keepdims=keepdims, where=where), free)
    out = convert.convert(out, result)
    positive = compare.gt(free, convert.scalar_operand(0, real, False))
    return choose(positive, out, np.nan)


def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: ArrayLike = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: ArrayLike | None = None,
) -> Array:
    """The standard deviation over axes: the square root of `var`.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all.
      dtype: of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      ddof: subtracted from the number of elements in the divisor.
      keepdims: whether reduced axes stay, with extent 1.
      where: truth values, broadcast to `a`; elements where they are false are left out.
      mean: the mean, with reduced axes kept, if it is known.
      correction: another name of `ddof`.

    Returns: an array of real dtype.

    Raises:
      ValueError: if `ddof` and `correction` are given both, or `dtype` is not inexact.

    Example:
      >>> jnp.std(jnp.array([1.0, 3.0]))
      Array(1., dtype=float32)
    """
    promotion.check_no_out("std", out)
    promotion.check_arraylike("std", a)
    ddof = _degrees(ddof, correction)
    check_mask("std", where)
    dtype = _checked(dtype, "std")
    if dtype is not None and not promotion.is_inexact(dtype):
        raise ValueError(
            f"dtype argument to jnp.std must be inexact; got {dtypes.long_name(dtype)}"
        )
    return _std(a, ddof, mean, where, axis=static_axis(axis), dtype=dtype, keepdims=keepdims)


@partial(jit_when_traced, name="_std", static_argnames=("axis", "dtype", "keepdims"))
def _std(
    a: ArrayLike,
    ddof: ArrayLike,
    mean: ArrayLike | None,
    where: ArrayLike | None,
    *,
    axis: Axis,
    dtype: np.dtype[Any] | None,
    keepdims: bool,
) -> Array:
    return unary.sqrt(_var(a, mean, ddof, where, axis=axis, dtype=dtype, keepdims=keepdims))


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
