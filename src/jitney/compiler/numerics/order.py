"""Meanings of sorting: several operands together, total order, stability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.core import dtypes


def _keys(x: np.ndarray) -> list[np.ndarray]:
    """Arrays that NumPy orders as `x` is to be ordered, most significant first."""
    if x.dtype.kind == "c":
        return [*_keys(x.real), *_keys(x.imag)]
    if dtypes.issubdtype(x.dtype, np.floating):
        wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        # One zero, one NaN, which NumPy puts last.
        return [np.where(np.isnan(wide), np.asarray(np.nan, wide.dtype), wide + 0.0)]
    return [x]


def order_of(xs: Sequence[np.ndarray], dim: int, num_keys: int) -> np.ndarray:
    """Indices along `dim` that sort the first `num_keys` of `xs`, stable."""
    keys = [k for x in xs[:num_keys] for k in _keys(x)]
    if len(keys) == 1:
        return np.argsort(keys[0], axis=dim, kind="stable")
    return np.lexsort(tuple(reversed(keys)), axis=dim)


def sort(xs: Sequence[np.ndarray], dim: int, num_keys: int, stable: bool) -> list[np.ndarray]:
    """`xs` sorted together along `dim`, ascending, by the first `num_keys`, the first foremost."""
    if len(xs) == 1 and xs[0].dtype.kind in "iub":
        return [np.sort(xs[0], axis=dim)]
    order = order_of(xs, dim, num_keys)
    return [np.take_along_axis(x, order, dim) for x in xs]


def top_k(x: np.ndarray, k: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest along `dim`, descending, and their int32 indices; NaN counts as largest."""
    n = x.shape[dim]
    flipped = np.flip(x, dim)
    order = n - 1 - np.flip(order_of([flipped], dim, 1), dim)
    order = order[(*[slice(None)] * dim, slice(0, k))]
    return np.take_along_axis(x, order, dim), order.astype(np.int32)
