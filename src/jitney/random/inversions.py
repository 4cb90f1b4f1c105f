"""Distributions by a formula of uniform, normal or exponential numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit import jit_when_traced
from jitney.core import dtypes
from jitney.primitives.array.placement import placed
from jitney.random.checks import (
    Shape,
    broadcast_shape,
    exponent,
    inexact_dtype,
    integer_dtype,
    promoted,
    shape_of,
)
from jitney.random.keys import check_key, split
from jitney.random.normals import exponential, normal
from jitney.random.uniforms import rademacher, uniform

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike


_ONE = np.float32(1)


def _constant(value: float, dtype: np.dtype) -> Any:
    return np.array(value, dtype)


def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = _ONE,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws log-normal numbers: exp(sigma x) of normal numbers x.

    Args:
      key: a key.
      sigma: standard deviations of the logarithm.
      shape: of the result; `sigma`'s by default, which broadcasts to it.
      dtype: a floating or complex dtype; float32 (float64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another, or `sigma` does not broadcast to `shape`, or does not promote
        to `dtype`.

    Example:
      >>> bool((random.lognormal(random.key(0), 0.5, (100,)) > 0).all())
      True
    """
    key, _ = check_key("lognormal", key)
    asked = inexact_dtype("lognormal", dtype, allow_complex=True)
    (sigma,) = promoted("lognormal", asked, sigma)
    final = broadcast_shape("lognormal", shape, np.shape(sigma))
    return placed(_lognormal(key, sigma, shape=final, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _lognormal(key: Array, sigma: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    return lax.exp(normal(key, shape, dtype) * jnp.broadcast_to(sigma, shape))


def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws Pareto numbers, exp(e / b) of exponential numbers e: density b / x^(b + 1), x >= 1.

    Args:
      key: a key.
      b: shape parameters, positive.
      shape: of the result; `b`'s by default, which broadcasts to it.
      dtype: a floating dtype; float32 (float64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another, or `b` does not broadcast to `shape`, or does not promote to
        `dtype`.

    Example:
      >>> bool((random.pareto(random.key(0), 3.0, (100,)) >= 1).all())
      True
    """
    key, _ = check_key("pareto", key)
    asked = inexact_dtype("pareto", dtype)
    (b,) = promoted("pareto", asked, b)
    final = broadcast_shape("pareto", shape, np.shape(b))
    return placed(_pareto(key, b, shape=final, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _pareto(key: Array, b: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    return lax.exp(exponential(key, shape, dtype) / b)


def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws Rayleigh numbers: lengths of plane vectors with normal coordinates of deviation `scale`.

    Args:
      key: a key.
      scale: positive.
      shape: of the result; `scale`'s by default, which broadcasts to it.
      dtype: a floating dtype; float32 (float64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another, or `scale` does not broadcast to `shape`, or does not promote
        to `dtype`.

    Example:
      >>> random.rayleigh(random.key(0), 2.0, (3,)).shape
      (3,)
    """
    key, _ = check_key("rayleigh", key)
    asked = inexact_dtype("rayleigh", dtype)
    (scale,) = promoted("rayleigh", asked, scale)
    final = broadcast_shape("rayleigh", shape, np.shape(scale))
    return placed(_rayleigh(key, scale, shape=final, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _rayleigh(key: Array, scale: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    log_u = lax.log(uniform(key, shape, dtype))
    return jnp.broadcast_to(scale, shape) * lax.sqrt(log_u * _constant(-2, dtype))


def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Draws Weibull numbers: `scale` times the (1/concentration)-th power of exponential numbers.

    Args:
      key: a key.
      scale: positive.
      concentration: the shape parameter, positive.
      shape: of the draw, with which the parameters are combined; by default one number for all.
      dtype: a floating dtype of the draw; float32 (float64 under x64) by default.

    Raises:
      ValueError: if the dtype is another.

    Example:
      >>> random.weibull_min(random.key(0), 1.0, 2.0, (3,)).shape
      (3,)
    """
    key, _ = check_key("weibull_min", key)
    asked = inexact_dtype("weibull_min", dtype)
    final = () if shape is None else shape_of(shape)
    return _weibull_min(key, scale, concentration, shape=final, dtype=asked)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _weibull_min(
    key: Array, scale: ArrayLike, concentration: ArrayLike, *, shape: Shape, dtype: np.dtype
) -> Array:
    u = uniform(key, shape, dtype, 0, 1)
    power = lax.neg(lax.log1p(lax.neg(u)))
    return power ** exponent(1 / jnp.asarray(concentration)) * scale


def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws numbers whose density rises linearly from `left` to `mode`, and falls to `right`.

    Args:
      key: a key.
      left: lower bounds.
      mode: where the density is highest, between the bounds.
      right: upper bounds; all three broadcast together.
      shape: of the result; that of the parameters by default.
      dtype: a floating dtype; float32 (float64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another, or the parameters do not broadcast to `shape`, or do not
        promote to `dtype`.

    Example:
      >>> x = random.triangular(random.key(0), 0.0, 1.0, 4.0, (100,))
      >>> bool(((x >= 0) & (x <= 4)).all())
      True
    """
    key, _ = check_key("triangular", key)
    asked = inexact_dtype("triangular", dtype)
    parameters = promoted("triangular", asked, left, mode, right)
    final = broadcast_shape("triangular", shape, *[x.shape for x in parameters])
    low, peak, high = (jnp.broadcast_to(x, final) for x in parameters)
    below = (peak - low) / (high - low)  # the probability of a number below the mode
    u = uniform(key, final, asked)
    rising = low + lax.sqrt(u * (high - low) * (peak - low))
    falling = high - lax.sqrt((_constant(1, asked) - u) * (high - low) * (high - peak))
    return placed(lax.select(u < below, rising, falling), None, out_sharding)


def maxwell(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws Maxwell numbers: lengths of vectors of three standard normal coordinates.

    Args:
      key: a key.
      shape: of the result.
      dtype: a floating dtype; float32 (float64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another.

    Example:
      >>> random.maxwell(random.key(0), (2, 3)).shape
      (2, 3)
    """
    key, _ = check_key("maxwell", key)
    drawn = _maxwell(key, shape=shape_of(shape), dtype=inexact_dtype("maxwell", dtype))
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _maxwell(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    return jnp.linalg.norm(normal(key, (*shape, 3), dtype), axis=-1)


def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Draws Maxwell numbers of random sign, times `scale`, plus `loc`.

    Args:
      key: a key.
      loc: the centres.
      scale: positive, broadcast against `loc`.
      shape: of the batch for each parameter.
      dtype: a floating dtype of the draw; float32 (float64 under x64) by default.

    Returns: floats [*shape, *parameters]; [*parameters] alone if `shape` is empty.

    Raises:
      ValueError: if the dtype is another.

    Example:
      >>> random.double_sided_maxwell(random.key(0), 0.0, jnp.ones(3), (2,)).shape
      (2, 3)
    """
    key, _ = check_key("double_sided_maxwell", key)
    asked = inexact_dtype("double_sided_maxwell", dtype)
    parameters = np.broadcast_shapes(np.shape(loc), np.shape(scale))
    final = (shape_of(shape) or parameters) + parameters
    return _double_sided_maxwell(key, loc, scale, shape=final, dtype=asked)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _double_sided_maxwell(
    key: Array, loc: ArrayLike, scale: ArrayLike, *, shape: Shape, dtype: np.dtype
) -> Array:
    key_size, key_sign = split(key)
    size = maxwell(key_size, shape, dtype)
    sign = rademacher(key_sign, shape, dtype)
    return sign * size * scale + loc


def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws Wald (inverse Gaussian) numbers of scale one.

    J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using transformations
    with multiple roots", The American Statistician 30 (1976).

    Args:
      key: a key.
      mean: positive.
      shape: of the result; `mean`'s by default, which broadcasts to it.
      dtype: a floating dtype; float32 (float64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another, or `mean` does not broadcast to `shape`, or does not promote
        to `dtype`.

    Example:
      >>> bool((random.wald(random.key(0), 2.0, (100,)) > 0).all())
      True
    """
    key, _ = check_key("wald", key)
    asked = inexact_dtype("wald", dtype)
    (mean,) = promoted("wald", asked, mean)
    final = broadcast_shape("wald", shape, np.shape(mean))
    return placed(_wald(key, mean, shape=final, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _wald(key: Array, mean: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    key_normal, key_uniform = split(key)
    mean = jnp.broadcast_to(mean, shape)
    z = normal(key_normal, shape, dtype)
    u = uniform(key_uniform, shape, dtype)
    # z^2 is a function of x with two roots; each is taken with the probability that its slope says.
    y = lax.integer_pow(z, 2)
    y_squared, mean_squared = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    two, four = _constant(2, dtype), _constant(4, dtype)
    root = lax.sqrt(four * mean * y + mean_squared * y_squared)
    smaller = mean + mean_squared * y / two - mean / two * root
    return lax.select(u <= mean / (mean + smaller), smaller, mean_squared / smaller)


def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws numbers of trials up to the first success, of probability `p` each: 1, 2, ...

    Args:
      key: a key.
      p: probabilities.
      shape: of the result; `p`'s by default, which broadcasts to it.
      dtype: an integer dtype; int32 (int64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another, or `p` does not broadcast to `shape`.

    Example:
      >>> bool((random.geometric(random.key(0), 0.3, (100,)) >= 1).all())
      True
    """
    key, _ = check_key("geometric", key)
    try:
        asked = integer_dtype("geometric", dtype)
    except TypeError as error:
        raise ValueError(str(error)) from None
    final = broadcast_shape("geometric", shape, np.shape(p))
    return placed(_geometric(key, p, shape=final, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _geometric(key: Array, p: ArrayLike, *, shape: Shape, dtype: np.dtype) -> Array:
    p = lax.convert_element_type(p, dtypes.result_type(p, float))
    u = uniform(key, shape, p.dtype)
    u = jnp.where(u == 0, 1, u)  # zero has no logarithm; one means a success at once
    log_failure = jnp.broadcast_to(lax.log1p(-p), shape)
    return lax.convert_element_type(lax.floor(lax.log(u) / log_failure) + 1, dtype)
