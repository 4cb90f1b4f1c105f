"""Running sums and products along an axis: `cumsum`, `cumprod`, `cumulative_sum` and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike, DTypeLike
from jitney.numpy import promotion
from jitney.numpy.float_classes import isnan
from jitney.numpy.selection import where
from jitney.primitives.array.broadcasting import broadcast_to
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.shape import reshape
from jitney.primitives.elementwise import convert
from jitney.primitives.reduction import cumulative as lax_cumulative

__all__ = [
    "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "nancumprod", "nancumsum",
]  # fmt: skip

_BOOL = np.dtype(bool)
_INT8 = np.dtype(np.int8)


def _running(
    name: str,
    op: Callable[..., Any],
    a: ArrayLike,
    axis: int | None,
    dtype: DTypeLike | None,
    *,
    nan_as: int | None = None,
    promote: bool = False,
) -> Array:
    """Computes a running reduction by the lax function `op`; if `axis` is None, flattens `a`.

    Args:
      nan_as: the value that replaces NaN.
      promote: whether small integers are promoted to the default integer.
    """
    x = promotion.ensure_arraylike(name, a)
    out_dtype: Any = None if dtype is None else convert.user_dtype(dtype, name)
    if axis is None or x.ndim == 0:
        x = reshape(x, (x.size,))
        axis = 0
    axis = canonical_axis(axis, x.ndim)
    if nan_as is not None and promotion.is_inexact(x.dtype):
        x = where(isnan(x), convert.scalar_operand(nan_as, x.dtype, False), x)
    if out_dtype is None:
        out_dtype = dtypes.requested_dtype(x.dtype)
        if out_dtype == _BOOL:
            out_dtype = dtypes.canonicalize_dtype(np.int64)
        elif promote:
            from jitney.numpy.reduction_table import sum_dtype

            out_dtype = sum_dtype(x.dtype)
    if out_dtype == _BOOL:
        # For booleans, the sum is true if any element so far is, and the product if all are.
        ordered = _RUNNING_TRUTH[op](convert.convert(convert.convert(x, _BOOL), _INT8), axis)
        return convert.convert(ordered, _BOOL)
    return op(convert.convert(x, out_dtype), axis)


_RUNNING_TRUTH = {
    lax_cumulative.cumsum: lax_cumulative.cummax,
    lax_cumulative.cumprod: lax_cumulative.cummin,
}


def _check_out(name: str, out: None) -> None:
    if out is not None:
        raise NotImplementedError(
            f"jnp.{name}: `out` must be None, as arrays are immutable; the result is a new array"
        )


@jit_when_traced(static_argnames=("axis", "dtype"))
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Computes the running sum along `axis`.

    Args:
      a: an array.
      axis: the axis of the sum; if None, `a` is flattened.
      dtype: the dtype of the sum; by default that of `a`, or the default integer for booleans.
        Small integer dtypes are not promoted, unlike in NumPy.
      out: must be None.

    Returns: an array of the shape of `a`, or of rank 1 if `axis` is None.

    Example:
      >>> jnp.cumsum(jnp.array([[1, 2], [3, 4]]))
      Array([ 1,  3,  6, 10], dtype=int32)
      >>> jnp.cumsum(jnp.array([[1, 2], [3, 4]]), axis=0)
      Array([[1, 2],
             [4, 6]], dtype=int32)
    """
    _check_out("cumsum", out)
    return _running("cumsum", lax_cumulative.cumsum, a, axis, dtype)


@jit_when_traced(static_argnames=("axis", "dtype"))
def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Computes the running product along `axis`.

    Args:
      a: an array.
      axis: the axis of the product; if None, `a` is flattened.
      dtype: the dtype of the product; by default that of `a`, or the default integer for booleans.
      out: must be None.

    Returns: an array of the shape of `a`, or of rank 1 if `axis` is None.

    Example:
      >>> jnp.cumprod(jnp.array([1, 2, 3, 4]))
      Array([ 1,  2,  6, 24], dtype=int32)
    """
    _check_out("cumprod", out)
    return _running("cumprod", lax_cumulative.cumprod, a, axis, dtype)


@jit_when_traced(static_argnames=("axis", "dtype"))
def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Computes `cumsum`, treating NaN as 0.

    Args:
      a: an array.
      axis: the axis of the sum; if None, `a` is flattened.
      dtype: the dtype of the sum; by default that of `a`, or the default integer for booleans.
      out: must be None.

    Returns: an array of the shape of `a`, or of rank 1 if `axis` is None.

    Example:
      >>> jnp.nancumsum(jnp.array([1.0, jnp.nan, 3.0]))
      Array([1., 1., 4.], dtype=float32)
    """
    _check_out("nancumsum", out)
    return _running("nancumsum", lax_cumulative.cumsum, a, axis, dtype, nan_as=0)


@jit_when_traced(static_argnames=("axis", "dtype"))
def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Computes `cumprod`, treating NaN as 1.

    Args:
      a: an array.
      axis: the axis of the product; if None, `a` is flattened.
      dtype: the dtype of the product; by default that of `a`, or the default integer for booleans.
      out: must be None.

    Returns: an array of the shape of `a`, or of rank 1 if `axis` is None.

    Example:
      >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
      Array([2., 2., 6.], dtype=float32)
    """
    _check_out("nancumprod", out)
    return _running("nancumprod", lax_cumulative.cumprod, a, axis, dtype, nan_as=1)


@jit_when_traced(name="_cumsum_with_promotion", static_argnames=("axis", "dtype"))
def _promoting_cumsum(x: ArrayLike, *, axis: int, dtype: DTypeLike | None) -> Array:
    return _running("cumulative_sum", lax_cumulative.cumsum, x, axis, dtype, promote=True)


def _array_api_axis(name: str, x: Array, axis: int | None) -> int:
    if x.ndim == 0:
        raise ValueError(
            f"jnp.{name}: `x` must have at least one axis, but it is a scalar of type "
            f"{x.aval.str_short()}"
        )
    if axis is None and x.ndim > 1:
        raise ValueError(
            f"jnp.{name}: `axis` must be passed if `x` has several axes, but it is None and `x` has "
            f"shape {x.shape}"
        )
    return canonical_axis(axis or 0, x.ndim)


def _with_start(out: Array, axis: int, first: int) -> Array:
    shape = (*out.shape[:axis], 1, *out.shape[axis + 1 :])
    start = broadcast_to(convert.scalar_operand(first, out.dtype, False), shape)
    return concatenate([start, out], axis)


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Computes the running sum along `axis`, as in the array API standard.

    Args:
      x: an array of rank 1 or more.
      axis: the axis of the sum; can be omitted for rank 1.
      dtype: the dtype of the sum; by default that of `x`, or the default integer of the same
        signedness for narrower integers.
      include_initial: whether to prepend a 0, so that the size of the axis grows by 1.

    Raises:
      ValueError: if `x` is a scalar, or if it has several axes and `axis` is omitted.

    Example:
      >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
      Array([0, 1, 3, 6], dtype=int32)
    """
    x = promotion.ensure_arraylike("cumulative_sum", x)
    axis = _array_api_axis("cumulative_sum", x, axis)
    out = _promoting_cumsum(x, axis=axis, dtype=dtype)
    return _with_start(out, axis, 0) if include_initial else out


def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Computes the running product along `axis`, as in the array API standard.

    Args:
      x: an array of rank 1 or more.
      axis: the axis of the product; can be omitted for rank 1.
      dtype: the dtype of the product; by default that of `x`.
      include_initial: whether to prepend a 1, so that the size of the axis grows by 1.

    Raises:
      ValueError: if `x` is a scalar, or if it has several axes and `axis` is omitted.

    Example:
      >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
      Array([1, 1, 2, 6], dtype=int32)
    """
    x = promotion.ensure_arraylike("cumulative_prod", x)
    axis = _array_api_axis("cumulative_prod", x, axis)
    out = _running("cumulative_prod", lax_cumulative.cumprod, x, axis, dtype)
    return _with_start(out, axis, 1) if include_initial else out


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
