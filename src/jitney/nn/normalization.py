"""Softmax and related functions, standardization, and one-hot encoding."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.settings import config
from jitney.core.source.user_warnings import warn
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.numpy.log_sums import axes_of, logsumexp
from jitney.numpy.promotion import promote_dtypes_inexact
from jitney.primitives.array.placement import placed

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, Axis, DTypeLike


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Computes exp(x) / sum(exp(x)) along `axis` without overflow.

    Args:
      x: floating array.
      axis: one or several axes, or None for all.
      where: mask of the elements to include; the result is 0 elsewhere.

    Returns: array of the shape and dtype of x, which sums to 1 along `axis`.

    Example:
      >>> nn.softmax(jnp.array([0.0, 0.0, 1000.0]))
      Array([0., 0., 1.], dtype=float32)
      >>> nn.softmax(jnp.array([0.0, 0.0, 3.0]), where=jnp.array([True, True, False]))
      Array([0.5, 0.5, 0. ], dtype=float32)
    """
    if config.softmax_custom_jvp.value:
        return _softmax_by_its_result(x, axis, where)
    return _softmax(x, axis, where)


def _softmax(x: ArrayLike, axis: Axis, where: ArrayLike | None) -> Array:
    x_max = jnp.max(x, axis, where=where, initial=-jnp.inf, keepdims=True)
    x_safe = x if where is None else jnp.where(where, x, -jnp.inf)
    unnormalized = jnp.exp(x_safe - lax.stop_gradient(x_max))
    result = unnormalized / jnp.sum(unnormalized, axis, where=where, keepdims=True)
    return result if where is None else jnp.where(where, result, 0)


# For `jax_softmax_custom_jvp`: the derivative depends only on the result, which is the residual.
_softmax_by_its_result = custom_jvp(_softmax, nondiff_argnums=(1,))


@_softmax_by_its_result.defjvp
def _softmax_jvp(
    axis: Axis,
    primals: tuple[ArrayLike, ArrayLike | None],
    tangents: tuple[Array, Array | None],
) -> tuple[Array, Array]:
    (x, where), (dx, _) = primals, tangents
    y = _softmax_by_its_result(x, axis, where)
    return y, y * (dx - jnp.sum(y * dx, axis, where=where, keepdims=True))


@jit_when_traced(static_argnames=("axis",))
def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """Computes log(softmax(x)) along `axis` without overflow.

    Args:
      x: floating array.
      axis: one or several axes, or None for all.
      where: mask of the elements to include; the result is -inf elsewhere.

    Returns: array of the shape and dtype of x.

    Example:
      >>> nn.log_softmax(jnp.array([0.0, 1000.0]))
      Array([-1000.,     0.], dtype=float32)
    """
    x = jnp.asarray(x)
    x_max = jnp.max(x, axis, where=where, initial=-jnp.inf, keepdims=True)
    x_safe = x if where is None else jnp.where(where, x, -jnp.inf)
    shifted = x_safe - lax.stop_gradient(x_max)
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    result = shifted - jnp.log(total)
    return result if where is None else jnp.where(where, result, -jnp.inf)


@jit_when_traced(static_argnames=("axis", "keepdims"))
def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """Computes log(mean(exp(x))) along `axis` without overflow.

    Args:
      x: floating array.
      axis: one or several axes, or None for all.
      where: mask of the elements to include.
      keepdims: whether to keep reduced axes, with size one.

    Example:
      >>> nn.logmeanexp(jnp.array([2.0, 2.0]))
      Array(2., dtype=float32)
    """
    x = jnp.asarray(x)
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    if where is None:
        count: Any = float(math.prod(x.shape[a] for a in axes_of(axis, x.ndim)))
    else:
        mask = jnp.broadcast_to(where, x.shape)
        count = jnp.count_nonzero(mask, axis=axis, keepdims=keepdims).astype(total.dtype)
    return total - jnp.log(count)


@jit_when_traced(static_argnames=("axis", "algorithm"))
def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """Computes (x - mean) / sqrt(variance + epsilon) along `axis`.

    Args:
      x: array; integers are converted to the default float.
      axis: one or several axes, or None for all.
      mean: mean to subtract; computed from x by default.
      variance: variance to divide by; computed from x by default.
      epsilon: added to the variance.
      where: mask of the elements to include in mean and variance.
      algorithm: "fast" computes the variance as the mean of squares minus the square of the mean;
        "stable", as the mean of squared differences.

    Returns: array of the shape of x.

    Raises:
      ValueError: if `algorithm` is unknown.

    Example:
      >>> nn.standardize(jnp.array([1.0, 3.0]), epsilon=0.0)
      Array([-1.,  1.], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(
            f'standardize: algorithm must be "fast" or "stable", but got {algorithm!r}'
        )
    (x,) = promote_dtypes_inexact(x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            variance = jnp.var(x, axis, keepdims=True, where=where, mean=mean)
        else:
            squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
            # Rounding may make the difference negative.
            variance = jnp.clip(squares - jnp.square(mean), 0)
    spread: Any = variance
    return jnp.subtract(x, mean) * lax.rsqrt(spread + epsilon)


def one_hot(
    x: ArrayLike,
    num_classes: int,
    *,
    dtype: DTypeLike | None = None,
    axis: int = -1,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Returns the one-hot encoding of x: 1 at index x, 0 elsewhere.

    Out-of-bounds indices are encoded as zeros.

    Args:
      x: array of integer indices; other dtypes are deprecated.
      num_classes: size of the new axis.
      dtype: dtype of the result; the default float dtype if None.
      axis: position of the new axis.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: array of the shape of x with one more axis.

    Raises:
      ValueError: if the axis is out of bounds.

    Example:
      >>> nn.one_hot(jnp.array([2, 0, 5]), 3, dtype=jnp.int32)
      Array([[0, 0, 1],
             [1, 0, 0],
             [0, 0, 0]], dtype=int32)
    """
    count = concrete_or_error(
        operator.index,
        num_classes,
        "jax.nn.one_hot: `num_classes` is a size of the result, so it must be static.",
    )
    input_dtype = jnp.asarray(x).dtype
    if not dtypes.issubdtype(input_dtype, np.integer):
        warn(
            f"jax.nn.one_hot: `x` should have an integer dtype, but it is {input_dtype}; cast it "
            "with astype",
            DeprecationWarning,
        )
    asked = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"jax.nn.one_hot: `axis` must be an integer, but it is {axis!r}") from None
    return placed(_one_hot(x, num_classes=count, dtype=asked, axis=axis), None, out_sharding)


@jit_when_traced(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: ArrayLike, *, num_classes: int, dtype: np.dtype, axis: int) -> Array:
    x = jnp.asarray(x)
    out_ndim = x.ndim + 1
    if not -out_ndim <= axis < out_ndim:
        raise ValueError(
            f"jax.nn.one_hot: `axis`, an axis of the result, must be from {-out_ndim} to "
            f"{out_ndim - 1} for `x` of shape {x.shape}, but it is {axis}"
        )
    out_axis = axis % out_ndim
    left = jnp.expand_dims(x, (out_axis,))
    shape = [1] * out_axis + [num_classes] + [1] * (out_ndim - out_axis - 1)
    right = lax.broadcasted_iota(x.dtype, shape, out_axis)
    return (left == right).astype(dtype)
