"""Keys: making, splitting, looking inside.

Keys come in two styles: typed key arrays (`key`), of dtype `key<fry>`, and raw arrays of uint32 with
a last axis of two words (`PRNGKey`). Every function takes either; results are of the same style.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core import config, dtypes
from jitney.core.avals import get_aval
from jitney.core.trace import Tracer
from jitney.primitives.random import bits as ops, prng


def is_key_array(x: Any) -> bool:
    """True for arrays and tracers of a key dtype."""
    dtype = getattr(x, "dtype", None)
    return dtype is not None and dtypes.issubdtype(dtype, dtypes.prng_key)


def _resolve(impl: Any, dtype: Any = None) -> prng.PRNGImpl:
    if impl is not None and dtype is not None:
        raise ValueError("key: give impl or dtype, not both")
    chosen = impl if impl is not None else dtype
    return prng.resolve(config.default_prng_impl() if chosen is None else chosen)


def _seeded(seed: Any, impl: prng.PRNGImpl) -> Any:
    if is_key_array(seed):
        raise TypeError("PRNG key seed must be an integer; got a key array")
    if isinstance(seed, int) and not isinstance(seed, bool | Tracer):
        # Python integers wider than the default integer keep their low 32 bits only, as in JAX;
        # ones that do not fit into 64 bits are refused.
        wide = np.int64(seed) if seed < 1 << 63 else np.uint64(seed).astype(np.int64)
        seed = wide if config.enable_x64() else wide.astype(np.int32)
    aval = get_aval(seed)
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"PRNG key seed must be an integer; got {seed!r}")
    return ops.random_seed_p.bind(jnp.asarray(seed), impl=impl)


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A typed key made from an integer.

    Args:
      seed: integer, scalar or array.
      impl: name of the generator; `jax_default_prng_impl` by default.
      dtype: a key dtype, instead of `impl`.

    Returns: a key array of the seed's shape.
    """
    if np.ndim(seed) and not is_key_array(seed):
        raise TypeError(
            "key accepts a scalar seed, but was given an array of shape "
            f"{np.shape(seed)} != (). Use jax.vmap for batching"
        )
    return _seeded(seed, _resolve(impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:  # the API's name
    """A raw key made from an integer: uint32[2].

    Args:
      seed: integer scalar.
      impl: name of the generator; `jax_default_prng_impl` by default.
    """
    if np.ndim(seed) and not is_key_array(seed):
        raise TypeError(
            "PRNGKey accepts a scalar seed, but was given an array of shape "
            f"{np.shape(seed)} != (). Use jax.vmap for batching"
        )
    return ops.random_unwrap_p.bind(_seeded(seed, _resolve(impl)))


def check_key(name: str, keys: Any, *, single: bool = True) -> tuple[Any, bool]:
    """(typed key array, whether `keys` was a raw one).

    Args:
      name: of the caller, for messages.
      keys: typed or raw.
      single: whether it must be one key.

    Raises:
      TypeError: if `keys` is not a key.
      ValueError: if it is an array of keys where one is wanted.
    """
    wrapped = not is_key_array(keys)
    typed = wrap_key_data(keys, impl=config.default_prng_impl()) if wrapped else keys
    if single and typed.shape != ():
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {typed.shape} != (). "
            "Use jax.vmap for batching."
        )
    return typed, wrapped


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """A typed key array from raw data: uint32[*shape, 2] -> key<fry>[*shape].

    Raises:
      TypeError: if the data is not of this dtype and shape.
    """
    chosen = _resolve(impl, dtype)
    data = key_bits_array
    if not all(hasattr(data, a) for a in ("ndim", "shape", "dtype")):
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data to have ndim, shape, and "
            f"dtype attributes. Got {data!r}"
        )
    if is_key_array(data):
        raise TypeError(
            f"wrap_key_data: expected raw key data, got a key array of type {data.dtype}"
        )
    n = len(chosen.key_shape)
    if tuple(data.shape[-n:]) != chosen.key_shape:
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data.shape to end with "
            f"{chosen.key_shape}; got shape={tuple(data.shape)} for impl={chosen.name}"
        )
    if data.dtype != np.uint32:
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; "
            f"got dtype={data.dtype}"
        )
    return ops.random_wrap_p.bind(data, impl=chosen)


def key_data(keys: Any) -> Any:
    """The data of keys: uint32[*shape, 2]; raw keys are returned as they are."""
    typed, _ = check_key("key_data", keys, single=False)
    return ops.random_unwrap_p.bind(typed)


def key_impl(keys: Any) -> Any:
    """The name of the generator of a key array."""
    typed, _ = check_key("key_impl", keys, single=False)
    impl = typed.dtype.impl
    return impl.name if impl.name in prng.implementations else prng.PRNGSpec(impl)


def key_dtype(impl_spec: Any = None) -> Any:
    """The dtype of key arrays of a generator."""
    return _resolve(impl_spec).key_dtype


def _same_style(typed: Any, wrapped: bool) -> Any:
    return ops.random_unwrap_p.bind(typed) if wrapped else typed


def split(key: Any, num: int | tuple[int, ...] = 2) -> Any:
    """New keys from one: an array of shape `num`.

    Args:
      key: a key.
      num: how many: a number or a shape.

    Returns: keys in the style of `key`; the first axes are `num`.
    """
    typed, wrapped = check_key("split", key)
    shape = tuple(num) if isinstance(num, tuple | list) else (operator.index(num),)
    return _same_style(ops.random_split_p.bind(typed, shape=shape), wrapped)


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer (its low 32 bits).

    Args:
      key: a key.
      data: integer scalar.
    """
    typed, wrapped = check_key("fold_in", key)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). "
            "Use jax.vmap for batching."
        )
    word = lax.convert_element_type(data, np.uint32)
    return _same_style(ops.random_fold_in_p.bind(typed, word), wrapped)


def clone(key: Any) -> Any:
    """The same key, as one that may be used once more under key-reuse checking."""
    typed, wrapped = check_key("clone", key, single=False)
    return _same_style(ops.random_clone_p.bind(typed), wrapped)


def random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Unsigned integers of `bit_width` bits from a typed key."""
    return ops.random_bits_p.bind(key, bit_width=bit_width, shape=shape)
