"""Covariances and counts: `cov`, `corrcoef`, `bincount`, `histogram` and the like."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.sharding.partition_spec import names_of
from jitney.core.sharding_in_types.sums import ShardingTypeError
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.numpy import promotion
from jitney.numpy.averages import average
from jitney.numpy.creation import array, asarray, full, ones_like, zeros
from jitney.numpy.joining import atleast_2d, concatenate
from jitney.numpy.out_sharding import call_with_sharding
from jitney.numpy.products import dot
from jitney.numpy.ranges import linspace
from jitney.numpy.reductions import max as max_of, min as min_of, ptp, sum as sum_of
from jitney.numpy.selection import clip, where
from jitney.numpy.sorting import searchsorted
from jitney.numpy.triangular import diag
from jitney.primitives.array.broadcasting import broadcast_to, expand_dims
from jitney.primitives.array.placement import placed
from jitney.primitives.array.resharding import as_named
from jitney.primitives.array.shape import reshape, shape_of, transpose
from jitney.primitives.elementwise import binary, unary
from jitney.primitives.elementwise.compiled_rules import LARGE
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand, user_dtype

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.sharding.sharding import Sharding

__all__ = [
    "bincount", "corrcoef", "cov", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",
]  # fmt: skip


# --- covariance -----------------------------------------------------------------------------------


@partial(jit_when_traced, static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Computes the covariance matrix of variables.

    Args:
      m: the observations, with a row for each variable.
      y: the observations of additional variables.
      rowvar: whether rows are variables; if False, columns are.
      bias: whether to divide by n instead of n - 1.
      ddof: the number subtracted from n in the divisor; by default 0 if `bias`, and 1 otherwise.
      fweights: integers, the number of times that each observation counts.
      aweights: the weights of the observations.
      dtype: the dtype of the result.

    Returns: a matrix with a row and a column for each variable; a scalar for one variable.

    Example:
      >>> jnp.cov(jnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    parts = _observations(m, y, dtype)
    x = atleast_2d(parts[0])
    if not rowvar and parts[0].ndim != 1:
        x = transpose(x, (1, 0))
    if x.shape[0] == 0:
        return full((0, 0), np.nan, dtypes.canonicalize_dtype(float))
    if y is not None:
        other = atleast_2d(parts[1])
        if not rowvar and other.shape[0] != 1:
            other = transpose(other, (1, 0))
        x = concatenate([x, other], axis=0)
    if x.shape[1] == 0:
        return full((x.shape[0],) * 2 if x.shape[0] > 1 else (), np.nan, x.dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    weights = _observation_weights(x, fweights, aweights)
    if weights is not None:
        weights = convert(weights, _real(x.dtype))
    mean, total = average(x, axis=1, weights=weights, returned=True)
    total = total[0]
    if weights is None:
        factor: Any = scalar_operand(x.shape[1] - ddof, _real(x.dtype), False)
    else:
        factor = _weighted_count(total, ddof, weights, aweights)
    x = x - expand_dims(mean, (1,))
    weighted = x if weights is None else binary.mul(x, broadcast_to(weights, x.shape))
    right = transpose(weighted, (1, 0))
    right = unary.conj(right) if promotion.is_complex(x.dtype) else right
    out = binary.div(dot(x, right), convert(factor, x.dtype))
    return out[0, 0] if out.shape == (1, 1) else out


def _observations(m: ArrayLike, y: ArrayLike | None, dtype: DTypeLike | None) -> list[Array]:
    """Returns `m`, and `y` if passed, promoted to `dtype`, or to a common inexact dtype if None.

    Raises:
      ValueError: if their rank is greater than 2, or `dtype` is not inexact.
    """
    if y is None:
        parts = [*promotion.promote_dtypes_inexact(promotion.ensure_arraylike("cov", m))]
    else:
        promotion.check_arraylike("cov", m, y)
        parts = [as_value(p) for p in promotion.promote_dtypes_inexact(m, y)]
    if dtype is not None:
        if not dtypes.issubdtype(dtype, np.inexact):
            raise ValueError(f"jnp.cov: `dtype` must be inexact (float or complex), not {dtype}")
        parts = [convert(p, user_dtype(dtype, "cov")) for p in parts]
    _check_observations("cov", *parts)
    return parts


def _check_observations(name: str, *parts: ArrayLike) -> None:
    shapes = [shape_of(p) for p in parts]
    if any(len(s) > 2 for s in shapes):
        raise ValueError(
            f"jnp.{name}: observations must have at most two axes, but the shapes are {shapes}"
        )


def _weighted_count(total: Array, ddof: int, weights: Array, aweights: ArrayLike | None) -> Array:
    """Returns the divisor of sums of products for observations whose `weights` sum to `total`."""
    if ddof == 0:
        return total
    if aweights is None:
        return total - ddof
    shares = unary.abs(convert(aweights, weights.dtype))
    return total - ddof * sum_of(weights * shares) / total


def _real(dtype: np.dtype[Any]) -> np.dtype:
    return np.dtype(np.finfo(dtype).dtype) if promotion.is_complex(dtype) else dtype


def _observation_weights(
    x: Array, fweights: ArrayLike | None, aweights: ArrayLike | None
) -> Array | None:
    weights = None
    for name, factor in (("fweights", fweights), ("aweights", aweights)):
        if factor is None:
            continue
        promotion.check_arraylike("cov", factor)
        factor = as_value(factor)
        if factor.ndim > 1:
            raise RuntimeError(
                f"jnp.cov: `{name}` must be a vector, but it has shape {factor.shape}"
            )
        if factor.shape[0] != x.shape[1]:
            raise RuntimeError(
                f"jnp.cov: `{name}` must have one element for each of "
                f"{messages.counted(x.shape[1], 'observation')}, "
                f"but {messages.there_are(factor.shape[0])}"
            )
        if name == "fweights" and not promotion.is_integer(factor.dtype):
            raise TypeError(
                "jnp.cov: `fweights`, which are counts, must be integers, but they have dtype "
                f"{factor.dtype}"
            )
        signed = not (
            factor.dtype == np.bool_ or dtypes.issubdtype(factor.dtype, np.unsignedinteger)
        )
        factor = unary.abs(factor) if name == "aweights" and signed else factor
        if weights is None:
            weights = factor
        else:
            dtype = dtypes.wider(weights.dtype, factor.dtype)
            weights = binary.mul(convert(weights, dtype), convert(factor, dtype))
    return weights


@partial(jit_when_traced, static_argnames=("rowvar", "dtype"))
def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """Computes the correlation coefficients of variables, in [-1, 1].

    Args:
      x: the observations, with a row for each variable.
      y: the observations of additional variables.
      rowvar: whether rows are variables; if False, columns are.
      dtype: the dtype of the result, which must be inexact.

    Raises:
      ValueError: if `dtype` is not inexact.

    Example:
      >>> jnp.corrcoef(jnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).round(3)
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    promotion.check_arraylike("corrcoef", x)
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"jnp.corrcoef: `dtype` must be inexact (float or complex), not {dtype}")
    _check_observations("corrcoef", *(x,) if y is None else (x, y))
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return binary.div(c, c)
    spread = convert(unary.sqrt(_real_part(diag(c))), c.dtype)
    out = c / expand_dims(spread, (1,)) / expand_dims(spread, (0,))
    if promotion.is_complex(c.dtype):
        return binary.complex(clip(unary.real(out), -1, 1), clip(unary.imag(out), -1, 1))
    return clip(out, -1, 1)


def _real_part(x: Array) -> Array:
    return unary.real(x) if promotion.is_complex(x.dtype) else x


# --- counts ---------------------------------------------------------------------------------------


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Sharding | None = None,
) -> Array:
    """Counts the occurrences of each nonnegative integer.

    Args:
      x: an integer array of rank 1; negative elements are counted as 0.
      weights: the weight of each element; 1 by default.
      minlength: the minimum size of the result.
      length: the size of the result, for use under `jit`; elements beyond it are ignored.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: an array of rank 1, of the default integer dtype or of the dtype of `weights`.

    Raises:
      TypeError: if the dtype of `x` is neither integer nor boolean.
      ValueError: if `x` is not of rank 1, or if the shape of `weights` differs from that of `x`.

    Example:
      >>> jnp.bincount(jnp.array([0, 1, 1, 3]))
      Array([1, 2, 0, 1], dtype=int32)
    """
    promotion.check_arraylike("bincount", x)
    x = as_value(x)
    if not (promotion.is_integer(x.dtype) or x.dtype == np.bool_):
        raise TypeError(
            f"jnp.bincount: `x` must be of an integer or boolean type, but it is {x.dtype}"
        )
    if x.ndim != 1:
        raise ValueError(f"jnp.bincount: `x` must be a vector, but it has shape {x.shape}")
    length = _number_of_counts(x, minlength, length)
    if x.dtype == np.bool_:
        x = convert(x, dtypes.canonicalize_dtype(np.int64))
    if weights is None:
        weights = np.asarray(1, dtypes.canonicalize_dtype(np.int64))[()]
    elif shape_of(weights) != x.shape:
        raise ValueError(
            "jnp.bincount: `weights` must have the shape of `x`, but they have shapes "
            f"{shape_of(weights)} and {x.shape}"
        )

    if out_sharding is not None:
        spec = as_named(out_sharding, "bincount").spec
        if any([names_of(entry) for entry in spec]):
            raise ShardingTypeError(
                f"jnp.bincount: counts must be replicated or unreduced, but out_sharding is {spec}: "
                "reshard the result with jax.reshard"
            )

    def counted(x: Array, weights: Array) -> Array:
        out = zeros((length,), promotion.dtype_of(weights))
        return out.at[clip(x, 0)].add(weights, mode="drop")

    return call_with_sharding(out_sharding, "bincount", counted, x, weights, is_sum=True)


def _number_of_counts(x: Array, minlength: int, length: int | None) -> int:
    """Returns the size of the result of `bincount`, which is `length` unless it is None."""
    minlength = operator.index(
        concrete_or_error(None, minlength, "`minlength` of jnp.bincount must be static")
    )
    if length is not None:
        return operator.index(
            concrete_or_error(None, length, "`length` of jnp.bincount must be static")
        )
    known = concrete_or_error(
        np.asarray,
        x,
        "The greatest element of `x` determines the size of the result of jnp.bincount, so it "
        "must be known, unless a static `length` is passed.",
    )
    return max(minlength, int(known.max()) + 1 if known.size else 0)


def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Array | Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Returns the edges of the intervals of a histogram.

    Args:
      a: an array of values.
      bins: the number of intervals, or their edges.
      range: the pair (lowest edge, highest edge); by default the smallest and largest value.
      weights: has no effect.

    Returns: an array of rank 1 of inexact dtype, with one element more than there are intervals.

    Example:
      >>> jnp.histogram_bin_edges(jnp.array([0.0, 4.0]), bins=4)
      Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    del weights
    return _bin_edges("histogram_bin_edges", a, bins, range)


def _bin_edges(
    name: str,
    a: ArrayLike,
    bins: ArrayLike,
    range: Array | Sequence[ArrayLike] | None,
) -> Array:
    if isinstance(bins, str):
        raise NotImplementedError(
            f"jnp.{name}: `bins` must be a number of bins or their edges, but it is {bins!r}; "
            "use np.histogram_bin_edges for edges by a named rule"
        )
    promotion.check_arraylike(name, a, bins)
    x = as_value(a)
    dtype = promotion.to_inexact(x.dtype)
    if len(shape_of(bins)) == 1:
        return convert(bins, dtype)
    count = operator.index(
        concrete_or_error(operator.index, bins, f"`bins` of jnp.{name} must be static")
    )
    if range is None:
        bounds = array([min_of(x), max_of(x)] if x.size else [0.0, 1.0])
    else:
        bounds = asarray(range)
    bounds = convert(bounds, dtype)
    if bounds.shape != (2,):
        raise ValueError(
            f"jnp.{name}: `range` must be the lowest and the highest edge, two scalars, but it "
            f"has shape {bounds.shape}"
        )
    low = where(ptp(bounds) == 0, bounds[0] - 0.5, bounds[0])
    high = where(ptp(bounds) == 0, bounds[1] + 0.5, bounds[1])
    return linspace(low, high, count + 1, dtype=dtype)


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Array | Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
    out_sharding: ShardingLike | None = None,
) -> tuple[Array, Array]:
    """Computes a histogram: the counts of values in intervals, and the edges of the intervals.

    Args:
      a: an array of values.
      bins: the number of intervals, or their edges.
      range: the pair (lowest edge, highest edge); by default the smallest and largest value.
      weights: the weight of each value; 1 by default.
      density: whether to normalize the counts so that the integral of the result is 1.
      out_sharding: the sharding of the counts; a PartitionSpec refers to the context mesh.

    Example:
      >>> jnp.histogram(jnp.array([0.0, 1.0, 1.5, 4.0]), bins=2)
      (Array([3., 1.], dtype=float32), Array([0., 2., 4.], dtype=float32))
    """
    if weights is None:
        x = promotion.ensure_arraylike("histogram", a)
        x = convert(x, promotion.to_inexact(x.dtype))
        w = ones_like(x)
    else:
        x, w = promotion.ensure_arraylike("histogram", a, weights)
        if x.shape != w.shape:
            raise ValueError(
                "jnp.histogram: `weights` must have the shape of `a`, but they have shapes "
                f"{w.shape} and {x.shape}"
            )
        x, w = (as_value(p) for p in promotion.promote_dtypes_inexact(x, w))
    edges = _bin_edges("histogram", x, bins, range)
    counts = _counts(x, edges, w)
    if density:
        widths = edges[1:] - edges[:-1]
        counts = counts / widths / sum_of(counts)
    return placed(counts, None, out_sharding), edges


@jit_when_traced(inline=True, compiled_from=LARGE)
def _counts(x: Array, edges: Array, weights: Array) -> Array:
    """Returns the sum of the weights of the values `x` in each interval."""
    index = searchsorted(edges, x, side="right")
    # The last interval includes its right end.
    index = where(x == edges[-1], edges.shape[0] - 1, index)
    return zeros((edges.shape[0],), weights.dtype).at[index].add(weights)[1:]


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Array | Sequence[Array | Sequence[ArrayLike] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Computes a two-dimensional histogram: the counts of points in rectangles.

    Args:
      x: the first coordinates, an array of rank 1.
      y: the second coordinates, an array of the same size.
      bins: the number of intervals, or their edges, for both axes; or a pair with one of these for
        each axis.
      range: a pair (lowest edge, highest edge) for each axis; by default the smallest and largest
        coordinate.
      weights: the weight of each point; 1 by default.
      density: whether to normalize the counts so that the integral of the result is 1.

    Returns: a tuple (counts, edges along x, edges along y).

    Example:
      >>> jnp.histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    x, y = promotion.ensure_arraylike("histogram2d", x, y)
    if x.ndim == 0 or y.ndim == 0:
        raise TypeError(
            "jnp.histogram2d: `x` and `y` must be vectors of coordinates, but they have shapes "
            f"{x.shape} and {y.shape}; use jnp.atleast_1d for a single point"
        )
    both: Any = [bins, bins] if _is_edges(bins) else bins
    from jitney.numpy.joining import stack

    sample = stack([x, y], axis=-1)
    counts, edges = histogramdd(sample, both, range, weights, density)
    return counts, edges[0], edges[1]


def _is_edges(bins: ArrayLike | Sequence[ArrayLike]) -> bool:
    """Returns whether `bins` contains edges that both axes share."""
    if isinstance(bins, Array | np.ndarray):
        return bins.ndim == 1 and bins.shape[0] not in (1, 2)
    return isinstance(bins, list | tuple) and len(bins) not in (1, 2)


def histogramdd(
    sample: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Array | Sequence[Array | Sequence[ArrayLike] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Computes a multidimensional histogram: the counts of points in boxes, and a list of edges.

    Args:
      sample: the coordinates, with a row for each point.
      bins: the number of intervals, one for all axes or one for each; or a list of the edges for
        each axis.
      range: a list with a pair (lowest edge, highest edge) for each axis; by default the smallest
        and largest coordinate.
      weights: the weight of each point; 1 by default.
      density: whether to normalize the counts so that the integral of the result is 1.

    Example:
      >>> counts, edges = jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 2.0]]), bins=2)
      >>> counts
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    if weights is None:
        points = promotion.ensure_arraylike("histogramdd", sample)
        points = convert(points, promotion.to_inexact(points.dtype))
    else:
        points, weights = promotion.ensure_arraylike("histogramdd", sample, weights)
        points, weights = (as_value(p) for p in promotion.promote_dtypes_inexact(points, weights))
    n, rank = points.shape
    if weights is not None and weights.shape != (n,):
        raise ValueError(
            f"jnp.histogramdd: `weights` must have one element for each of {n} samples, but it "
            f"has shape {weights.shape}"
        )
    if range is not None and len(range) != rank:
        raise ValueError(
            "jnp.histogramdd: `range` must have a pair of edges, or None, for each of "
            f"{rank} coordinates, but it has length {len(range)}"
        )
    each: Any = [bins] * rank if not shape_of_bins(bins) else bins
    if len(each) != rank:
        raise ValueError(
            f"jnp.histogramdd: `bins` must have an entry for each of {rank} coordinates, but it "
            f"has length {len(each)}"
        )
    edges: list[Any] = []
    index: list[Any] = []
    for k, bin_of in enumerate(each):
        along = points[:, k]
        bounds = None if range is None else range[k]
        bin_edges = _bin_edges("histogramdd", along, bin_of, bounds)
        place = searchsorted(bin_edges, along, side="right")
        index.append(where(along == bin_edges[-1], bin_edges.shape[0] - 1, place))
        edges.append(bin_edges)
    sizes = tuple([e.shape[0] + 1 for e in edges])
    counts = _count_cells(index, sizes, weights)
    counts = counts[(slice(1, -1),) * rank]
    return _densities(counts, edges) if density else counts, edges


def _densities(counts: Array, edges: list[Array]) -> Array:
    """Normalizes `counts` in boxes so that their integral is 1."""
    counts = counts / sum_of(counts)
    for k, e in enumerate(edges):
        widths = e[1:] - e[:-1]
        counts = counts / reshape(widths, (1,) * k + widths.shape + (1,) * (len(edges) - k - 1))
    return counts


def shape_of_bins(bins: ArrayLike | Sequence[ArrayLike]) -> bool:
    """Returns whether `bins` are specified for each axis separately."""
    return isinstance(bins, list | tuple) or bool(shape_of(bins))


def _count_cells(index: list[Any], sizes: tuple[int, ...], weights: Array | None) -> Array:
    dtype = dtypes.canonicalize_dtype(np.int64) if weights is None else weights.dtype
    one = scalar_operand(1, dtype, False)
    return zeros(sizes, dtype).at[tuple(index)].add(one if weights is None else weights)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
