"""Quantiles: `quantile`, `percentile`, `median`, and variants that ignore NaN.

Elements are sorted along one axis (several axes are merged first); a quantile is interpolated
between two adjacent elements.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.typing import ArrayLike, Axis
from jitney.numpy import promotion, reductions
from jitney.numpy.arithmetic import maximum, minimum
from jitney.numpy.creation import full
from jitney.numpy.float_classes import isnan
from jitney.numpy.out_sharding import call_with_sharding
from jitney.numpy.selection import where
from jitney.primitives.array.broadcasting import broadcast_in_dim, broadcast_to, expand_dims
from jitney.primitives.array.canonical import canonical_axes, canonical_axis
from jitney.primitives.array.shape import reshape, shape_of, squeeze
from jitney.primitives.elementwise import binary, compare, select, unary
from jitney.primitives.elementwise.convert import convert, scalar_operand
from jitney.primitives.indexing.gather import GatherDimensionNumbers, GatherScatterMode, gather
from jitney.primitives.reduction.sort import sort

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding

__all__ = [
    "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile",
]  # fmt: skip

_INT32 = np.dtype(np.int32)
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _check(
    name: str,
    a: ArrayLike,
    q: ArrayLike,
    out: object,
    overwrite_input: bool,
    *weights: ArrayLike | None,
) -> None:
    promotion.check_arraylike(name, a, q, *[w for w in weights if w is not None])
    if overwrite_input or out is not None:
        argument = "overwrite_input" if overwrite_input else "out"
        raise ValueError(
            f"jax.numpy.{name}: arrays are immutable, so `{argument}` must be omitted; the result is "
            "a new array"
        )


@partial(
    jit_when_traced,
    static_argnames=("axis", "overwrite_input", "keepdims", "method"),
)
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Computes quantiles over axes: the values that a fraction `q` of the elements do not exceed.

    Args:
      a: a real array; if an element is NaN, the result is NaN.
      q: probabilities in [0, 1]: a scalar, or an array of rank 1, whose axis comes first in the
        result.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      overwrite_input: must be False.
      method: how to interpolate between two adjacent elements: "linear", "lower", "higher",
        "midpoint" or "nearest"; "inverted_cdf" selects the first element at which the cumulative
        weight reaches `q` times the total.
      keepdims: whether reduced axes are kept, with size 1.
      weights: the weights of the elements, which require method "inverted_cdf".

    Returns: an array of inexact dtype, with the axes of `q`, followed by the remaining axes of `a`.

    Raises:
      ValueError: if `method` is unknown, `a` is complex, or the rank of `q` is greater than 1.
      NotImplementedError: if weights are passed with another method.
      TypeError: if there are no elements along `axis`.

    Example:
      >>> jnp.quantile(jnp.arange(5.0), jnp.array([0.0, 0.5]))
      Array([0., 2.], dtype=float32)
    """
    _check("quantile", a, q, out, overwrite_input, weights)
    return _quantile("quantile", a, q, axis, method, keepdims, weights, ignore_nan=False)


@partial(
    jit_when_traced,
    static_argnames=("axis", "overwrite_input", "keepdims", "method"),
)
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Computes quantiles over axes, ignoring NaN; NaN if all elements are NaN.

    Args:
      a: a real array.
      q: probabilities in [0, 1]: a scalar, or an array of rank 1, whose axis comes first in the
        result.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      overwrite_input: must be False.
      method: the method of interpolation; see `quantile`.
      keepdims: whether reduced axes are kept, with size 1.
      weights: the weights of the elements, which require method "inverted_cdf".

    Example:
      >>> jnp.nanquantile(jnp.array([0.0, jnp.nan, 2.0]), 0.5)
      Array(1., dtype=float32)
    """
    _check("nanquantile", a, q, out, overwrite_input, weights)
    return _quantile("nanquantile", a, q, axis, method, keepdims, weights, ignore_nan=True)


def _percent(q: ArrayLike) -> Array:
    (q,) = promotion.promote_dtypes_inexact(q)
    return binary.div(q, scalar_operand(100, promotion.dtype_of(q), promotion.type_of(q)[1]))


@partial(
    jit_when_traced,
    static_argnames=("axis", "overwrite_input", "keepdims", "method", "out_sharding"),
)
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: Sharding | None = None,
) -> Array:
    """Computes percentiles over axes: `quantile` with `q` in percent.

    Args:
      a: a real array; if an element is NaN, the result is NaN.
      q: percentages in [0, 100]: a scalar, or an array of rank 1, whose axis comes first in the
        result.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      overwrite_input: must be False.
      method: the method of interpolation; see `quantile`.
      keepdims: whether reduced axes are kept, with size 1.
      weights: the weights of the elements, which require method "inverted_cdf".
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Example:
      >>> jnp.percentile(jnp.arange(5.0), 75)
      Array(3., dtype=float32)
    """
    _check("percentile", a, q, out, overwrite_input, weights)
    _check_values("percentile", a, q, method, weights)
    function = partial(quantile, axis=axis, method=method, keepdims=keepdims, weights=weights)
    return call_with_sharding(out_sharding, "percentile", function, a, _percent(q))


@partial(
    jit_when_traced,
    static_argnames=("axis", "overwrite_input", "keepdims", "method"),
)
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Computes percentiles over axes, ignoring NaN: `nanquantile` with `q` in percent.

    Args:
      a: a real array.
      q: percentages in [0, 100]: a scalar, or an array of rank 1, whose axis comes first in the
        result.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      overwrite_input: must be False.
      method: the method of interpolation; see `quantile`.
      keepdims: whether reduced axes are kept, with size 1.
      weights: the weights of the elements, which require method "inverted_cdf".

    Example:
      >>> jnp.nanpercentile(jnp.array([0.0, jnp.nan, 2.0]), 50)
      Array(1., dtype=float32)
    """
    _check("nanpercentile", a, q, out, overwrite_input, weights)
    _check_values("nanpercentile", a, q, method, weights)
    return nanquantile(a, _percent(q), axis, None, False, method, keepdims, weights=weights)


@partial(jit_when_traced, static_argnames=("axis", "overwrite_input", "keepdims"))
def median(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Computes the median over axes: the middle element, or the mean of the two middle elements.

    Args:
      a: a real array; if an element is NaN, the result is NaN.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      overwrite_input: must be False.
      keepdims: whether reduced axes are kept, with size 1.

    Returns: an array of inexact dtype.

    Example:
      >>> jnp.median(jnp.array([4, 1, 3, 2]))
      Array(2.5, dtype=float32)
    """
    _check("median", a, 0, out, overwrite_input)
    shape = shape_of(a)
    reduced = shape if axis is None else [shape[i] for i in canonical_axes(axis, len(shape))]
    if 0 in reduced:
        raise ValueError(
            f"jnp.median: `a` must have elements along {axis=}, but it has shape {shape}"
        )
    return quantile(a, 0.5, axis, None, False, "midpoint", keepdims)


@partial(jit_when_traced, static_argnames=("axis", "overwrite_input", "keepdims"))
def nanmedian(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Array:
    """Computes the median over axes, ignoring NaN; NaN if all elements are NaN.

    Args:
      a: a real array.
      axis: an axis, a tuple of axes, or None for all axes.
      out: must be None.
      overwrite_input: must be False.
      keepdims: whether reduced axes are kept, with size 1.

    Example:
      >>> jnp.nanmedian(jnp.array([4.0, jnp.nan, 2.0]))
      Array(3., dtype=float32)
    """
    _check("nanmedian", a, 0, out, overwrite_input)
    return nanquantile(a, 0.5, axis, None, False, "midpoint", keepdims)


# --- implementation -------------------------------------------------------------------------------


def _one_axis(x: Array, axis: Axis, keepdims: bool) -> tuple[Array, int, tuple[int, ...] | None]:
    """Merges the axes to reduce into one; returns the array, that axis and the final shape.

    The final shape is None if the reduced array needs no reshape. A scalar is treated as a vector
    of one element.
    """
    rank = x.ndim
    if axis is None:
        final_shape = (1,) * max(rank, 1) if keepdims else None
        return reshape(x, (x.size,)), 0, final_shape
    if not isinstance(axis, tuple):
        return x, canonical_axis(axis, rank), None
    axes = canonical_axes(axis, rank)
    if len(set(axes)) != len(axes):
        raise ValueError(f"`axis` names an axis twice, for an array of rank {rank}: {axis}")
    batch_axes = [k for k in range(rank) if k not in axes]
    order = (*batch_axes, *sorted(axes, reverse=True))
    wide = (*[x.shape[k] for k in batch_axes], math.prod([x.shape[k] for k in axes]))
    final_shape = (
        tuple([1 if k in axes else n for k, n in enumerate(x.shape)]) if keepdims else None
    )
    return reshape(x, wide, order), len(batch_axes), final_shape


def _check_values(
    name: str, a: ArrayLike, q: ArrayLike, method: str, weights: ArrayLike | None
) -> None:
    if method not in _METHODS:
        raise ValueError(f"jnp.{name}: `method` must be one of {list(_METHODS)}, not {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise NotImplementedError(
            f"jnp.{name}: with `weights`, `method` must be 'inverted_cdf', but it is {method!r}"
        )
    dtype = promotion.dtype_of(a)
    if promotion.is_complex(dtype):
        raise ValueError(
            f"jnp.{name}: `a` must be real, but it is {dtype}, and complex numbers have no order"
        )
    if len(shape_of(q)) > 1:
        raise ValueError(
            f"jnp.{name}: `q` must be a scalar or a vector, but it has shape {shape_of(q)}"
        )


def _quantile(
    name: str,
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis,
    method: str,
    keepdims: bool,
    weights: ArrayLike | None,
    *,
    ignore_nan: bool,
) -> Array:
    _check_values(name, a, q, method, weights)
    (x,) = promotion.promote_dtypes_inexact(promotion.ensure_arraylike(name, a))
    dtype = x.dtype
    w = _weights_like(name, x, axis, weights)
    x, dim, final_shape = _one_axis(x, axis, keepdims)
    if w is not None:
        w = _one_axis(w, axis, keepdims)[0]
    if x.shape[dim] == 0:
        if not ignore_nan:
            raise TypeError(f"jnp.{name}: `a` must have elements along `axis`, but there are none")
        kept = [1 if k == dim else n for k, n in enumerate(x.shape) if keepdims or k != dim]
        return full((*shape_of(q), *(final_shape or kept)), np.nan, dtype)
    if ignore_nan:
        x = where(isnan(x), np.nan, x)
    else:
        undefined = expand_dims(reductions.any(isnan(x), axis=dim), (dim,))
        x = where(undefined, np.nan, x)
    if w is None:
        x = sort(x, dimension=dim)
    else:
        x, w = sort((x, w), dimension=dim, num_keys=1)
    if method == "inverted_cdf":
        out = _by_weight(x, w, q, dim, keepdims, ignore_nan)
    elif ignore_nan:
        out = _between_defined(x, q, dim, method, keepdims)
    else:
        out = _between(x, q, dim, method, keepdims)
    if final_shape is not None:
        out = reshape(out, (*shape_of(q), *final_shape))
    return convert(out, dtype)


def _weights_like(name: str, x: Array, axis: Axis, weights: ArrayLike | None) -> Array | None:
    """Broadcasts weights to the shape of `x` and converts them to its dtype."""
    if weights is None:
        return None
    w = convert(weights, x.dtype)
    if w.shape == x.shape:
        return w
    if axis is None:
        raise ValueError(
            f"jnp.{name}: `weights` must have the shape of `a` if `axis` is None, but they have "
            f"shapes {w.shape} and {x.shape}"
        )
    axes = canonical_axes(axis, x.ndim)
    if w.ndim != len(axes) or w.shape != tuple([x.shape[k] for k in axes]):
        raise ValueError(
            f"jnp.{name}: `weights` must have the shape of `a`, or its sizes along `axis`, "
            f"{axis}, but they have shapes {w.shape} and {x.shape}"
        )
    return broadcast_in_dim(w, x.shape, axes)


def _pick(method: str, low: Array, high: Array, low_weight: Array, high_weight: Array) -> Array:
    """Interpolates between `low` and `high` by `method`; the weights can have a wider dtype."""
    if method == "linear":
        dtype = promotion.dtype_of(low_weight)
        low, high = convert(low, dtype), convert(high, dtype)
        return binary.add(
            *(
                binary.mul(*promotion.align_ranks("multiply", x, weight))
                for x, weight in ((low, low_weight), (high, high_weight))
            )
        )
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "midpoint":
        half = scalar_operand(0.5, low.dtype, False)
        return binary.mul(binary.add(low, high), half)
    nearer_low = compare.le(
        high_weight, scalar_operand(0.5, promotion.dtype_of(high_weight), False)
    )
    return select.select(nearer_low, low, high)


def _between(x: Array, q: ArrayLike, dim: int, method: str, keepdims: bool) -> Array:
    """Returns the quantiles of sorted elements, by two gathers."""
    dtype = promotion.dtype_of(q)
    n = scalar_operand(x.shape[dim], dtype, False)
    one, zero = scalar_operand(1, dtype, False), scalar_operand(0, dtype, False)
    place = binary.mul(q, binary.sub(n, one))
    low, high = unary.floor(place), unary.ceil(place)
    high_weight = binary.sub(place, low)
    low_weight = binary.sub(one, high_weight)
    low = select.clamp(zero, low, binary.sub(n, one))
    high = select.clamp(zero, high, binary.sub(n, one))
    low, high = convert(low, _INT32), convert(high, _INT32)
    q_rank = low.ndim
    sizes = list(x.shape)
    sizes[dim] = 1
    window = tuple([k + q_rank for k in range(x.ndim if keepdims else x.ndim - 1)])
    numbers = GatherDimensionNumbers(
        offset_dims=window,
        collapsed_slice_dims=() if keepdims else (dim,),
        start_index_map=(dim,),
    )

    def taken(index: ArrayLike) -> Array:
        column = expand_dims(index, (q_rank,))
        return gather(x, column, numbers, tuple(sizes), mode=GatherScatterMode.PROMISE_IN_BOUNDS)

    low_value, high_value = taken(low), taken(high)
    if q_rank == 1 and low_value.ndim > 1 and method in ("linear", "nearest"):
        low_weight = broadcast_in_dim(low_weight, low_value.shape, (0,))
        high_weight = broadcast_in_dim(high_weight, high_value.shape, (0,))
    return _pick(method, low_value, high_value, low_weight, high_weight)


def _between_defined(x: Array, q: ArrayLike, dim: int, method: str, keepdims: bool) -> Array:
    """Returns the quantiles of sorted elements, ignoring NaN, which is sorted to the end."""
    from jitney.numpy.indexing import get
    from jitney.primitives.array.creation import iota

    dtype = promotion.dtype_of(q)
    one = scalar_operand(1, dtype, False)
    n = reductions.sum(unary.bitwise_not(isnan(x)), axis=dim, dtype=dtype, keepdims=keepdims)
    q_rank = len(shape_of(q))
    shares = reshape(q, (*shape_of(q), *(1,) * n.ndim)) if q_rank else q
    if q_rank == 0 and n.ndim:
        shares = expand_dims(q, tuple(range(n.ndim)))
    place = binary.mul(*promotion.align_ranks("multiply", shares, binary.sub(n, one)))
    low, high = unary.floor(place), unary.ceil(place)
    high_weight = binary.sub(place, low)
    low_weight = binary.sub(one, high_weight)
    zero = scalar_operand(0, dtype, False)

    def inside(k: ArrayLike) -> Array:
        aligned = promotion.align_ranks("minimum", k, binary.sub(n, one))
        return maximum(zero, minimum(*aligned))

    low, high = inside(low), inside(high)
    low, high = convert(low, _INT32), convert(high, _INT32)
    result_rank = low.ndim
    index: list[Any] = []
    for k, extent in enumerate(x.shape):
        if k == dim:
            index.append(None)
            continue
        position = q_rank + (k if keepdims or k < dim else k - 1)
        after = result_rank - position - 1
        index.append(reshape(iota(_INT32, extent), (extent, *(1,) * after)))

    def taken(at: ArrayLike) -> Array:
        index[dim] = at
        return get(x, tuple(index))

    return _pick(method, taken(low), taken(high), low_weight, high_weight)


def _by_weight(
    x: Array, weights: Array | None, q: ArrayLike, dim: int, keepdims: bool, ignore_nan: bool
) -> Array:
    """Returns the first sorted element at which the weights so far reach `q` times their total."""
    from jitney.numpy.creation import ones_like, zeros_like
    from jitney.numpy.cumulative import cumsum
    from jitney.numpy.take_put import take_along_axis
    from jitney.primitives.indexing.slice import slice_in_dim

    w = ones_like(x) if weights is None else weights
    wrong = binary.bitwise_or(compare.lt(w, zeros_like(w)), isnan(w))
    undefined = isnan(x)
    skipped = binary.bitwise_or(wrong, undefined)
    total = cumsum(select.select(skipped, zeros_like(w), w), axis=dim)
    n = x.shape[dim]
    last = slice_in_dim(total, n - 1, n, axis=dim)
    q_shape = shape_of(q)
    shares = reshape(convert(q, x.dtype), (*q_shape, *(1,) * x.ndim))
    cutoff = binary.mul(*promotion.align_ranks("multiply", shares, last))
    reached = compare.lt(*[broadcast_to(y, (*q_shape, *x.shape)) for y in (total, cutoff)])
    k = dim + len(q_shape)
    index = reductions.sum(convert(reached, _INT32), axis=k, keepdims=True)
    index = select.clamp(
        scalar_operand(0, _INT32, False), index, scalar_operand(max(n - 1, 0), _INT32, False)
    )
    wide = broadcast_to(x, (*q_shape, *x.shape))
    out = take_along_axis(wide, index, axis=k)
    bad = reductions.any(wrong, axis=dim, keepdims=True)
    none = reductions.all(undefined, axis=dim, keepdims=True)
    if not ignore_nan:
        none = reductions.any(undefined, axis=dim, keepdims=True)
    out = where(binary.bitwise_or(bad, none), scalar_operand(np.nan, x.dtype, False), out)
    return out if keepdims else squeeze(out, (k,))


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
