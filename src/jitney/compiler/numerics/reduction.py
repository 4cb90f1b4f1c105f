"""Meanings of reductions and running folds on ndarrays.

Sums and products of float16 and bfloat16 are carried in float32 and rounded once; those of integers
wrap. NaN wins in max and min. A fold over nothing gives the neutral element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.core import dtypes

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


def neutral(fn: str, dtype: np.dtype) -> np.ndarray:
    """The neutral element of the monoid `fn`, of `dtype`."""
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
    extreme = -np.inf if fn in ("max", "logaddexp") else np.inf
    return np.asarray(extreme).astype(dtype)


def _is_half(dtype: np.dtype) -> bool:
    return dtype.itemsize == 2 and dtypes.issubdtype(dtype, np.floating)


def reduce(x: np.ndarray, fn: str, dims: Sequence[int]) -> np.ndarray:
    """`x` folded over the axes `dims` by the monoid `fn`."""
    dims = tuple(dims)
    dtype = x.dtype
    if not dims:
        return x
    if _is_half(dtype) and fn in ("add", "mul"):
        return reduce(x.astype(np.float32), fn, dims).astype(dtype)
    if dtype == np.bool_ and fn in ("add", "mul", "max", "min"):
        fn = "or" if fn in ("add", "max") else "and"
    ufunc = _UFUNCS[fn]
    if fn in ("add", "mul") and dtype.kind in "fciu":
        return np.asarray(ufunc.reduce(x, axis=dims, dtype=dtype))
    return np.asarray(ufunc.reduce(x, axis=dims, initial=neutral(fn, dtype)[()]))


def arg_reduce(x: np.ndarray, kind: str, dim: int, index_dtype: Any) -> np.ndarray:
    """Index along `dim` of the first largest or smallest element; NaN counts as such."""
    if dtypes.issubdtype(x.dtype, np.floating) and x.dtype.itemsize == 2:
        x = x.astype(np.float32)
    find = np.argmax if kind == "max" else np.argmin
    return np.asarray(find(x, axis=dim)).astype(index_dtype)


def cumulative(x: np.ndarray, fn: str, dim: int, reverse: bool) -> np.ndarray:
    """Running fold of `x` along `dim`, from the end if `reverse`."""
    dtype = x.dtype
    if _is_half(dtype):
        return cumulative(x.astype(np.float32), fn, dim, reverse).astype(dtype)
    if reverse:
        return np.flip(cumulative(np.flip(x, dim), fn, dim, False), dim)
    if dtype.kind == "c" and fn == "logaddexp":
        return np.log(np.cumsum(np.exp(x), axis=dim)).astype(dtype)
    return np.asarray(_UFUNCS[fn].accumulate(x, axis=dim, dtype=None if dtype == np.bool_ else dtype))


def reduce_region(
    xs: Sequence[np.ndarray],
    inits: Sequence[np.ndarray],
    dims: Sequence[int],
    body: Callable[..., Sequence[np.ndarray]],
) -> list[np.ndarray]:
    """Several arrays folded together: body(*accumulators, *elements) -> accumulators, elementwise."""
    dims = tuple(dims)
    shape = tuple(n for k, n in enumerate(xs[0].shape) if k not in dims)
    order = (*dims, *(k for k in range(xs[0].ndim) if k not in dims))
    flat = [x.transpose(order).reshape(-1, *shape) for x in xs]
    totals = [np.broadcast_to(np.asarray(i, x.dtype), shape) for i, x in zip(inits, xs, strict=True)]
    if not int(np.prod(shape)):
        return [np.array(t) for t in totals]
    for row in zip(*flat, strict=True):
        folded = [
            body(*[t[at] for t in totals], *[r[at] for r in row]) for at in np.ndindex(shape)
        ]
        totals = [
            np.asarray([f[i] for f in folded], t.dtype).reshape(shape) for i, t in enumerate(totals)
        ]
    return [np.array(t) for t in totals]
