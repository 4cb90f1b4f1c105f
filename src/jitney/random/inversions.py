"""Distributions that are functions of uniform, normal or exponential variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
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
    """Draws from the log-normal distribution: exp(sigma x), where x is standard normal.

    Args:
      key: PRNG key.
      sigma: standard deviation of the logarithm.
      shape: shape of the result, to which `sigma` broadcasts; by default the shape of `sigma`.
      dtype: floating or complex dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating or complex, or `sigma` does not broadcast to `shape`,
        or does not promote to `dtype`.

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
    """Draws from the Pareto distribution with density b / x^(b + 1), x >= 1.

    Args:
      key: PRNG key.
      b: positive shape parameters.
      shape: shape of the result, to which `b` broadcasts; by default the shape of `b`.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or `b` does not broadcast to `shape`, or does not
        promote to `dtype`.

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
    """Draws from the Rayleigh distribution.

    The results are lengths of vectors in the plane, whose coordinates are normal variables with
    standard deviation `scale`.

    Args:
      key: PRNG key.
      scale: positive standard deviations.
      shape: shape of the result, to which `scale` broadcasts; by default the shape of `scale`.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or `scale` does not broadcast to `shape`, or does not
        promote to `dtype`.

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
    """Draws from the Weibull distribution: scale e^(1/concentration), where e is exponential.

    Args:
      key: PRNG key.
      scale: positive scale.
      concentration: positive shape parameter.
      shape: shape of the exponential draw, which broadcasts against the parameters; by default a
        single draw is shared by all parameters.
      dtype: floating dtype of the draw; float32 (float64 under x64) by default.

    Raises:
      ValueError: if `dtype` is not floating.

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
    """Draws from the triangular distribution on [left, right].

    The density rises linearly from `left` to `mode` and falls linearly to `right`.

    Args:
      key: PRNG key.
      left: lower bounds.
      mode: positions of the maximum of the density, between the bounds.
      right: upper bounds. The three parameters broadcast against each other.
      shape: shape of the result; by default the broadcast shape of the parameters.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or the parameters do not broadcast to `shape`, or do
        not promote to `dtype`.

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
    below = (peak - low) / (high - low)  # the probability of values below the mode
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
    """Draws from the Maxwell distribution: lengths of vectors of three standard normal variables.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating.

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
    """Draws Maxwell variables with random sign, times `scale`, plus `loc`.

    Args:
      key: PRNG key.
      loc: centers.
      scale: positive scale, broadcast against `loc`.
      shape: batch shape; the broadcast shape of the parameters if it is empty.
      dtype: floating dtype of the draw; float32 (float64 under x64) by default.

    Returns: floating array [*shape, *parameters], where `parameters` is the broadcast shape of
      `loc` and `scale`.

    Raises:
      ValueError: if `dtype` is not floating.

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
    """Draws from the Wald (inverse Gaussian) distribution of scale one.

    Source: J. R. Michael, W. R. Schucany and R. W. Haas, "Generating random variates using
    transformations with multiple roots", The American Statistician 30 (1976).

    Args:
      key: PRNG key.
      mean: positive means.
      shape: shape of the result, to which `mean` broadcasts; by default the shape of `mean`.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or `mean` does not broadcast to `shape`, or does not
        promote to `dtype`.

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
    # z^2 as a function of the result has two roots; each of them is chosen with a probability that
    # depends on the slope of the function there.
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
    """Draws from the geometric distribution: the number of trials up to the first success.

    Args:
      key: PRNG key.
      p: probabilities of success.
      shape: shape of the result, to which `p` broadcasts; by default the shape of `p`.
      dtype: integer dtype; int32 (int64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not an integer dtype, or `p` does not broadcast to `shape`.

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
    u = jnp.where(u == 0, 1, u)  # log(0) is infinite; u = 1 stands for success in the first trial
    log_failure = jnp.broadcast_to(lax.log1p(-p), shape)
    return lax.convert_element_type(lax.floor(lax.log(u) / log_failure) + 1, dtype)
