"""The gamma distribution and distributions derived from it: beta, Dirichlet, chi-square, F, t."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.primitives.array.placement import placed
from jitney.primitives.random.gamma import random_gamma_p
from jitney.random import approximate
from jitney.random.checks import Shape, broadcast_shape, exponent, inexact_dtype, promoted, shape_of
from jitney.random.keys import check_key, split
from jitney.random.normals import exponential, normal
from jitney.random.uniforms import rademacher

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike


def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the gamma distribution with density x^(a - 1) exp(-x) / Gamma(a), x > 0.

    The result is differentiable with respect to `a`, by implicit differentiation: the value of the
    cumulative distribution function at the result is held fixed.

    Args:
      key: PRNG key.
      a: positive shape parameters.
      shape: shape of the result, to which `a` broadcasts; by default the shape of `a`.
      dtype: floating dtype; float32 (float64 under x64) by default.
      method: "exact", or "approximate" for a formula without rejection, which is faster but
        slightly biased. Derivatives with respect to the parameters are derivatives of the formula.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, `method` is unknown, or `a` does not broadcast to
        `shape`.

    Accuracy: for small parameters most results underflow to zero; use `loggamma` instead.

    Example:
      >>> random.gamma(random.key(0), 2.0, (1000,)).shape
      (1000,)
    """
    key, _ = check_key("gamma", key)
    asked = inexact_dtype("gamma", dtype)
    final = broadcast_shape("gamma", shape, np.shape(a))
    draw = approximate.gamma if approximate.is_approximate("gamma", method) else _gamma
    return placed(draw(key, a, shape=final, dtype=asked), None, out_sharding)


def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws logarithms of gamma variables, which are accurate where the variables would underflow.

    The results are not the logarithms of the values that `gamma` draws with the same key.

    Args:
      key: PRNG key.
      a: positive shape parameters.
      shape: shape of the result, to which `a` broadcasts; by default the shape of `a`.
      dtype: floating dtype; float32 (float64 under x64) by default.
      method: "exact", or "approximate" for a formula without rejection, which is faster but
        slightly biased. Derivatives with respect to the parameters are derivatives of the formula.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, `method` is unknown, or `a` does not broadcast to
        `shape`.

    Example:
      >>> bool(random.loggamma(random.key(0), 1e-4) < -100)
      True
    """
    key, _ = check_key("loggamma", key)
    asked = inexact_dtype("gamma", dtype)
    final = broadcast_shape("gamma", shape, np.shape(a))
    draw = approximate.gamma if approximate.is_approximate("loggamma", method) else _gamma
    return placed(draw(key, a, shape=final, dtype=asked, log_space=True), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype", "log_space"), compiled_from=0)
def _gamma(
    key: Array, a: ArrayLike, *, shape: Shape, dtype: np.dtype, log_space: bool = False
) -> Array:
    a = lax.convert_element_type(a, dtype)
    if a.shape != shape:
        a = jnp.broadcast_to(a, shape)
    return random_gamma_p.bind(key, a, log_space=log_space)


def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the beta distribution with density x^(a - 1) (1 - x)^(b - 1) / B(a, b) on (0, 1).

    The results are x / (x + y), where x and y are gamma variables with parameters `a` and `b`,
    computed from their logarithms. They are differentiable with respect to both parameters.

    Args:
      key: PRNG key.
      a: positive parameters.
      b: positive parameters, broadcast against `a`.
      shape: shape of the result; by default the broadcast shape of the parameters.
      dtype: floating dtype; float32 (float64 under x64) by default.
      method: "exact", or "approximate" for a formula without rejection, which is faster but
        slightly biased. Derivatives with respect to the parameters are derivatives of the formula.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, `method` is unknown, or the parameters do not
        broadcast to `shape`, or do not promote to `dtype`.

    Example:
      >>> x = random.beta(random.key(0), 2.0, 3.0, (1000,))
      >>> bool(((x > 0) & (x < 1)).all())
      True
    """
    key, _ = check_key("beta", key)
    asked = inexact_dtype("beta", dtype)
    a, b = promoted("beta", asked, a, b)
    final = broadcast_shape("beta", shape, np.shape(a), np.shape(b))
    is_close = approximate.is_approximate("beta", method)
    return placed(_beta(key, a, b, shape=final, dtype=asked, is_close=is_close), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype", "is_close"), compiled_from=0)
def _beta(
    key: Array, a: Array, b: Array, *, shape: Shape, dtype: np.dtype, is_close: bool = False
) -> Array:
    key_a, key_b = split(key)
    a, b = jnp.broadcast_to(a, shape), jnp.broadcast_to(b, shape)
    draw = approximate.gamma if is_close else _gamma
    log_x = draw(key_a, a, shape=shape, dtype=dtype, log_space=True)
    log_y = draw(key_b, b, shape=shape, dtype=dtype, log_space=True)
    largest = lax.max(log_x, log_y)
    x, y = lax.exp(log_x - largest), lax.exp(log_y - largest)
    return x / (x + y)


def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the Dirichlet distribution: vectors whose components sum to one.

    The density is proportional to prod x_i^(alpha_i - 1). The results are gamma variables with
    parameters `alpha`, divided by their sum; they are computed from logarithms. The results are
    differentiable with respect to `alpha`.

    Args:
      key: PRNG key.
      alpha: positive parameters [*batch, n].
      shape: batch shape, to which the batch shape of `alpha` broadcasts; by default the latter.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: floating array [*shape, n].

    Raises:
      ValueError: if `dtype` is not floating, `alpha` is a scalar, or its batch shape does not
        broadcast to `shape`.

    Example:
      >>> x = random.dirichlet(random.key(0), jnp.array([1.0, 2.0, 3.0]), (4,))
      >>> x.shape, bool(jnp.allclose(x.sum(-1), 1))
      ((4, 3), True)
    """
    key, _ = check_key("dirichlet", key)
    asked = inexact_dtype("dirichlet", dtype)
    if np.ndim(alpha) < 1:
        raise ValueError(
            f"jax.random.dirichlet: `alpha` must have at least one axis, but has shape "
            f"{np.shape(alpha)}"
        )
    batch = broadcast_shape("dirichlet", shape, np.shape(alpha)[:-1])
    return placed(_dirichlet(key, alpha, shape=batch, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _dirichlet(key: Array, alpha: ArrayLike, *, shape: Shape, dtype: np.dtype) -> Array:
    alpha = lax.convert_element_type(alpha, dtype)
    full = (*shape, alpha.shape[-1])
    log_x = _gamma(key, alpha, shape=full, dtype=dtype, log_space=True)
    largest = jnp.max(log_x, axis=-1, keepdims=True, initial=-np.inf)
    x = lax.exp(log_x - lax.stop_gradient(largest))
    return x / jnp.sum(x, axis=-1, keepdims=True)


def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    method: str = "exact",
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the chi-square distribution with `df` degrees of freedom.

    Args:
      key: PRNG key.
      df: positive degrees of freedom, not necessarily integers.
      shape: shape of the result, to which `df` broadcasts; by default the shape of `df`.
      dtype: floating dtype; float32 (float64 under x64) by default.
      method: "exact", or "approximate" for a formula without rejection, which is faster but
        slightly biased. Derivatives with respect to the parameters are derivatives of the formula.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, `method` is unknown, or `df` does not broadcast to
        `shape`, or does not promote to `dtype`.

    Example:
      >>> round(float(random.chisquare(random.key(0), 3.0, (10_000,)).mean()), 1)
      3.0
    """
    key, _ = check_key("chisquare", key)
    asked = inexact_dtype("chisquare", dtype)
    (df,) = promoted("chisquare", asked, df)
    final = broadcast_shape("chisquare", shape, np.shape(df))
    is_close = approximate.is_approximate("chisquare", method)
    drawn = _chisquare(key, df, shape=final, dtype=asked, is_close=is_close)
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype", "is_close"), compiled_from=0)
def _chisquare(
    key: Array, df: Array, *, shape: Shape, dtype: np.dtype, is_close: bool = False
) -> Array:
    two = _constant(2, dtype)
    draw = approximate.gamma if is_close else _gamma
    log_x = draw(key, df / two, shape=shape, dtype=dtype, log_space=True)
    return lax.exp(log_x) * two


def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the F distribution.

    The results are quotients of two chi-square variables, each divided by its degrees of freedom.

    Args:
      key: PRNG key.
      dfnum: positive degrees of freedom of the numerator.
      dfden: positive degrees of freedom of the denominator, broadcast against `dfnum`.
      shape: shape of the result; by default the broadcast shape of the parameters.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or the parameters do not broadcast to `shape`, or do
        not promote to `dtype`.

    Example:
      >>> random.f(random.key(0), 3.0, jnp.array([5.0, 7.0])).shape
      (2,)
    """
    key, _ = check_key("f", key)
    asked = inexact_dtype("f", dtype)
    dfnum, dfden = promoted("f", asked, dfnum, dfden)
    final = broadcast_shape("f", shape, np.shape(dfnum), np.shape(dfden))
    return placed(_f(key, dfnum, dfden, shape=final, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _f(key: Array, dfnum: Array, dfden: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    key_den, key_num = split(key)
    x = _chisquare(key_num, dfnum, shape=shape, dtype=dtype)
    y = _chisquare(key_den, dfden, shape=shape, dtype=dtype)
    return (x / dfnum) / (y / dfden)


def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from Student's t distribution with `df` degrees of freedom.

    Args:
      key: PRNG key.
      df: positive degrees of freedom.
      shape: shape of the result, to which `df` broadcasts; by default the shape of `df`.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or `df` does not broadcast to `shape`, or does not
        promote to `dtype`.

    Example:
      >>> random.t(random.key(0), 5.0, (2, 3)).shape
      (2, 3)
    """
    key, _ = check_key("t", key)
    asked = inexact_dtype("t", dtype)
    (df,) = promoted("t", asked, df)
    final = broadcast_shape("t", shape, np.shape(df))
    return placed(_t(key, df, shape=final, dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _t(key: Array, df: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    key_normal, key_gamma = split(key)
    x = normal(key_normal, shape, dtype)
    half = df / _constant(2, dtype)
    return x * lax.sqrt(half / _gamma(key_gamma, half, shape=shape, dtype=dtype))


def generalized_normal(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the generalized normal distribution, with density proportional to exp(-|x|^p).

    This is the Laplace distribution for p = 1, and the normal distribution of variance 1/2 for
    p = 2. |x|^p has the gamma distribution with parameter 1/p.

    Args:
      key: PRNG key.
      p: positive exponent.
      shape: shape of the result.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or `p` does not broadcast to `shape`.

    Example:
      >>> random.generalized_normal(random.key(0), 1.5, (3,)).shape
      (3,)
    """
    key, _ = check_key("generalized_normal", key)
    asked = inexact_dtype("generalized_normal", dtype)
    drawn = _generalized_normal(key, p, shape=shape_of(shape), dtype=asked)
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _generalized_normal(key: Array, p: ArrayLike, *, shape: Shape, dtype: np.dtype) -> Array:
    keys = split(key)
    power = gamma(keys[0], _inverse(p), shape, dtype)
    sign = rademacher(keys[1], shape, dtype)
    return sign * power ** exponent(_inverse(p))


def _inverse(p: ArrayLike) -> Array:
    return 1 / jnp.asarray(p)


def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws points uniformly from the unit ball of the p-norm in `d` dimensions.

    Source: F. Barthe, O. Guédon, S. Mendelson and A. Naor, "A probabilistic approach to the
    geometry of the l_p^n ball", Annals of Probability 33 (2005). The points are
    g / (sum |g|^p + e)^(1/p), with generalized normal variables g and an exponential variable e.

    Args:
      key: PRNG key.
      d: number of dimensions.
      p: exponent of the norm, at least one.
      shape: batch shape.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: floating array [*shape, d].

    Raises:
      ValueError: if `dtype` is not floating.

    Example:
      >>> x = random.ball(random.key(0), 3, shape=(100,))
      >>> bool((jnp.linalg.norm(x, axis=-1) <= 1).all())
      True
    """
    key, _ = check_key("ball", key)
    asked = inexact_dtype("ball", dtype)
    (d,) = shape_of(d, "`d` of jax.random.ball")
    return placed(_ball(key, p, d=d, shape=shape_of(shape), dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("d", "shape", "dtype"), compiled_from=0)
def _ball(key: Array, p: ArrayLike, *, d: int, shape: Shape, dtype: np.dtype) -> Array:
    key_direction, key_radius = split(key)
    g = generalized_normal(key_direction, p, (*shape, d), dtype)
    e = exponential(key_radius, shape, dtype)
    size = (jnp.abs(g) ** exponent(p)).sum(-1) + e
    return g / (size ** exponent(_inverse(p)))[..., None]


def _constant(value: float, dtype: np.dtype) -> Any:
    return np.array(value, dtype)
