"""Means, weighted averages, variances and standard deviations over axes.

The arguments that these functions share are described in `jitney.numpy.reductions`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike, Axis, DTypeLike
from jitney.numpy import promotion
from jitney.numpy.reduction_table import carrier, check_mask, reduced_axes, static_axis, truth_mask
from jitney.numpy.reductions import sum as sum_of
from jitney.numpy.selection import where as choose
from jitney.primitives.array.broadcasting import broadcast_to
from jitney.primitives.array.canonical import canonical_axes
from jitney.primitives.array.shape import reshape, transpose
from jitney.primitives.elementwise import binary, compare, convert, masks, unary

if TYPE_CHECKING:
    from jitney.core.typing import Value

__all__ = ["average", "mean", "std", "var"]

# --- means ----------------------------------------------------------------------------------------


def _size(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod([shape[k] for k in axes])


def _size_operand(shape: tuple[int, ...], axes: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
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
    """Computes the arithmetic mean over axes; NaN if there are no elements.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      keepdims: whether reduced axes are kept, with size 1.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.

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
        count = sum_of(
            broadcast_to(truth_mask("mean", where), x.shape), axes, carried, keepdims=keepdims
        )
    total = sum_of(x, axes, carried, keepdims=keepdims, where=where)
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
    """Computes the weighted mean over axes.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      weights: an array of the shape of `a`, or one whose axes correspond to those in `axis`; by
        default, all weights are 1.
      returned: whether to return the sum of the weights as well.
      keepdims: whether reduced axes are kept, with size 1.

    Returns: an array of inexact dtype; with `returned`, a pair of the average and the sum of the
      weights.

    Raises:
      ValueError: if the shape of the weights does not match.

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
    if masks.among((a, weights)):
        with masks.noting():
            return _average(a, axis, weights, returned, keepdims)
    return _average(a, axis, weights, returned, keepdims)


def _average(
    a: ArrayLike, axis: Axis, weights: ArrayLike, returned: bool, keepdims: bool
) -> Array | tuple[Array, Array]:
    """Returns the weighted average."""
    x, w = map(convert.as_value, promotion.promote_dtypes_inexact(a, weights))
    if x.shape != w.shape:
        if axis is None:
            raise ValueError(
                "jnp.average: `axis` must be passed if the shapes of `a` and `weights` differ, but "
                f"`a` has shape {x.shape} and `weights` has shape {w.shape}"
            )
        axes = canonical_axes(axis, x.ndim)
        if w.shape != tuple([x.shape[k] for k in axes]):
            raise ValueError(
                "jnp.average: `weights` must have the shape of `a`, or its sizes along `axis`, "
                f"but `a` has shape {x.shape}, `axis` is {axis} and `weights` has shape {w.shape}"
            )
        if list(axes) != sorted(axes):
            w = transpose(w, np.argsort(axes).tolist())
        w = reshape(w, tuple([n if k in axes else 1 for k, n in enumerate(x.shape)]))
    total = sum_of(w, axis, keepdims=keepdims)
    value = binary.div(*_of_one_shape(sum_of(_times(x, w), axis, keepdims=keepdims), total))
    return (value, broadcast_to(total, value.shape)) if returned else value


def _times(x: Array, w: Array) -> Array:
    return binary.mul(x, w)


def _of_one_shape(x: Array, y: Array) -> tuple[Array, Array]:
    if x.ndim == y.ndim or not y.ndim:
        return x, y
    x, y = promotion.align_ranks("divide", x, y)
    return x, y


# --- variances ------------------------------------------------------------------------------------


def _degrees(name: str, ddof: ArrayLike, correction: ArrayLike | None) -> ArrayLike:
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError(
            f"jnp.{name}: `ddof` and `correction` are two names for one argument, but both were "
            f"passed ({ddof} and {correction}); omit one"
        )
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
    """Computes the variance: the sum of squared deviations from the mean, divided by n - ddof.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      ddof: the number subtracted from n, the number of elements, in the divisor.
      keepdims: whether reduced axes are kept, with size 1.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.
      mean: the mean, if it is already known, with the reduced axes kept; computed by default.
      correction: an alias of `ddof`.

    Returns: an array of real dtype, unless `dtype` is complex; NaN where n is at most `ddof`.

    Raises:
      ValueError: if both `ddof` and `correction` are given, or `a` is complex and `dtype` is not.

    Example:
      >>> jnp.var(jnp.array([1.0, 2.0, 3.0, 6.0]))
      Array(3.5, dtype=float32)
    """
    promotion.check_no_out("var", out)
    promotion.check_arraylike("var", a)
    ddof = _degrees("var", ddof, correction)
    check_mask("var", where)
    dtype = _checked(dtype, "var")
    check_var_dtype("var", a, dtype)
    return _var(a, mean, ddof, where, axis=static_axis(axis), dtype=dtype, keepdims=keepdims)


def _checked(dtype: DTypeLike | None, name: str) -> np.dtype | None:
    return None if dtype is None else convert.user_dtype(dtype, name)


def check_var_dtype(name: str, a: ArrayLike, dtype: DTypeLike | None) -> None:
    """Raises ValueError if the elements of `a` are complex, and `dtype` is not."""
    old = promotion.dtype_of(a)
    if dtype is not None and promotion.is_complex(old) and not promotion.is_complex(dtype):
        raise ValueError(
            f"jnp.{name}: `dtype` must be complex for complex elements, but it is "
            f"{dtypes.long_name(dtype)} and the elements are {old}; omit it, and cast the result, "
            "which is real"
        )


def var_dtypes(old: np.dtype[Any], dtype: DTypeLike | None) -> tuple[np.dtype, np.dtype]:
    """Returns the dtypes of the computation and of the result of a variance."""
    if dtype is None:
        inexact = promotion.to_inexact(old)
        result = np.dtype(np.finfo(inexact).dtype) if promotion.is_complex(inexact) else inexact
        return carrier(inexact), result
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
        count = sum_of(
            broadcast_to(truth_mask("var", where), x.shape), axes, real, keepdims=keepdims
        )
    free = binary.sub(count, promotion.as_type(ddof, real, False))
    out = binary.div(sum_of(squared, axes, real, keepdims=keepdims, where=where), free)
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
    """Computes the standard deviation over axes, the square root of the variance; see `var`.

    Args:
      a: an array.
      axis: an axis, a tuple of axes, or None for all axes.
      dtype: the dtype of the result; by default that of `a`, or the default float for integers.
      out: must be None.
      ddof: the number subtracted from n, the number of elements, in the divisor.
      keepdims: whether reduced axes are kept, with size 1.
      where: a boolean mask, broadcast to `a`; elements where it is False are left out.
      mean: the mean, if it is already known, with the reduced axes kept; computed by default.
      correction: an alias of `ddof`.

    Returns: an array of real dtype, unless `dtype` is complex.

    Raises:
      ValueError: if both `ddof` and `correction` are given, or `dtype` is not inexact.

    Example:
      >>> jnp.std(jnp.array([1.0, 3.0]))
      Array(1., dtype=float32)
    """
    promotion.check_no_out("std", out)
    promotion.check_arraylike("std", a)
    ddof = _degrees("std", ddof, correction)
    check_mask("std", where)
    dtype = _checked(dtype, "std")
    if dtype is not None and not promotion.is_inexact(dtype):
        raise ValueError(
            f"jnp.std: `dtype` must be inexact (float or complex), not {dtypes.long_name(dtype)}"
        )
    check_var_dtype("std", a, dtype)
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
