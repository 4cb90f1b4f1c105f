"""`detrend`: subtracts the mean of a signal, or a line fitted to it."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Literal

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import promote_args_inexact
from jitney.primitives.elementwise.convert import as_value

Trend = Literal["linear", "l", "constant", "c"]


def _without_line(x: Array) -> Array:
    """Subtracts from `x` its least-squares line along the last axis.

    The line passes through the mean. If times are measured from their mean, the slope is a single
    quotient, so that no system of equations has to be solved.
    """
    n = x.shape[-1]
    times = np.arange(n) - (n - 1) / 2
    weights = (times / max(np.sum(times**2), 1)).astype(x.dtype)
    x = x - x.mean(-1, keepdims=True)
    slope = (x * weights).sum(-1, keepdims=True)
    return x - slope * times.astype(x.dtype)


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: Trend = "linear",
    bp: int | Sequence[int] | np.ndarray = 0,
    overwrite_data: None = None,
) -> Array:
    """Subtracts a constant or piecewise linear trend from `data` along an axis.

    Args:
      data: array; integers are converted to floats.
      axis: axis of the signals.
      type: "linear" (or "l") subtracts the least-squares line; "constant" (or "c") subtracts the
        mean.
      bp: break points of a piecewise linear trend: one or several static indices. A separate line
        is fitted to each piece.
      overwrite_data: must be None; arrays are immutable.

    Returns: array of the shape of `data`.

    Raises:
      NotImplementedError: if `overwrite_data` is given.
      ValueError: if `type` is unknown, or a break point is out of bounds.

    Example:
      >>> jax.scipy.signal.detrend(jnp.array([1., 2., 4., 5.])).round(2) + 0
      Array([ 0.1, -0.3,  0.3, -0.1], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError(
            "detrend: overwrite_data is not supported, because arrays are immutable"
        )
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError(f"detrend: `type` must be 'linear' or 'constant', but it is {type!r}")
    (operand,) = promote_args_inexact("jax.scipy.signal.detrend", data)
    x = as_value(operand)
    if type in ("constant", "c"):
        return x - x.mean(axis, keepdims=True)
    x = jnp.moveaxis(x, axis, -1)
    n = x.shape[-1]
    points = sorted({0, n, *(operator.index(point) for point in np.atleast_1d(np.asarray(bp)))})
    if points[0] < 0 or points[-1] > n:
        raise ValueError(
            f"detrend: `bp` must be indices from 0 to {n}, the length of the signals, but got {bp}"
        )
    pieces = [_without_line(x[..., start:end]) for start, end in itertools.pairwise(points)]
    out = jnp.concatenate(pieces, axis=-1) if pieces else x
    return jnp.moveaxis(out, -1, axis)
