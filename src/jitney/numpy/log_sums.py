"""Logarithms of sums of exponentials: `jax.nn.logsumexp`, and reductions by `logaddexp`."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from jitney import lax
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike, Axis
from jitney.numpy import reductions
from jitney.numpy.float_classes import isfinite
from jitney.numpy.promotion import promote_dtypes_inexact
from jitney.numpy.selection import where as choose
from jitney.primitives.array.broadcasting import broadcast_to, expand_dims
from jitney.primitives.array.canonical import canonical_axes
from jitney.primitives.elementwise.convert import as_value


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]: ...


def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """Computes log(sum(b * exp(a))) along `axis`, without overflow.

    Args:
      a: an array; integers are promoted to the default float.
      axis: an axis, a tuple of axes, or None for all axes.
      b: the factors of the exponentials, broadcast against `a`; 1 by default.
      keepdims: whether reduced axes are kept, with size 1.
      return_sign: whether to return the sign of the sum as well; the sum can then be negative.
      where: a boolean mask of the elements to include, broadcast to `a`.

    Returns: an array of inexact dtype; with `return_sign`, a pair of the logarithm of |sum| and the
      sign of the sum (its phase, if it is complex).
    """
    if b is not None:
        a_arr, b_arr = map(as_value, promote_dtypes_inexact(a, b))
        a_arr = choose(b_arr != 0, a_arr, -np.inf)
    else:
        (a_arr,) = map(as_value, promote_dtypes_inexact(a))
        b_arr = None
    if where is not None:
        a_arr = choose(where, a_arr, 0)
    axes = axes_of(axis, a_arr.ndim)
    real = a_arr.real if dtypes.issubdtype(a_arr.dtype, np.complexfloating) else a_arr
    a_max = reductions.max(real, axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    a_max = lax.stop_gradient(lax.select(isfinite(a_max), a_max, lax.full_like(a_max, 0)))
    spread = a_max if keepdims else expand_dims(a_max, axes)
    terms = lax.exp(lax.sub(a_arr, spread.astype(a_arr.dtype)))
    if b_arr is not None:
        terms = lax.mul(terms, broadcast_to(b_arr, terms.shape))
    total = reductions.sum(terms, axis=axes, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    if return_sign or not np.issubdtype(a_arr.dtype, np.complexfloating):
        magnitude = lax.abs(total)
    else:
        magnitude = total
    out = lax.add(lax.log(magnitude), a_max.astype(magnitude.dtype))
    if return_sign:
        return out, sign
    if b_arr is not None and not np.issubdtype(out.dtype, np.complexfloating):
        # A negative sum has no real logarithm.
        out = choose(sign < 0, np.asarray(np.nan, out.dtype), out)
    return out


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Returns `axis` (an axis, several, or None for all) as a tuple of nonnegative axes."""
    if axis is None:
        return tuple(range(ndim))
    return canonical_axes(axis, ndim)
