"""Sorting of several operands together, with total orders and stability.

Keys of at most 32 bits are sorted as 64-bit integers with the key in the upper half and the
position in the lower: this is stable by construction, and NumPy's sort of integers is much faster
than its stable argsort.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.core.types import dtypes
from jitney.core.util.thresholds import threshold

_POSITION_BITS = 32
_POSITION = np.int64(0xFFFFFFFF)
_BLOCK = threshold(1024, small=4)  # elements per block, whose maximum is found first


def sort(xs: Sequence[np.ndarray], dim: int, num_keys: int, stable: bool) -> list[np.ndarray]:
    """Returns `xs` sorted together along `dim`, ascending, by the first `num_keys` operands.

    -0.0 equals 0.0, all NaN are equal and last, complex numbers are ordered by (real, imaginary).
    Equal elements keep their order, whether `stable` or not.
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
    """Returns the indices along `dim` that sort by `keys`, the first being the primary; stable."""
    parts = [part for x in keys for part in _comparable(x)]
    if len(parts) > 1:
        return np.lexsort(tuple(reversed(parts)), axis=dim)
    (key,) = parts
    ranks = _ranks(key)
    if ranks is None:
        return np.argsort(key, axis=dim, kind="stable")
    return np.sort(_with_position(ranks, dim), axis=dim) & _POSITION


def _comparable(x: np.ndarray) -> list[np.ndarray]:
    """Returns arrays, the primary key first, that NumPy orders as `x` is to be ordered."""
    if x.dtype.kind == "c":
        return [*_comparable(np.real(x)), *_comparable(np.imag(x))]
    if dtypes.issubdtype(x.dtype, np.floating):
        wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        # One zero, and one NaN, which NumPy sorts last.
        return [np.where(np.isnan(wide), np.asarray(np.nan, wide.dtype), wide + 0.0)]
    return [x.astype(np.int8) if x.dtype.kind == "V" else x]


def _ranks(x: np.ndarray) -> np.ndarray | None:
    """Returns 32-bit integers, as int64, in the total order of `x`; None if `x` is wider.

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
    """Returns words with `ranks` in the upper 32 bits, and positions along `dim` in the lower."""
    shape = [1] * ranks.ndim
    shape[dim] = ranks.shape[dim]
    position = np.arange(ranks.shape[dim], dtype=np.int64).reshape(shape)
    return (ranks << _POSITION_BITS) | position


def top_k(x: np.ndarray, k: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the k largest elements along `dim`, descending, and their int32 indices.

    Of equal elements the lower index is first. Floats are in the total order of their bits: NaN is
    largest, negative NaN smallest, -0.0 is less than 0.0.
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
    """Returns `top_k` of a long vector, computed from the elements above a lower bound.

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
    """Returns integers as wide as `x`, in its total order."""
    if x.dtype.kind not in "fV":
        return x
    signed = np.dtype(f"int{8 * x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).view(signed)
    return bits ^ ((bits >> (8 * x.dtype.itemsize - 1)) & np.iinfo(signed).max)


def _descending(x: np.ndarray, dim: int) -> np.ndarray:
    """Returns the indices along `dim` that sort 64-bit `x` in descending order; stable."""
    if x.dtype.kind == "f":
        bits = np.ascontiguousarray(x).view(np.int64).reshape(x.shape)
        x = bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))
    return np.argsort(~x, axis=dim, kind="stable")
