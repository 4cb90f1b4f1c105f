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
from jitney.numpy.log_sums import axes_of, logsumexp
from jitney.numpy.promotion import promote_dtypes_inexact


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
        count: Any = float(math.prod(x.shape[a] for a in axes_of(axis, x.ndim)))
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
