"""Reductions that ignore NaN: `nansum`, `nanmean`, `nanmax` and the like.

Their arguments are those of the reductions without `nan` in their names.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.typing import ArrayLike, Axis, DTypeLike
from jitney.numpy import averages, promotion, reductions
from jitney.numpy.arithmetic import true_divide
from jitney.numpy.float_classes import isnan
from jitney.numpy.reduction_table import MAX, MIN, PROD, SUM, Reduction, check_mask, reduced
from jitney.numpy.selection import where as choose
from jitney.primitives.elementwise import binary, compare, convert, unary

__all__ = ["nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"]


def _filled(x: Array, value: float) -> Array:
    """Returns `x` with NaN replaced by `value`."""
    return choose(isnan(x), convert.scalar_operand(value, x.dtype, False), x)


def _without_nan(
    row: Reduction,
    a: ArrayLike,
    axis: Axis,
    out: None,
    keepdims: bool,
    initial: ArrayLike | None,
    where: ArrayLike | None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Computes the reduction `row` with NaN replaced by its identity element.

    The maximum or minimum is NaN if all elements are NaN and `initial` is None.
    """
    name = f"nan{row.name}"
    promotion.check_no_out(name, out)
    x = promotion.ensure_arraylike(name, a)
    check_mask(name, where)
    filled = _filled(x, row.neutral(x.dtype)) if promotion.is_inexact(x.dtype) else x
    value = reduced(row, filled, axis, None, keepdims, initial, where, dtype=dtype, name=name)
    if row.of_booleans is not None or initial is not None or filled is x:
        return value
    none = reductions.all(isnan(x), axis, keepdims=keepdims)
    return choose(none, convert.scalar_operand(np.nan, value.dtype, False), value)


@partial(jit_when_traced, static_argnames=("axis", "keepdims"))
def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the largest element over axes, ignoring NaN.

    Args:
      a: a real array.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which the reduction starts.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out. Requires
        `initial`.

    Returns: an array without the reduced axes. It is NaN where all elements are NaN, unless
      `initial` is passed.

    Raises:
      ValueError: if `where` is passed without `initial`.

    Example:
      >>> jnp.nanmax(jnp.array([1.0, jnp.nan, 3.0]))
      Array(3., dtype=float32)
    """
    return _without_nan(MAX, a, axis, out, keepdims, initial, where)


@partial(jit_when_traced, static_argnames=("axis", "keepdims"))
def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the smallest element over axes, ignoring NaN.

    Args:
      a: a real array.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which the reduction starts.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out. Requires
        `initial`.

    Returns: an array without the reduced axes. It is NaN where all elements are NaN, unless
      `initial` is passed.

    Raises:
      ValueError: if `where` is passed without `initial`.

    Example:
      >>> jnp.nanmin(jnp.array([1.0, jnp.nan, 3.0]))
      Array(1., dtype=float32)
    """
    return _without_nan(MIN, a, axis, out, keepdims, initial, where)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims"))
def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the sum over axes, ignoring NaN.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default integer for narrower
        integers and booleans.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which the reduction starts.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.

    Example:
      >>> jnp.nansum(jnp.array([[1.0, jnp.nan], [2.0, 3.0]]), axis=0)
      Array([3., 3.], dtype=float32)
    """
    return _without_nan(SUM, a, axis, out, keepdims, initial, where, dtype)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims"))
def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the product over axes, ignoring NaN.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default integer for narrower
        integers and booleans.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      initial: the scalar from which the reduction starts.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.

    Example:
      >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
      Array(6., dtype=float32)
    """
    return _without_nan(PROD, a, axis, out, keepdims, initial, where, dtype)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims"))
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Computes the mean over axes, ignoring NaN; NaN if all elements are NaN.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.

    Example:
      >>> jnp.nanmean(jnp.array([1.0, jnp.nan, 3.0]))
      Array(2., dtype=float32)
    """
    promotion.check_no_out("nanmean", out)
    x = promotion.ensure_arraylike("nanmean", a)
    check_mask("nanmean", where)
    if not promotion.is_inexact(x.dtype):
        return averages.mean(x, axis, dtype, None, keepdims, where=where)
    dtype = x.dtype if dtype is None else dtype
    defined = unary.bitwise_not(isnan(x))
    count = reductions.sum(defined, axis, dtype, keepdims=keepdims, where=where)
    total = nansum(x, axis, dtype=dtype, keepdims=keepdims, where=where)
    return true_divide(total, count)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims"))
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: ArrayLike = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Computes the variance over axes, ignoring NaN.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      ddof: the number subtracted from the number of elements in the divisor.
      keepdims: whether reduced axes are kept, with size 1.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.
      mean: the mean, if it is already known, with the reduced axes kept; computed by default.

    Returns: an array of real dtype, unless `dtype` is complex; NaN where at most `ddof` elements
      are included.

    Example:
      >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0]))
      Array(1., dtype=float32)
    """
    promotion.check_no_out("nanvar", out)
    x = promotion.ensure_arraylike("nanvar", a)
    check_mask("nanvar", where)
    averages.check_var_dtype("nanvar", x, dtype)
    carried, result = averages.var_dtypes(x.dtype, dtype)
    x = convert.convert(x, carried)
    if mean is None:
        center = nanmean(x, axis, dtype=carried, keepdims=True, where=where)
    else:
        center = promotion.promote_shapes("nanvar", x, promotion.as_type(mean, carried, False))[1]
    undefined = isnan(x)
    apart = choose(undefined, 0, binary.sub(x, center))
    if promotion.is_complex(carried):
        squared = unary.real(binary.mul(apart, unary.conj(apart)))
    else:
        squared = unary.square(apart)
    defined = unary.bitwise_not(isnan(x))
    count = reductions.sum(defined, axis, keepdims=keepdims, where=where)
    free = binary.sub(count, promotion.as_type(ddof, count.dtype, False))
    too_few = compare.le(free, convert.scalar_operand(0, count.dtype, False))
    total = reductions.sum(squared, axis, keepdims=keepdims, where=where)
    total = choose(too_few, np.nan, total)
    divisor = convert.convert(choose(too_few, 1, free), total.dtype)
    return convert.convert(binary.div(total, divisor), result)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims"))
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: ArrayLike = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Computes the standard deviation over axes, ignoring NaN, as the square root of `nanvar`.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      ddof: the number subtracted from the number of elements in the divisor.
      keepdims: whether reduced axes are kept, with size 1.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.
      mean: the mean, if it is already known, with the reduced axes kept; computed by default.

    Example:
      >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0]))
      Array(1., dtype=float32)
    """
    promotion.check_no_out("nanstd", out)
    promotion.check_arraylike("nanstd", a)
    check_mask("nanstd", where)
    averages.check_var_dtype("nanstd", a, dtype)
    return unary.sqrt(
        nanvar(a, axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean)
    )


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
