"""Bits, uniform numbers, integers, and what is drawn from them directly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit import jit_when_traced
from jitney.core import dtypes
from jitney.core.avals import get_aval
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
      key: a key.
      shape: of the result.
      dtype: an unsigned dtype; uint32 (uint64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another.

    Example:
      >>> random.bits(random.key(0), (2,), jnp.uint8)
      Array([167, 146], dtype=uint8)
    """
    key, _ = check_key("bits", key)
    dtypes.check_user_dtype_supported(dtype)
    asked = dtypes.requested_dtype(np.dtype("uint") if dtype is None else dtype)
    if not dtypes.issubdtype(asked, np.unsignedinteger):
        raise ValueError(
            f"jax.random.bits: `dtype` must be an unsigned integer dtype, but is {asked}"
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
    """Draws numbers spread evenly over [minval, maxval).

    Args:
      key: a key.
      shape: of the result.
      dtype: a floating dtype; float32 (float64 under x64) by default.
      minval: lower bound, broadcast against `shape`.
      maxval: upper bound, likewise.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      ValueError: if the dtype is another.
      TypeError: if a size of `shape` is negative or not known.

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
    """Computes `uniform` of checked arguments: a typed key, a canonical shape and dtype."""
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
    """Draws integers spread evenly over [minval, maxval).

    Args:
      key: a key.
      shape: of the result.
      minval: lower bound, an array broadcast against `shape`; floats lose what is behind the point.
      maxval: upper bound, exclusive, likewise. One more than the dtype's maximum means that the maximum
        may be drawn. If it is not above `minval`, `minval` is drawn.
      dtype: an integer dtype; int32 (int64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      TypeError: if the dtype is another.
      ValueError: if bounds do not broadcast to `shape`.

    Example:
      >>> random.randint(random.key(0), (5,), 0, 10)
      Array([9, 0, 2, 3, 1], dtype=int32)
    """
    key, _ = check_key("randint", key)
    asked = integer_dtype("randint", dtype)
    shape = shape_of(shape)
    minval, maxval = _truncated(minval), _truncated(maxval)
    if asked.itemsize < 4:
        # Drawn as 32 bits: the span may be one more than the dtype holds.
        info = dtypes.iinfo(asked)
        low = jnp.clip(_as_integers(minval, np.int32), max=int(info.max), min=int(info.min))
        high = jnp.clip(_as_integers(maxval, np.int32), max=int(info.max) + 1, min=int(info.min))
        drawn = _randint(key, low, high, shape=shape, dtype=np.dtype(np.int32))
        return placed(lax.convert_element_type(drawn, asked), None, out_sharding)
    return placed(_randint(key, minval, maxval, shape=shape, dtype=asked), None, out_sharding)


def _as_integers(x: ArrayLike, dtype: DTypeLike) -> Array | int:
    return x if isinstance(x, int) else lax.convert_element_type(x, dtype)


def _truncated(x: ArrayLike) -> ArrayLike:
    """Returns numbers of other kinds as integers, towards zero."""
    dtype = get_aval(x).dtype
    if dtypes.issubdtype(dtype, np.integer):
        return x
    real = jnp.real(x) if dtypes.issubdtype(dtype, np.complexfloating) else x
    return lax.convert_element_type(real, dtypes.canonicalize_dtype(np.int64))


def _limited(x: ArrayLike, dtype: DTypeLike) -> Array:
    """Returns integers `x` as `dtype`, those that it cannot hold replaced by its nearest end."""
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
    # An upper bound past the dtype's maximum stands for one more than it.
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
    # An empty range gives minval; the whole range of the dtype has a span of zero, which the
    # remainder leaves alone.
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
      key: a key.
      p: probabilities, floating.
      shape: of the result; `p`'s by default, which broadcasts to it.
      mode: "low" resolves p to float32's spacing near one, "high" finer.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

    Raises:
      TypeError: if `p` is not floating.
      ValueError: if `p` does not broadcast to `shape`, or there is no such mode.

    Example:
      >>> random.bernoulli(random.key(0), 0.3, (4,)).any()
      Array(False, dtype=bool)
    """
    key, _ = check_key("bernoulli", key)
    if mode not in ("high", "low"):
        raise ValueError(f'bernoulli mode must be "high" or "low", got {mode!r}')
    dtype = dtypes.canonicalize_dtype(dtypes.result_type(float, p))
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"jax.random.bernoulli: `p` must be real, but is {dtype}")
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
      key: a key.
      shape: of the result.
      dtype: of the result; int32 (int64 under x64) by default.
      out_sharding: where the result is put; a PartitionSpec is on the mesh in force.

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
