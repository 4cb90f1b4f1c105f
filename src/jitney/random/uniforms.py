"""Random bits, uniform variables, integers, booleans and signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.primitives.array.placement import placed
from jitney.primitives.elementwise import convert
from jitney.primitives.elementwise.compiled_rules import LARGE
from jitney.primitives.random.floats import bits_per_float, unit_floats
from jitney.primitives.random.integers import offsets_below
from jitney.random.checks import Shape, broadcast_shape, inexact_dtype, integer_dtype, shape_of
from jitney.random.keys import check_key, random_bits, split

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike


def bits(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws random bits as unsigned integers.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: unsigned dtype; uint32 (uint64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not unsigned.

    Example:
      >>> random.bits(random.key(0), (2,), jnp.uint8)
      Array([167, 146], dtype=uint8)
    """
    key, _ = check_key("bits", key)
    dtypes.check_user_dtype_supported(dtype)
    asked = dtypes.requested_dtype(np.dtype("uint") if dtype is None else dtype)
    if not dtypes.issubdtype(asked, np.unsignedinteger):
        raise ValueError(
            f"jax.random.bits: `dtype` must be an unsigned integer dtype, but got {asked}"
        )
    return placed(random_bits(key, 8 * asked.itemsize, shape_of(shape)), None, out_sharding)


def uniform(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the uniform distribution on [minval, maxval).

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: floating dtype; float32 (float64 under x64) by default.
      minval: lower bound, which broadcasts to `shape`.
      maxval: upper bound, exclusive, which broadcasts to `shape`.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      ValueError: if `dtype` is not floating.
      TypeError: if a size in `shape` is negative or not static.

    Example:
      >>> random.uniform(random.key(0), (3,))
      Array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
      >>> random.uniform(random.key(0), (2,), minval=-1.0, maxval=1.0)
      Array([0.895334  , 0.95715976], dtype=float32)
    """
    key, _ = check_key("uniform", key)
    drawn = uniform_between(
        key, minval, maxval, shape=shape_of(shape), dtype=inexact_dtype("uniform", dtype)
    )
    return placed(drawn, None, out_sharding)


@jit_when_traced(name="_uniform", static_argnames=("shape", "dtype"), compiled_from=LARGE)
def uniform_between(
    key: Array, minval: ArrayLike, maxval: ArrayLike, *, shape: Shape, dtype: np.dtype
) -> Array:
    """Computes `uniform` for arguments that are checked: a typed key, canonical shape and dtype."""
    minval = lax.convert_element_type(minval, dtype)
    maxval = lax.convert_element_type(maxval, dtype)
    minval = lax.broadcast_to_rank(minval, len(shape))
    maxval = lax.broadcast_to_rank(maxval, len(shape))
    floats = unit_floats(random_bits(key, bits_per_float(dtype), shape), dtype)
    scaled = floats * (maxval - minval) + minval
    return lax.max(minval, lax.reshape(scaled, shape))


def randint(
    key: ArrayLike,
    shape: ShapeLike,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws integers from the uniform distribution on [minval, maxval).

    Args:
      key: PRNG key.
      shape: shape of the result.
      minval: lower bound, which broadcasts to `shape`; floats are truncated.
      maxval: exclusive upper bound, which broadcasts to `shape`. If it exceeds the maximum of the
        dtype, results include that maximum. If it is not greater than `minval`, the result is
        `minval`.
      dtype: integer dtype; int32 (int64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      TypeError: if `dtype` is not an integer dtype.
      ValueError: if the bounds do not broadcast to `shape`.

    Example:
      >>> random.randint(random.key(0), (5,), 0, 10)
      Array([9, 0, 2, 3, 1], dtype=int32)
    """
    key, _ = check_key("randint", key)
    asked = integer_dtype("randint", dtype)
    shape = shape_of(shape)
    minval, maxval = _truncated(minval), _truncated(maxval)
    if asked.itemsize < 4:
        # Integers are drawn in 32 bits, as the span may exceed the maximum of the dtype by one.
        info = dtypes.iinfo(asked)
        low = jnp.clip(_as_integers(minval, np.int32), max=int(info.max), min=int(info.min))
        high = jnp.clip(_as_integers(maxval, np.int32), max=int(info.max) + 1, min=int(info.min))
        drawn = _randint(key, low, high, shape=shape, dtype=np.dtype(np.int32))
        return placed(lax.convert_element_type(drawn, asked), None, out_sharding)
    return placed(_randint(key, minval, maxval, shape=shape, dtype=asked), None, out_sharding)


def _as_integers(x: ArrayLike, dtype: DTypeLike) -> Array | int:
    return x if isinstance(x, int) else lax.convert_element_type(x, dtype)


def _truncated(x: ArrayLike) -> ArrayLike:
    """Converts non-integers to integers, rounding toward zero."""
    dtype = get_aval(x).dtype
    if dtypes.issubdtype(dtype, np.integer):
        return x
    real = jnp.real(x) if dtypes.issubdtype(dtype, np.complexfloating) else x
    return lax.convert_element_type(real, dtypes.canonicalize_dtype(np.int64))


def _limited(x: ArrayLike, dtype: DTypeLike) -> Array:
    """Converts integers `x` to `dtype`, clipping them to its range."""
    x = convert.as_value(x)
    source, target = dtypes.iinfo(x.dtype), dtypes.iinfo(dtype)
    low, high = max(int(source.min), int(target.min)), min(int(source.max), int(target.max))
    bounds = [convert.scalar_operand(b, x.dtype, x.weak_type) for b in (low, high)]
    return lax.convert_element_type(jnp.clip(x, *bounds), dtype)


@jit_when_traced(static_argnames=("shape", "dtype"), compiled_from=LARGE)
def _randint(
    key: Array, minval: ArrayLike, maxval: ArrayLike, *, shape: Shape, dtype: np.dtype
) -> Array:
    broadcast_shape("randint", shape, np.shape(minval), np.shape(maxval))
    minval, maxval = convert.as_value(minval), convert.as_value(maxval)
    # An upper bound beyond the maximum of the dtype stands for the maximum plus one.
    top = _limited(np.array(dtypes.iinfo(dtype).max, dtype), maxval.dtype)
    past_the_end = lax.gt(maxval, top)
    minval, maxval = _limited(minval, dtype), _limited(maxval, dtype)
    minval = lax.broadcast_to_rank(minval, len(shape))
    maxval = lax.broadcast_to_rank(maxval, len(shape))
    n_bits = 8 * dtype.itemsize
    k1, k2 = split(key)
    higher, lower = random_bits(k1, n_bits, shape), random_bits(k2, n_bits, shape)
    unsigned = np.dtype(f"uint{n_bits}")
    span = lax.convert_element_type(maxval - minval, unsigned)
    # An empty range yields minval. The full range of the dtype has a span of zero, for which the
    # remainder is the identity.
    span = lax.select(maxval <= minval, lax.full_like(span, 1), span)
    widen = past_the_end & (maxval > minval)
    span = lax.select(jnp.broadcast_to(widen, span.shape), span + np.ones((), unsigned), span)
    offset = offsets_below(span, higher, lower)
    return lax.add(minval, lax.convert_element_type(offset, dtype))


def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: ShapeLike | None = None,
    mode: str = "low",
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws booleans that are True with probability `p`.

    Args:
      key: PRNG key.
      p: probabilities; integers are converted to floats.
      shape: shape of the result, to which `p` broadcasts; by default the shape of `p`.
      mode: "low" resolves `p` to the spacing of floats near one, "high" more finely.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Raises:
      TypeError: if `p` is complex.
      ValueError: if `p` does not broadcast to `shape`, or `mode` is unknown.

    Example:
      >>> random.bernoulli(random.key(0), 0.3, (4,)).any()
      Array(False, dtype=bool)
    """
    key, _ = check_key("bernoulli", key)
    if mode not in ("high", "low"):
        raise ValueError(f'jax.random.bernoulli: `mode` must be "high" or "low", but got {mode!r}')
    dtype = dtypes.canonicalize_dtype(dtypes.result_type(float, p))
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"jax.random.bernoulli: `p` must be real, but got {dtype}")
    p = lax.convert_element_type(p, dtype)
    final = broadcast_shape("bernoulli", shape, np.shape(p))
    return placed(_bernoulli(key, p, shape=final, mode=mode), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "mode"), compiled_from=LARGE)
def _bernoulli(key: Array, p: Array, *, shape: Shape, mode: str) -> Array:
    dtype = p.dtype
    if mode == "high":
        coarse, fine = uniform_between(key, 0.0, 1.0, shape=(2, *shape), dtype=dtype)
        return fine * np.array(_finest_step(dtype), dtype) < p - coarse
    return uniform_between(key, 0.0, 1.0, shape=shape, dtype=dtype) < p


def _finest_step(dtype: np.dtype) -> float:
    return 2.0 ** -dtypes.finfo(dtype).nmant


def rademacher(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws signs: -1 or 1 with equal probability.

    Args:
      key: PRNG key.
      shape: shape of the result.
      dtype: dtype of the result; int32 (int64 under x64) by default.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Example:
      >>> random.rademacher(random.key(0), (4,))
      Array([-1, -1,  1,  1], dtype=int32)
    """
    key, _ = check_key("rademacher", key)
    dtypes.check_user_dtype_supported(dtype)
    asked = dtypes.requested_dtype(int if dtype is None else dtype)
    return placed(_rademacher(key, shape=shape_of(shape), dtype=asked), None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype"))
def _rademacher(key: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    half = np.array(0.5, dtypes.canonicalize_dtype(float))
    drawn = bernoulli(key, half, shape)
    return 2 * lax.convert_element_type(drawn, dtype) - np.ones((), dtype)
