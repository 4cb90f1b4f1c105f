"""Joint stable sorting of several operands, with total orders.

Keys of at most 32 bits are sorted as 64-bit integers with the key in the upper half and the
position in the lower half. This is stable by construction, and NumPy's sort of integers is much
faster than its stable argsort.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.core.types import dtypes
from jitney.core.util.thresholds import threshold

_POSITION_BITS = 32
_POSITION = np.int64(0xFFFFFFFF)
_BLOCK = threshold(1024, small=4)  # elements per block, of which the maximum is found first


def sort(xs: Sequence[np.ndarray], dim: int, num_keys: int, stable: bool) -> list[np.ndarray]:
    """Returns `xs` sorted jointly along `dim`, by the first `num_keys` of them, in ascending order.

    -0.0 equals 0.0, all NaN are equal to each other and come last, and complex numbers are ordered
    by (real, imaginary). Equal elements keep their order, even if not `stable`.
    """
    if xs[0].ndim == 0:
        return list(xs)
    if len(xs) == 1 and _sorts_by_value(xs[0]):
        return [np.sort(xs[0], axis=dim)]
    order = order_of(xs[:num_keys], dim)
    return [np.take_along_axis(x, order, dim) for x in xs]


def _sorts_by_value(x: np.ndarray) -> bool:
    """Returns whether elements of `x` that compare equal have the same bits."""
    if x.dtype.kind in "iub":
        return True
    if x.dtype.kind != "f" or x.dtype.itemsize < 4:
        return False
    return not (np.signbit(x) & ((x == 0) | np.isnan(x))).any()


def order_of(keys: Sequence[np.ndarray], dim: int) -> np.ndarray:
    """Returns the indices along `dim` that sort stably by `keys`, primary key first."""
    parts = [part for x in keys for part in _comparable(x)]
    if len(parts) > 1:
        return np.lexsort(tuple(reversed(parts)), axis=dim)
    (key,) = parts
    ranks = _ranks(key)
    if ranks is None:
        return np.argsort(key, axis=dim, kind="stable")
    return np.sort(_with_position(ranks, dim), axis=dim) & _POSITION


def _comparable(x: np.ndarray) -> list[np.ndarray]:
    """Returns arrays, primary key first, whose order in NumPy is the order required for `x`."""
    if x.dtype.kind == "c":
        return [*_comparable(np.real(x)), *_comparable(np.imag(x))]
    if dtypes.issubdtype(x.dtype, np.floating):
        wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        # All zeros become the same zero, and all NaN the same NaN, which NumPy sorts last.
        return [np.where(np.isnan(wide), np.asarray(np.nan, wide.dtype), wide + 0.0)]
    return [x.astype(np.int8) if x.dtype.kind == "V" else x]


def _ranks(x: np.ndarray) -> np.ndarray | None:
    """Returns 32-bit integers, as int64, in the total order of `x`, or None if `x` is wider.

    Floats are ordered by their bits: negative NaN, -inf ... -0.0, 0.0 ... inf, NaN.
    """
    if x.dtype.kind == "V" or x.dtype == np.float16:
        x = x.astype(np.float32 if dtypes.issubdtype(x.dtype, np.floating) else np.int32)
    if x.dtype.itemsize > 4 or x.dtype.kind == "c":
        return None
    if x.dtype.kind == "f":
        x = np.ascontiguousarray(x, np.float32)
        bits = x.view(np.int32).reshape(x.shape)
        x = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
    ranks = x.astype(np.int64)
    return ranks - 2**31 if x.dtype == np.uint32 else ranks


def _with_position(ranks: np.ndarray, dim: int) -> np.ndarray:
    """Returns words with `ranks` in the upper half, and positions along `dim` in the lower half."""
    shape = [1] * ranks.ndim
    shape[dim] = ranks.shape[dim]
    position = np.arange(ranks.shape[dim], dtype=np.int64).reshape(shape)
    return (ranks << _POSITION_BITS) | position


def top_k(x: np.ndarray, k: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the k largest elements along `dim`, in descending order, and their int32 indices.

    Of equal elements, those with lower indices come first. Floats are ordered by their bits: NaN is
    the largest value, negative NaN is the smallest, and -0.0 is less than 0.0.
    """
    n = x.shape[dim]
    if x.ndim == 1 and 0 < 4 * k <= n // _BLOCK:
        return _few_largest(x, k)
    ranks = _ranks(x)
    if ranks is None:
        order = _descending(x, dim)[(*[slice(None)] * dim, slice(0, k))]
    else:
        # Descending order is ascending order of the complement.
        packed = _with_position(~ranks, dim)
        head = (*[slice(None)] * dim, slice(0, k))
        if 0 < k < n:
            packed = np.partition(packed, k - 1, axis=dim)
        order = np.sort(packed[head], axis=dim) & _POSITION
    return np.take_along_axis(x, order, dim), order.astype(np.int32)


def _few_largest(x: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Computes `top_k` of a long vector from its elements above a lower bound.

    The bound is the k-th largest of the maxima of blocks.
    """
    words = _ordered_words(x)
    whole = words.size // _BLOCK * _BLOCK
    peaks = words[:whole].reshape(-1, _BLOCK).max(axis=1)
    least = np.partition(peaks, peaks.size - k)[peaks.size - k]
    chosen = np.flatnonzero(words >= least)
    order = chosen[np.argsort(~words[chosen], kind="stable")[:k]]
    return x[order], order.astype(np.int32)


def _ordered_words(x: np.ndarray) -> np.ndarray:
    """Returns integers as wide as `x`, in the total order of `x`."""
    if x.dtype.kind not in "fV":
        return x
    signed = np.dtype(f"int{8 * x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).view(signed)
    return bits ^ ((bits >> (8 * x.dtype.itemsize - 1)) & np.iinfo(signed).max)


def _descending(x: np.ndarray, dim: int) -> np.ndarray:
    """Returns the indices along `dim` that sort 64-bit `x` stably in descending order."""
    if x.dtype.kind == "f":
        bits = np.ascontiguousarray(x).view(np.int64).reshape(x.shape)
        x = bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    return np.argsort(~x, axis=dim, kind="stable")
