"""Summary statistics of samples: mode, ranks, and the standard error of the mean."""

from __future__ import annotations

import math
from collections import namedtuple
from functools import partial

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.batching.vmap import vmap
from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import ensure_arraylike, is_floating, promote_dtypes_inexact
from jitney.primitives.elementwise.convert import as_value

# The field `count` hides the method `tuple.count`, as it does in SciPy.
ModeResult = namedtuple("ModeResult", ("mode", "count"))


def _refuse_policy(name: str, nan_policy: str, accepted: tuple[str, ...]) -> None:
    if nan_policy in ("propagate", "omit", "raise") and nan_policy not in accepted:
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r} is not supported")
    if nan_policy not in accepted:
        raise ValueError(f"{name}: nan_policy must be one of {accepted}, but got {nan_policy!r}")


@partial(jit_when_traced, static_argnames=("axis", "nan_policy", "keepdims"))
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Computes the most frequent value along an axis and its count; ties go to the smallest value.

    Args:
      a: real array.
      axis: axis, or None for the flattened array.
      nan_policy: must be "propagate", which counts all NaNs as one value.
      keepdims: whether to keep the axis, with size one.

    Returns: (mode, count), of the shape of `a` without the axis; NaN and 0 if the axis is empty.

    Raises:
      NotImplementedError: if `nan_policy` is not "propagate".

    Example:
      >>> jax.scipy.stats.mode(jnp.array([2, 1, 1, 3]))
      ModeResult(mode=Array(1, dtype=int32), count=Array(2, dtype=int32))
    """
    _refuse_policy("mode", nan_policy, ("propagate",))
    x = ensure_arraylike("mode", a)
    rank = x.ndim
    if axis is None or not rank:
        x, place = x.reshape(-1), 0
    else:
        place = axis % x.ndim
    rows = jnp.moveaxis(x, place, -1)
    batch_shape = rows.shape[:-1]
    if not rows.shape[-1]:
        empty = jnp.full(batch_shape, jnp.nan, float)
        values, count = empty, jnp.zeros(batch_shape, empty.dtype)
    else:
        # In a sorted row, equal elements form runs.
        rows = jnp.sort(rows, axis=-1)
        same = rows[..., 1:] == rows[..., :-1]
        if is_floating(rows.dtype):
            same = same | (jnp.isnan(rows[..., 1:]) & jnp.isnan(rows[..., :-1]))
        first = jnp.concatenate([jnp.ones((*batch_shape, 1), bool), ~same], axis=-1)
        positions = lax.broadcasted_iota(int, rows.shape, rows.ndim - 1)
        starts = lax.cummax(jnp.where(first, positions, 0), axis=rows.ndim - 1)
        lengths = positions - starts + 1
        best = jnp.argmax(lengths, axis=-1, keepdims=True)
        values = jnp.take_along_axis(rows, best, axis=-1)[..., 0]
        count = jnp.take_along_axis(lengths, best, axis=-1)[..., 0]
    if keepdims:
        if axis is None:
            ones = (1,) * rank
            return ModeResult(values.reshape(ones), count.reshape(ones))
        return ModeResult(jnp.expand_dims(values, place), jnp.expand_dims(count, place))
    return ModeResult(values, count)


_METHODS = ("average", "min", "max", "dense", "ordinal")


@partial(jit_when_traced, static_argnames=("method", "axis", "nan_policy"))
def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """Computes the ranks of elements, starting with 1.

    Args:
      a: real array.
      method: how equal elements are ranked: by the "average", "min" or "max" of the ranks that they
        would have in sorted order; "dense" is like "min", without gaps between ranks; "ordinal"
        gives them distinct ranks in order of position.
      axis: axis along which to rank; None for the flattened array.
      nan_policy: must be "propagate": if an element is NaN, all ranks are NaN.

    Returns: floating array of the shape of `a`, or flat if `axis` is None.

    Raises:
      ValueError: if the method is unknown.
      NotImplementedError: if `nan_policy` is not "propagate".

    Example:
      >>> jax.scipy.stats.rankdata(jnp.array([30, 10, 10]))
      Array([3. , 1.5, 1.5], dtype=float32)
    """
    _refuse_policy("rankdata", nan_policy, ("propagate",))
    if method not in _METHODS:
        raise ValueError(f"rankdata: unknown method {method!r}; it must be one of {_METHODS}")
    x = ensure_arraylike("rankdata", a)
    if axis is None:
        x, axis = x.reshape(-1), 0
    rows = jnp.moveaxis(x, axis, -1)
    flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    ranks = vmap(partial(_ranks, method=method))(flat).reshape(rows.shape)
    return jnp.moveaxis(ranks, -1, axis)


def _ranks(x: Array, method: str) -> Array:
    size, dtype = x.shape[0], jnp.result_type(float)
    if not size:
        return jnp.zeros(0, dtype)
    order = jnp.argsort(x)
    places = jnp.zeros(size, np.int32).at[order].set(jnp.arange(size, dtype=np.int32))
    if method == "ordinal":
        ranks = (places + 1).astype(dtype)
    else:
        ordered = x[order]
        first = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
        group = jnp.cumsum(first)[places]
        if method == "dense":
            ranks = group.astype(dtype)
        else:
            # The start of each run of equal elements; the last run ends at `size`.
            starts = jnp.nonzero(first, size=size, fill_value=size)[0]
            starts = jnp.concatenate([starts, jnp.full(1, size, starts.dtype)])
            low, high = starts[group - 1] + 1, starts[group]
            ranks = {"min": low, "max": high}.get(method, (low + high).astype(dtype) / 2).astype(
                dtype
            )
    if is_floating(x.dtype):
        ranks = jnp.where(jnp.any(jnp.isnan(x)), jnp.nan, ranks)
    return ranks


@partial(jit_when_traced, static_argnames=("axis", "nan_policy", "keepdims"))
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """Computes the standard error of the mean: standard deviation / sqrt(number of elements).

    Args:
      a: real array.
      axis: axis, or None for all axes.
      ddof: delta degrees of freedom: the variance is the sum of squared deviations divided by the
        number of elements minus `ddof`.
      nan_policy: "propagate", or "omit" to ignore NaNs.
      keepdims: whether to keep the axis, with size one.

    Returns: floating array.

    Raises:
      ValueError: if `nan_policy` is unknown.

    Example:
      >>> jax.scipy.stats.sem(jnp.array([1.0, 2.0, 3.0])).round(4)
      Array(0.5774, dtype=float32)
    """
    if nan_policy not in ("propagate", "omit"):
        raise ValueError(
            f"sem: nan_policy={nan_policy!r} is not supported; it must be 'propagate' or 'omit'"
        )
    x = as_value(promote_dtypes_inexact(ensure_arraylike("sem", a))[0])
    if axis is None:
        x, axis = (x.reshape((1,) * (x.ndim - 1) + (-1,)), -1) if keepdims else (x.reshape(-1), 0)
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(x), axis=axis, keepdims=keepdims).astype(x.dtype)
        return jnp.nanstd(x, axis=axis, ddof=ddof, keepdims=keepdims) / lax.sqrt(count)
    return jnp.std(x, axis=axis, ddof=ddof, keepdims=keepdims) / math.sqrt(x.shape[axis])
