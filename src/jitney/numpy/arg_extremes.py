"""Indices of extremes: `argmax`, `argmin`, and variants that ignore NaN."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike, Axis
from jitney.numpy import promotion, reduction_table, reductions
from jitney.numpy.float_classes import isnan
from jitney.numpy.selection import where as choose
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.shape import reshape
from jitney.primitives.reduction import reduce

__all__ = ["argmax", "argmin", "nanargmax", "nanargmin"]


def _arg(
    name: str,
    op: Callable[[Array, int, np.dtype], Array],
    a: ArrayLike,
    axis: int | None,
    out: None,
    keepdims: bool | None,
) -> Array:
    promotion.check_no_out(name, out)
    x = promotion.ensure_arraylike(name, a)
    if axis is None:
        axes = tuple(range(x.ndim))
        flat, dim = reshape(x, (x.size,)), 0
    else:
        dim = operator.index(axis)
        if not -x.ndim <= dim < x.ndim:
            raise IndexError(f"jnp.{name}: `a` has no axis {dim}, as its shape is {x.shape}")
        dim = canonical_axis(dim, x.ndim)
        axes, flat = (dim,), x
    if flat.shape[dim] == 0:
        raise ValueError(
            f"jnp.{name}: `a` must have elements along `axis`, but it has shape {x.shape} and "
            f"`axis` is {axis}"
        )
    index = op(flat, dim, dtypes.canonicalize_dtype(np.int64))
    return reduction_table.keep(index, axes, bool(keepdims))


def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the first occurrence of the maximum; NaN counts as the maximum.

    Args:
      a: an array.
      axis: the axis to search; by default, the array is flattened first.
      out: must be None.
      keepdims: whether the reduced axis (every axis if `axis` is None) is kept, with size 1.

    Returns: indices of dtype int32 (int64 if 64-bit types are enabled).

    Raises:
      ValueError: if the searched axis or array is empty.

    Example:
      >>> scores = jnp.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.5]])
      >>> jnp.argmax(scores, axis=-1)
      Array([1, 0], dtype=int32)
      >>> scores.ravel()[jnp.argmax(scores)]
      Array(0.7, dtype=float32)
    """
    return _arg("argmax", reduce.argmax, a, axis, out, keepdims)


def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the first occurrence of the minimum; NaN counts as the minimum.

    Args:
      a: an array.
      axis: the axis to search; by default, the array is flattened first.
      out: must be None.
      keepdims: whether the reduced axis (every axis if `axis` is None) is kept, with size 1.

    Returns: indices of dtype int32 (int64 if 64-bit types are enabled).

    Raises:
      ValueError: if the searched axis or array is empty.

    Example:
      >>> jnp.argmin(jnp.array([[4, 7, 3], [9, 2, 9]]), axis=0)
      Array([0, 1, 0], dtype=int32)
    """
    return _arg("argmin", reduce.argmin, a, axis, out, keepdims)


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the first occurrence of the maximum, ignoring NaN.

    Args:
      a: an array.
      axis: the axis to search; by default, the array is flattened first.
      out: must be None.
      keepdims: whether the reduced axis (every axis if `axis` is None) is kept, with size 1.

    Returns: indices of the dtype that `argmax` returns; -1 where all elements are NaN (NumPy raises
      an error).

    Example:
      >>> temperatures = jnp.array([[20.5, 18.0], [19.0, 21.5]]).at[1].set(jnp.nan)
      >>> jnp.nanargmax(temperatures, axis=1)
      Array([ 0, -1], dtype=int32)
    """
    promotion.check_no_out("nanargmax", out)
    return _nanargmax(a, axis=reduction_table.static_axis(axis), keepdims=bool(keepdims))


def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Returns the index of the first occurrence of the minimum, ignoring NaN.

    Args:
      a: an array.
      axis: the axis to search; by default, the array is flattened first.
      out: must be None.
      keepdims: whether the reduced axis (every axis if `axis` is None) is kept, with size 1.

    Returns: indices of the dtype that `argmin` returns; -1 where all elements are NaN (NumPy raises
      an error).

    Example:
      >>> jnp.nanargmin(jnp.array([jnp.nan, 2.0, 1.0]))
      Array(2, dtype=int32)
    """
    promotion.check_no_out("nanargmin", out)
    return _nanargmin(a, axis=reduction_table.static_axis(axis), keepdims=bool(keepdims))


@jit_when_traced(name="_nanargmax", static_argnames=("axis", "keepdims"))
def _nanargmax(a: ArrayLike, *, axis: Axis, keepdims: bool) -> Array:
    return _nanarg("nanargmax", argmax, -np.inf, a, axis, keepdims)


@jit_when_traced(name="_nanargmin", static_argnames=("axis", "keepdims"))
def _nanargmin(a: ArrayLike, *, axis: Axis, keepdims: bool) -> Array:
    return _nanarg("nanargmin", argmin, np.inf, a, axis, keepdims)


def _nanarg(
    name: str,
    find: Callable[..., Array],
    fill: float,
    a: ArrayLike,
    axis: Axis,
    keepdims: bool,
) -> Array:
    x = promotion.ensure_arraylike(name, a)
    if not promotion.is_inexact(x.dtype):
        return find(x, axis, keepdims=keepdims)
    undefined = isnan(x)
    filled = choose(undefined, fill, x)
    index = find(filled, axis, keepdims=keepdims)
    none = reductions.all(undefined, axis, keepdims=keepdims)
    return choose(none, -1, index)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
