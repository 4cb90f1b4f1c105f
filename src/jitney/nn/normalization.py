"""Softmax and its kin: what sums exponentials along axes."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit import jit_when_traced
from jitney.core import dtypes
from jitney.core.trace import concrete_or_error
from jitney.numpy.util import promote_dtypes_inexact


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `axis`, without overflow.

    Args:
      x: floating array.
      axis: an axis, several, or None for all.
      where: elements to count; the others give 0.
    """
    x_max = jnp.max(x, axis, where=where, initial=-jnp.inf, keepdims=True)
    x_safe = x if where is None else jnp.where(where, x, -jnp.inf)
    unnormalized = jnp.exp(x_safe - lax.stop_gradient(x_max))
    result = unnormalized / jnp.sum(unnormalized, axis, where=where, keepdims=True)
    return result if where is None else jnp.where(where, result, 0)


@jit_when_traced(static_argnames=("axis",))
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """log(softmax(x)) along `axis`, without overflow.

    Args:
      x: floating array.
      axis: an axis, several, or None for all.
      where: elements to count; the others give -inf.
    """
    x = jnp.asarray(x)
    x_max = jnp.max(x, axis, where=where, initial=-jnp.inf, keepdims=True)
    x_safe = x if where is None else jnp.where(where, x, -jnp.inf)
    shifted = x_safe - lax.stop_gradient(x_max)
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    result = shifted - jnp.log(total)
    return result if where is None else jnp.where(where, result, -jnp.inf)


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b exp(a))) along `axis`, without overflow.

    Args:
      a: array.
      axis: an axis, several, or None for all.
      b: factors, broadcast against `a`.
      keepdims: whether summed axes stay, of extent one.
      return_sign: whether to return the sign of the sum as well, so that it may be negative.
      where: elements to count.
    """
    if b is not None:
        a_arr, b_arr = promote_dtypes_inexact(a, b)
        a_arr = jnp.where(b_arr != 0, a_arr, -jnp.inf)
    else:
        (a_arr,) = promote_dtypes_inexact(a)
        b_arr = None
    if where is not None:
        a_arr = jnp.where(where, a_arr, 0)
    axes = _axes_of(axis, a_arr.ndim)
    real = a_arr.real if dtypes.issubdtype(a_arr.dtype, np.complexfloating) else a_arr
    a_max = jnp.max(real, axis=axes, keepdims=keepdims, where=where, initial=-jnp.inf)
    a_max = lax.stop_gradient(lax.select(jnp.isfinite(a_max), a_max, lax.full_like(a_max, 0)))
    spread = a_max if keepdims else jnp.expand_dims(a_max, axes)
    terms = lax.exp(lax.sub(a_arr, spread.astype(a_arr.dtype)))
    if b_arr is not None:
        terms = lax.mul(terms, jnp.broadcast_to(b_arr, terms.shape))
    total = jnp.sum(terms, axis=axes, keepdims=keepdims, where=where)
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
        out = jnp.where(sign < 0, jnp.array(np.nan, dtype=out.dtype), out)
    return out


def _axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    for a in axes:
        if not -ndim <= a < ndim:
            raise ValueError(f"axis {a} is out of bounds for array of dimension {ndim}")
    return tuple(a % ndim for a in axes)


@jit_when_traced(static_argnames=("axis", "keepdims"))
def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) along `axis`, without overflow.

    Args:
      x: floating array.
      axis: an axis, several, or None for all.
      where: elements to count.
      keepdims: whether averaged axes stay, of extent one.
    """
    x = jnp.asarray(x)
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    if where is None:
        count: Any = float(math.prod(x.shape[a] for a in _axes_of(axis, x.ndim)))
    else:
        count = jnp.count_nonzero(jnp.broadcast_to(where, x.shape), axis=axis, keepdims=keepdims)
    return total - jnp.log(count)


@jit_when_traced(static_argnames=("axis", "algorithm"))
def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) along `axis`.

    Args:
      x: floating array.
      axis: an axis, several, or None for all.
      mean: computed from x by default.
      variance: likewise.
      epsilon: added to the variance.
      where: elements to count in mean and variance.
      algorithm: "fast": variance as the mean of squares less the square of the mean; "two_pass":
        as the mean of squared differences.

    Raises:
      ValueError: if `algorithm` is none of these.
    """
    if algorithm not in ("fast", "two_pass"):
        raise ValueError(f'standardize: algorithm must be "fast" or "two_pass", got {algorithm!r}')
    (x,) = promote_dtypes_inexact(x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "two_pass":
            variance = jnp.var(x, axis, keepdims=True, where=where, mean=mean)
        else:
            squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
            # Rounding may make the difference negative.
            variance = jnp.clip(squares - jnp.square(mean), 0)
    return jnp.subtract(x, mean) * lax.rsqrt(variance + epsilon)


def one_hot(x: Any, num_classes: int, *, dtype: Any = None, axis: int | str = -1) -> Any:
    """1 at the index that x names, 0 elsewhere; all 0 where it names none.

    Args:
      x: integers.
      num_classes: extent of the new axis.
      dtype: of the result; the default floating dtype if None.
      axis: where the new axis goes.
    """
    count = concrete_or_error(
        operator.index, num_classes, "The error arose in jax.nn.one_hot argument `num_classes`."
    )
    asked = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    return _one_hot(x, num_classes=count, dtype=asked, axis=axis)


@jit_when_traced(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, *, num_classes: int, dtype: np.dtype, axis: Any) -> Any:
    x = jnp.asarray(x)
    out_ndim = x.ndim + 1
    if not -out_ndim <= axis < out_ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {out_ndim}")
    out_axis = axis % out_ndim
    left = jnp.expand_dims(x, (out_axis,))
    shape = [1] * out_axis + [num_classes] + [1] * (out_ndim - out_axis - 1)
    right = lax.broadcasted_iota(x.dtype, shape, out_axis)
    return (left == right).astype(dtype)
