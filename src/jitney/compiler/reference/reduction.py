"""Reductions and cumulative reductions of ndarrays.

Sums and products of float16, bfloat16 and narrower floats are accumulated in float32 and rounded
once; those of integers wrap around. max and min propagate NaN. The result of an empty reduction is
the neutral element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.reference import scalar
from jitney.core.types import dtypes
from jitney.core.util import float_errors
from jitney.core.util.thresholds import threshold

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "logaddexp": np.logaddexp,
}
_SHORT = threshold(1024, small=16)  # maximum number of elements that are added sequentially
_BLOCK = threshold(64, small=4)
# The number of terms, a power of two, that running sums of more than `LONG_RUN` terms add
# sequentially.
RUN = threshold(1024, small=8)
LONG_RUN = threshold(4096, small=32)
ROUNDED = ("add", "mul", "logaddexp")  # reductions that round at each step
_ROW = threshold(512, small=8)  # minimum number of elements of one NumPy loop
_FLOAT32, _INT8 = np.dtype(np.float32), np.dtype(np.int8)


def neutral(fn: str, dtype: np.dtype) -> np.ndarray:
    """Returns the neutral element of the monoid `fn` in `dtype`."""
    if fn in ("add", "or", "xor"):
        return np.zeros((), dtype)
    if fn == "mul":
        return np.ones((), dtype)
    if fn == "and":
        return np.invert(np.zeros((), dtype))
    if dtype == np.bool_:
        return np.asarray(fn == "min")
    if dtypes.issubdtype(dtype, np.integer):
        info = dtypes.iinfo(dtype)
        return np.asarray(info.min if fn == "max" else info.max, dtype)
    extreme = np.asarray(-np.inf if fn in ("max", "logaddexp") else np.inf).astype(dtype)
    if dtypes.issubdtype(dtype, np.floating) and np.isnan(extreme):  # a format without infinity
        info = dtypes.finfo(dtype)
        return np.asarray(info.max if fn == "min" else info.min, dtype)
    return extreme


def carrier(dtype: np.dtype) -> np.dtype:
    """Returns the accumulator dtype for values of `dtype`."""
    if dtype.itemsize < 4 and dtypes.issubdtype(dtype, np.floating):
        return _FLOAT32
    if dtype.kind == "V":  # 4- and 2-bit integers: wrapping at 8 bits preserves the low bits
        return _INT8
    return dtype


def reduce(x: np.ndarray, fn: str, dims: Sequence[int]) -> np.ndarray:
    """Returns `x` reduced over the axes `dims` by the monoid `fn`."""
    dims = tuple(dims)
    dtype = x.dtype
    if not dims:
        return x
    wide = carrier(dtype)
    if wide != dtype:
        if x.size == 0:
            shape = [n for k, n in enumerate(x.shape) if k not in dims]
            return np.broadcast_to(neutral(fn, dtype), shape)
        return scalar.convert(reduce(scalar.convert(x, wide), fn, dims), dtype)
    if dtype == np.bool_ and fn in ("add", "mul", "max", "min"):
        fn = "or" if fn in ("add", "max") else "and"
    ufunc = _UFUNCS[fn]
    with float_errors.ignored():
        if fn == "add" and x.size > _SHORT and dtype.kind in "fc" and _is_long(x, dims):
            return _sum(x, dims)
        if fn in ("add", "mul"):
            return np.asarray(ufunc.reduce(x, axis=dims, dtype=dtype))
        if dtype.kind == "c" and np.isnan(x).any():
            return reduce_in_order(x, fn, dims)
        out = np.asarray(ufunc.reduce(x, axis=dims, initial=neutral(fn, dtype)[()]))
        zero = out == 0
        if fn not in ("max", "min") or dtype.kind != "f" or not zero.any():
            return out
        # 0.0 is greater than -0.0, but NumPy treats them as equal.
        first, other = _first_zero(fn)
        won = np.any((x == 0) & (np.signbit(x) == np.signbit(first)), axis=dims)
        return np.where(zero, np.where(won, first, other).astype(dtype), out)


def _is_long(x: np.ndarray, dims: Sequence[int]) -> bool:
    """Returns whether NumPy would add many elements sequentially."""
    if math.prod([x.shape[k] for k in dims]) <= _SHORT:
        return False
    kept = x.ndim - len(dims)
    return not (x.flags.c_contiguous and min(dims) >= kept)  # trailing axes are summed pairwise


def _sum(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Returns a sum of floats with logarithmic error growth along any axes.

    NumPy sums pairwise along the contiguous axis, and sequentially along all others. The latter are
    split into blocks, which are summed sequentially; then the sums of blocks are added.
    """
    # The axes are ordered by decreasing stride, so that contiguous ones can be merged.
    order = sorted(range(x.ndim), key=lambda k: -abs(x.strides[k]))
    transposed = x.transpose(order)
    joins = transposed.flags.c_contiguous
    shape: list[int] = []
    reduced: list[bool] = []
    for k in order:
        if joins and reduced and reduced[-1] == (k in dims):
            shape[-1] *= x.shape[k]
        else:
            shape.append(x.shape[k])
            reduced.append(k in dims)
    transposed = transposed.reshape(shape)
    for axis in range(len(shape) - 1, -1, -1):
        if reduced[axis]:
            transposed = _sum_of_blocks(transposed, axis)
    kept = [k for k in order if k not in dims]
    transposed = transposed.reshape([x.shape[k] for k in kept])
    return transposed if kept == sorted(kept) else transposed.transpose(np.argsort(kept))


def _sum_of_blocks(x: np.ndarray, axis: int) -> np.ndarray:
    """Returns the sum along one axis of an array whose axes are ordered by stride."""
    outer, length, inner = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    if length <= _SHORT or not inner or not x.size:
        return np.asarray(np.add.reduce(x, axis=axis))
    # Contiguous adjacent rows are merged, since NumPy's loops would otherwise be short.
    joined = 1
    if x.flags.c_contiguous:
        joined = min(max(1, _ROW // math.prod(inner)), length // (2 * _BLOCK))
    count = length // (_BLOCK * joined)
    block = length // (count * joined)
    whole = count * block * joined
    before = (slice(None),) * axis
    blocks = x[(*before, slice(whole))].reshape(*outer, count, block, joined, *inner)
    sums = np.add.reduce(blocks, axis=axis + 1).reshape(*outer, count * joined, *inner)
    total = _sum_of_blocks(sums, axis)
    if whole < length:
        total += np.add.reduce(x[(*before, slice(whole, None))], axis=axis)
    return total


def reduce_in_order(x: np.ndarray, fn: str, dims: Sequence[int]) -> np.ndarray:
    """Computes `reduce` element by element, for results that depend on the order."""
    combine = scalar.function(fn)
    rows = _rows(x, dims)
    total = np.broadcast_to(neutral(fn, x.dtype), rows.shape[1:])
    for row in rows:
        total = combine(total, row)
    return np.asarray(total)


def _rows(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Returns `x` with the axes `dims` merged into one, which is the first."""
    dims = sorted(dims)
    kept = [k for k in range(x.ndim) if k not in dims]
    shape = [x.shape[k] for k in kept]
    depth = math.prod(x.shape[k] for k in dims)
    return x.transpose(*dims, *kept).reshape(depth, *shape)


def arg_reduce(x: np.ndarray, kind: str, dim: int, index_dtype: DTypeLike) -> np.ndarray:
    """Returns the index along `dim` of the first largest or smallest element.

    NaN counts as the largest element, or as the smallest.
    """
    x = scalar.convert(x, carrier(x.dtype))
    find = np.argmax if kind == "max" else np.argmin
    return np.asarray(find(x, axis=dim)).astype(index_dtype)


def cumulative(x: np.ndarray, fn: str, dim: int, reverse: bool) -> np.ndarray:
    """Returns the running reduction of `x` along `dim`, from the end if `reverse`."""
    dtype = x.dtype
    wide = carrier(dtype)
    if wide != dtype:
        return scalar.convert(cumulative(scalar.convert(x, wide), fn, dim, reverse), dtype)
    if reverse:
        return np.flip(cumulative(np.flip(x, dim), fn, dim, False), dim)
    with float_errors.ignored():
        if fn == "add" and dtype.kind == "c" and x.shape[dim] > LONG_RUN:
            return _running_by_blocks(x, np.add, dim)
        if dtype.kind == "c" and (fn == "logaddexp" or np.isnan(x).any()):
            return _scan(x, fn, dim)
        if fn == "logaddexp":
            x = x + np.zeros((), dtype)  # even a single -0.0 becomes 0.0
        if fn in ROUNDED and dtype.kind == "f" and x.shape[dim] > LONG_RUN:
            return _running_by_blocks(x, _UFUNCS[fn], dim)
        kept = None if dtype == np.bool_ else dtype
        out = np.asarray(_UFUNCS[fn].accumulate(x, axis=dim, dtype=kept))
        return _with_signs_of_zeros(out, x, fn, dim) if fn in ("max", "min") else out


def _running_by_blocks(x: np.ndarray, ufunc: np.ufunc, dim: int) -> np.ndarray:
    """Returns a running reduction of float32 in float64, or of float64 by blocks of `RUN`.

    Each block is reduced sequentially, and is then combined with the reduction of the preceding
    blocks.
    """
    wide = np.result_type(x.dtype, np.float64)
    if wide != x.dtype:
        return ufunc.accumulate(x, axis=dim, dtype=wide).astype(x.dtype)
    out = np.empty_like(x)
    count, left = divmod(x.shape[dim], RUN)
    axes = (slice(None),) * dim
    whole = (*axes, slice(count * RUN))
    split = (*x.shape[:dim], count, RUN, *x.shape[dim + 1 :])
    blocks = out[whole].reshape(split)  # only one axis is split, so this is a view
    ufunc.accumulate(x[whole].reshape(split), axis=dim + 1, out=blocks)
    ends = (*axes, slice(None), -1)
    before = ufunc.accumulate(blocks[ends], axis=dim)
    if left:
        tail = (*axes, slice(count * RUN, None))
        ufunc.accumulate(x[tail], axis=dim, out=out[tail])
        ufunc(out[tail], before[(*axes, slice(count - 1, None))], out=out[tail])
    later = blocks[(*axes, slice(1, None))]
    ufunc(later, np.expand_dims(before[(*axes, slice(-1))], dim + 1), out=later)
    return out


def _first_zero(fn: str) -> tuple[float, float]:
    """Returns the zero that is the result of "max" or "min" of both zeros, and the other zero."""
    return (0.0, -0.0) if fn == "max" else (-0.0, 0.0)


def _with_signs_of_zeros(out: np.ndarray, x: np.ndarray, fn: str, dim: int) -> np.ndarray:
    """Returns `out`, running extrema of `x`, with zeros such that 0.0 > -0.0.

    NumPy treats them as equal.
    """
    zero = out == 0
    if out.dtype.kind != "f" or not zero.any():
        return out
    first, other = _first_zero(fn)
    wins = (x == 0) & (np.signbit(x) == np.signbit(first))
    won = np.logical_or.accumulate(wins, axis=dim)
    return np.where(zero, np.where(won, first, other).astype(out.dtype), out)


def _scan(x: np.ndarray, fn: str, dim: int) -> np.ndarray:
    """Computes `cumulative` element by element with the scalar function `fn`."""
    combine = scalar.function(fn)
    out = np.array(x)
    rows = np.moveaxis(out, dim, 0)
    for k in range(1, len(rows)):
        rows[k] = combine(rows[k - 1], rows[k])
    return out


def reduce_region(
    xs: Sequence[np.ndarray],
    inits: Sequence[np.ndarray],
    dims: Sequence[int],
    body: Callable[..., Sequence[np.ndarray]],
    elementwise: bool = False,
) -> list[np.ndarray]:
    """Reduces several arrays jointly by a function.

    Args:
      xs: the arrays, which have equal shapes.
      inits: the initial scalar of each accumulator.
      dims: the axes to reduce; elements are combined in row-major order.
      body: (*accumulators, *elements) -> accumulators, on scalars.
      elementwise: whether `body` accepts arrays as well, for many reductions at once.
    """
    rows = [_rows(x, dims) for x in xs]
    shape = rows[0].shape[1:]
    totals = [
        np.broadcast_to(np.asarray(i, x.dtype), shape) for i, x in zip(inits, xs, strict=True)
    ]
    if not math.prod(shape):
        return totals
    for row in zip(*rows, strict=True):
        if elementwise:  # a result can be a constant scalar
            totals = [np.broadcast_to(t, shape) for t in body(*totals, *row)]
            continue
        each = [body(*[t[at] for t in totals], *[r[at] for r in row]) for at in np.ndindex(shape)]
        totals = [
            np.asarray([f[i] for f in each], t.dtype).reshape(shape) for i, t in enumerate(totals)
        ]
    return totals
