"""Casts: functions whose result dtype is an argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.scalar_functions.declaration import BOOL, declare
from jitney.core.types import dtypes

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike


def convert(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Returns `x` converted to `dtype`.

    Floats are truncated to integers and clamped into range, and NaN becomes 0. Integers wrap
    around. All values but 0 are converted to True. If `dtype` is not complex, the imaginary part of
    complex numbers is dropped first.
    """
    old = x.dtype
    if old == dtype:
        return x
    if old.kind == "c" and np.dtype(dtype).kind != "c":
        return convert(np.real(x), dtype)
    if dtype == BOOL:
        return x != 0 if old.kind != "V" else x.astype(np.float32) != 0
    if dtypes.issubdtype(dtype, np.integer) and dtypes.issubdtype(old, np.floating):
        return _truncate(x, dtype)
    if old.kind == "V" and dtypes.issubdtype(old, np.integer):
        x = x.astype(np.int8)  # there are no casts between the smallest integers
    return x.astype(dtype)


def _truncate(x: np.ndarray, dtype: Any) -> np.ndarray:
    info = dtypes.iinfo(dtype)
    if old_is_narrow := x.dtype.itemsize < 4:
        x = x.astype(np.float32)
    if dtype.itemsize > 2 or old_is_narrow:
        x = x.astype(np.float64)
    high = float(info.max)
    if int(high) > info.max:  # for 64 bits: the next smaller double
        high = np.nextafter(high, 0)
    inside = np.clip(np.where(np.isnan(x), 0, x), float(info.min), high).astype(dtype)
    return np.where(x >= float(info.max), np.asarray(info.max, dtype), inside)


def bitcast(x: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Reinterprets the bytes of `x` as `dtype`; a different width adds or removes a last axis."""
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    x = np.asarray(x, order="C")  # ascontiguousarray would add an axis to scalars
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return x.view(dtype)
    if old > new:
        return x[..., None].view(dtype)
    return x.view(dtype)[..., 0]


declare("convert", convert, result=None, code="casts.convert")
declare("bitcast", bitcast, result=None, code="casts.bitcast", half="own")
