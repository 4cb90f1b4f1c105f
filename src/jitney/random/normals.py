"""The normal distribution, and distributions sampled by inversion of one uniform variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.primitives.array.placement import placed
from jitney.random.checks import Shape, broadcast_shape, inexact_dtype, shape_of
from jitney.random.keys import check_key, random_bits, split
from jitney.random.uniforms import uniform_between

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike


def _constant(value: float, dtype: np.dtype) -> Any:
    # As operands, NumPy arrays defer to jitney arrays, which the stubs of NumPy do not declare.
    return np.array(value, dtype)


def _above_minus_one(dtype: np.dtype) -> np.ndarray:
    return np.nextafter(_constant(-1.0, dtype), _constant(0.0, dtype), dtype=dtype)


def _tiny(dtype: np.dtype) -> np.ndarray:
    return np.array(dtypes.finfo(dtype).tiny, dtype)


def normal(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the standard normal distribution.

    Complex variables have unit variance: real and imaginary parts have variance 1/2 each.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: floating or complex dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating or complex.

    Accuracy: the inverse error function, by which uniform variables are mapped to normal ones, is
      accurate to 2 ulp.

    Example:
      >>> random.normal(random.key(0), (2, 3)).shape
      (2, 3)
      >>> random.normal(random.key(0), (2,), "float16")
      Array([-0.4937, -0.7954], dtype=float16)
    """
    key, _ = check_key("normal", key)
    asked = inexact_dtype("normal", dtype, allow_complex=True)
    return placed(_normal(key, shape=shape_of(shape), dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _normal(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape=shape, dtype=dtype)
    real_dtype = np.real(np.zeros((), dtype)).dtype
    key_re, key_im = split(key)
    re = lax.convert_element_type(_normal_real(key_re, shape=shape, dtype=real_dtype), dtype)
    im = lax.convert_element_type(_normal_real(key_im, shape=shape, dtype=real_dtype), dtype)
    root_two = np.array(np.sqrt(np.array(2, real_dtype)), dtype)
    return (re + np.array(1j, dtype) * im) / root_two


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _normal_real(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    u = uniform_between(
        key, _above_minus_one(dtype), _constant(1.0, dtype), shape=shape, dtype=dtype
    )
    return _constant(np.sqrt(2), dtype) * lax.erf_inv(u)


def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the standard normal distribution truncated to [`lower`, `upper`].

    Args:
      key: PRNG key.
      lower: lower bounds.
      upper: upper bounds, broadcast against `lower`.
      shape: shape of the result; by default the broadcast shape of the bounds.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or the bounds do not broadcast to `shape`.

    Example:
      >>> x = random.truncated_normal(random.key(0), -1.0, 1.0, (1000,))
      >>> bool((jnp.abs(x) <= 1).all())
      True
    """
    key, _ = check_key("truncated_normal", key)
    asked = inexact_dtype("truncated_normal", dtype)
    final = broadcast_shape("truncated_normal", shape, np.shape(lower), np.shape(upper))
    drawn = _truncated_normal(key, lower, upper, shape=final, dtype=asked)
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _truncated_normal(
    key: Array, lower: ArrayLike, upper: ArrayLike, *, shape: Shape, dtype: np.dtype
) -> Array:
    lower = lax.convert_element_type(lower, dtype)
    upper = lax.convert_element_type(upper, dtype)
    root_two = _constant(np.sqrt(2), dtype)
    a, b = lax.erf(lower / root_two), lax.erf(upper / root_two)
    u = uniform_between(key, a, b, shape=shape, dtype=dtype)
    out = root_two * lax.erf_inv(u)
    # Rounding may produce values outside the interval.
    inf = _constant(np.inf, dtype)
    return jnp.clip(
        out,
        lax.nextafter(lax.stop_gradient(lower), inf),
        lax.nextafter(lax.stop_gradient(upper), -inf),
    )


def exponential(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the exponential distribution of rate one.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating.

    Example:
      >>> random.exponential(random.key(0), (3,))
      Array([2.950128  , 3.8434246 , 0.40390354], dtype=float32)
    """
    key, _ = check_key("exponential", key)
    drawn = _exponential(key, shape=shape_of(shape), dtype=inexact_dtype("exponential", dtype))
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _exponential(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    u = uniform_between(key, 0.0, 1.0, shape=shape, dtype=dtype)
    return lax.neg(lax.log1p(lax.neg(u)))


def gumbel(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the standard Gumbel distribution: -log(-log(u)), where u is uniform.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: floating dtype; float32 (float64 under x64) by default.
      mode: "low" (the default) uses one uniform variable per element; "high" uses two, which
        resolves the upper tail more finely; "highest" uses a 64-bit fixed-point variable, which
        resolves both tails. For dtypes other than float32, "highest" is the same as "high".
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating, or `mode` is unknown.

    Example:
      >>> random.gumbel(random.key(0), (3,)).shape
      (3,)
    """
    key, _ = check_key("gumbel", key)
    asked = inexact_dtype("gumbel", dtype)
    mode = "low" if mode is None else mode
    if mode not in ("highest", "high", "low"):
        raise ValueError(
            f'jax.random.gumbel: `mode` must be "low", "high" or "highest", but got {mode!r}'
        )
    return placed(_gumbel(key, shape=shape_of(shape), dtype=asked, mode=mode), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype", "mode"), compiled_from=0)
def _gumbel(key: Array, *, shape: Shape, dtype: np.dtype, mode: str) -> Array:
    if mode == "low":
        u = uniform_between(key, minval=_tiny(dtype), maxval=1.0, shape=shape, dtype=dtype)
        return -jnp.log(-jnp.log(u))
    if mode == "highest" and dtype == np.float32:
        return _gumbel_of_64_bits(key, shape)
    high, low = uniform_between(key, minval=0.0, maxval=1.0, shape=(2, *shape), dtype=dtype)
    step = _constant(2.0 ** -dtypes.finfo(dtype).nmant, dtype)
    # Below one half, the second variable adds bits that the first one does not resolve.
    u = jnp.where(high >= 0.5, high, high + step * low + _tiny(dtype))
    return -jnp.log(-jnp.log1p(-u))


def _gumbel_of_64_bits(key: Array, shape: Shape) -> Array:
    """Draws float32 Gumbel variables from uniform 64-bit fixed-point variables.

    A variable of one half or more is represented by its distance from one, so that both tails are
    resolved to the full precision of small floats.
    """

    def word(value: int) -> Any:
        return np.array(value, np.uint32)

    high, low = random_bits(key, 32, (2, *shape))
    is_lower = high < word(1 << 31)
    flipped = ~low
    carry = lax.convert_element_type(flipped == word(0xFFFFFFFF), np.uint32)
    high = lax.select(is_lower, high, ~high + carry)
    low = lax.select(is_lower, low, flipped + word(1))
    small = _float_of_64_bits(high, low)
    of_lower = -jnp.log(-jnp.log(small))
    of_upper = -jnp.log(-jnp.log1p(-small))
    return lax.select(is_lower, of_upper, of_lower)


def _float_of_64_bits(high: Array, low: Array) -> Array:
    """Returns (high 2^32 + low) / 2^64, which is below one, rounded down to float32."""

    def word(value: int) -> Any:
        return np.array(value, np.uint32)

    zeros, zeros_of_low = lax.clz(high), lax.clz(low)
    only_low = zeros == word(32)
    # Shifts by 32 yield zero.
    tail = lax.select(
        only_low,
        lax.shift_left(low, zeros_of_low),
        lax.shift_right_logical(low, word(32) - zeros),
    )
    leading = lax.shift_left(high, zeros) | tail
    mantissa = lax.shift_right_logical(leading, word(8)) & word(0x7FFFFF)
    exponent = word(126) - lax.select(only_low, word(32) + zeros_of_low, zeros)
    bits = (lax.shift_left(exponent, word(23)) & word(0x3FC00000)) | mantissa
    return lax.bitcast_convert_type(bits, np.float32)


def laplace(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the Laplace distribution of scale one.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating.
    """
    key, _ = check_key("laplace", key)
    drawn = _laplace(key, shape=shape_of(shape), dtype=inexact_dtype("laplace", dtype))
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _laplace(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    u = uniform_between(key, minval=_above_minus_one(dtype), maxval=1.0, shape=shape, dtype=dtype)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


def logistic(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the logistic distribution of scale one.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating.
    """
    key, _ = check_key("logistic", key)
    drawn = _logistic(key, shape=shape_of(shape), dtype=inexact_dtype("logistic", dtype))
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _logistic(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    u = uniform_between(key, minval=_tiny(dtype), maxval=1.0, shape=shape, dtype=dtype)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


def cauchy(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the Cauchy distribution of scale one.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: floating dtype; float32 (float64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating.
    """
    key, _ = check_key("cauchy", key)
    drawn = _cauchy(key, shape=shape_of(shape), dtype=inexact_dtype("cauchy", dtype))
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=0)
def _cauchy(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    lowest = _constant(float(dtypes.finfo(dtype).eps), dtype)
    u = uniform_between(key, minval=lowest, maxval=1.0, shape=shape, dtype=dtype)
    return lax.tan(lax.mul(_constant(np.pi, dtype), lax.sub(u, _constant(0.5, dtype))))
