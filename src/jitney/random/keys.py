"""PRNG keys: creating, splitting and inspecting them.

Keys come in two styles: typed key arrays (`key`), of dtype `key<fry>`, and raw uint32 arrays
(`PRNGKey`), whose last axis holds the words of a key: two for threefry2x32, four for rbg. Every
function accepts both; results have the style of the argument.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NewType

import numpy as np

from jitney import lax
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.settings import config
from jitney.core.source.user_warnings import warn
from jitney.core.types import dtypes
from jitney.primitives.random import bits as ops, generators as generators, prng, seeds

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike
    from jitney.primitives.random.prng import PRNGLike


Key = NewType("Key", Array)
Key.__doc__ = (
    """The type of PRNG key arrays, for annotations. Calling it returns the argument unchanged."""
)


def is_key_array(x: object) -> bool:
    """Returns whether `x` is an array or a tracer of a key dtype."""
    dtype = getattr(x, "dtype", None)
    return dtype is not None and dtypes.issubdtype(dtype, dtypes.prng_key)


def _resolve(impl: PRNGLike | None, dtype: dtypes.KeyDType | None = None) -> prng.PRNGImpl:
    if impl is not None and dtype is not None:
        raise ValueError(
            "jax.random.key: `impl` and `dtype` both specify the generator, so only one can be passed"
        )
    chosen = impl if impl is not None else dtype
    return prng.resolve(config.default_prng_impl() if chosen is None else chosen)


def _check_seed(name: str, seed: ArrayLike) -> None:
    if is_key_array(seed):
        raise TypeError(f"jax.random.{name}: the seed must be an integer, but it is already a key")
    if np.ndim(seed):
        raise TypeError(
            f"jax.random.{name}: the seed must have rank 0, but has shape {np.shape(seed)}; use "
            "jax.vmap to map over seeds"
        )


def key(
    seed: ArrayLike, *, impl: PRNGLike | None = None, dtype: dtypes.KeyDType | None = None
) -> Array:
    """Returns a typed PRNG key made from an integer seed.

    Equal seeds yield equal keys, and equal keys yield equal random numbers. Hence a key should be
    used only once; use `split` or `fold_in` to derive new keys from it.

    Args:
      seed: integer scalar. Only the low 32 bits of Python integers are used (64 under x64).
      impl: name of the generator; `jax_default_prng_impl` by default.
      dtype: a key dtype; an alternative to `impl`.

    Returns: key array of shape [], of dtype `key<fry>` for the generator threefry2x32.

    Raises:
      TypeError: if the seed is not an integer scalar.
      ValueError: if the generator is unknown, or both `impl` and `dtype` are given.

    Example:
      >>> random.key(42)
      Array((), dtype=key<fry>) overlaying:
      [ 0 42]
    """
    _check_seed("key", seed)
    return seeds.random_seed(seed, _resolve(impl, dtype))


def PRNGKey(seed: ArrayLike, *, impl: PRNGLike | None = None) -> Array:  # the API's name
    """Returns a raw PRNG key made from an integer seed; new programs should use `key`.

    Args:
      seed: integer scalar, as in `key`.
      impl: name of the generator; `jax_default_prng_impl` by default.

    Returns: uint32 array of the words of the key, [2] for threefry2x32 and [4] for rbg; a typed key
      if `jax_enable_custom_prng` is set.

    Raises:
      TypeError: if the seed is not an integer scalar.

    Example:
      >>> random.PRNGKey(42)
      Array([ 0, 42], dtype=uint32)
    """
    _check_seed("PRNGKey", seed)
    typed = seeds.random_seed(seed, _resolve(impl))
    return typed if config.enable_custom_prng.value else ops.random_unwrap_p.bind(typed)


def check_key(name: str, keys: ArrayLike, *, single: bool = True) -> tuple[Array, bool]:
    """Returns `keys` as a typed key array, and whether it was a raw one.

    Args:
      name: name of the caller, for error messages.
      keys: typed or raw keys.
      single: whether `keys` must be a single key.

    Raises:
      TypeError: if `keys` is not a key.
      ValueError: if `keys` is an array of keys and `single` is true.
    """
    wrapped = not is_key_array(keys)
    key_array: Any = keys
    typed: Array = (
        wrap_key_data(key_array, impl=config.default_prng_impl()) if wrapped else key_array
    )
    if wrapped and config.legacy_prng_key.value != "allow":
        _discourage_raw_key(name)
    if single and typed.shape != ():
        raise ValueError(
            f"jax.random.{name}: expected a single key, but got an array of keys of shape "
            f"{typed.shape}; use jax.vmap to map over keys"
        )
    return typed, wrapped


def _discourage_raw_key(name: str) -> None:
    message = (
        f"jax.random.{name}: got a legacy key, which is a uint32 array. Create typed keys with "
        "jax.random.key, or set jax_legacy_prng_key='allow'"
    )
    if config.legacy_prng_key.value == "error":
        raise ValueError(message)
    warn(message)


def wrap_key_data(
    key_bits_array: ArrayLike,
    *,
    impl: PRNGLike | None = None,
    dtype: dtypes.KeyDType | None = None,
) -> Array:
    """Returns a typed key array made from raw data. It is the inverse of `key_data`.

    Args:
      key_bits_array: uint32 array of shape [*shape, words], with 2 words for each key of
        threefry2x32 and 4 words for each key of rbg.
      impl: name of the generator; `jax_default_prng_impl` by default.
      dtype: a key dtype; an alternative to `impl`.

    Returns: key array of shape [*shape].

    Raises:
      TypeError: if `key_bits_array` does not have this dtype and shape.

    Example:
      >>> random.wrap_key_data(jnp.array([0, 42], jnp.uint32)) == random.key(42)
      Array(True, dtype=bool)
    """
    chosen = _resolve(impl, dtype)
    data: Any = key_bits_array
    if not all(hasattr(data, a) for a in ("ndim", "shape", "dtype")):
        instead = f".\nInstead: for a seed, jax.random.key({data})" if isinstance(data, int) else ""
        raise TypeError(
            f"{messages.subject('jax.random.wrap_key_data')}: expected a key, or a uint32 array of "
            f"the words of a key, but got {data!r}{instead}"
        )
    if is_key_array(data):
        raise TypeError(
            "jax.random.wrap_key_data: expected raw key data, but got a key array of dtype "
            f"{data.dtype}"
        )
    n = len(chosen.key_shape)
    if tuple(data.shape[-n:]) != chosen.key_shape:
        raise TypeError(
            f"jax.random.wrap_key_data: raw keys of impl={chosen.name} must have a shape that ends in "
            f"{chosen.key_shape}, but got shape={tuple(data.shape)}"
        )
    if data.dtype != np.uint32:
        raise TypeError(
            "jax.random.wrap_key_data: the raw data of keys must have dtype uint32, but got "
            f"dtype={data.dtype}"
        )
    return ops.random_wrap_p.bind(data, impl=chosen)


def key_data(keys: ArrayLike) -> Array:
    """Returns the raw data of keys, for example to store them.

    `wrap_key_data` is the inverse.

    Args:
      keys: key array of shape [*shape], or raw keys, which are returned unchanged.

    Returns: uint32 array of shape [*shape, words]; see `wrap_key_data`.

    Raises:
      TypeError: if `keys` are not keys.

    Example:
      >>> random.key_data(random.key(42))
      Array([ 0, 42], dtype=uint32)
    """
    typed, _ = check_key("key_data", keys, single=False)
    return ops.random_unwrap_p.bind(typed)


def key_impl(keys: ArrayLike) -> str | prng.PRNGSpec:
    """Returns the name of the generator of a key array.

    Args:
      keys: key array.

    Raises:
      TypeError: if `keys` are not keys.

    Example:
      >>> random.key_impl(random.key(0))
      'threefry2x32'
    """
    typed, _ = check_key("key_impl", keys, single=False)
    dtype: Any = typed.dtype
    impl: prng.PRNGImpl = dtype.impl
    return impl.name if impl.name in prng.implementations else prng.PRNGSpec(impl)


def key_dtype(impl_spec: PRNGLike | None = None) -> dtypes.KeyDType:
    """Returns the dtype of key arrays of a generator.

    Args:
      impl_spec: name of the generator; `jax_default_prng_impl` by default.
    """
    return _resolve(impl_spec).key_dtype


def _same_style(typed: Array, wrapped: bool) -> Array:
    return ops.random_unwrap_p.bind(typed) if wrapped else typed


def split(key: ArrayLike, num: int | tuple[int, ...] = 2) -> Array:
    """Splits a key into several new keys.

    Args:
      key: PRNG key, which should not be used again.
      num: number of the new keys, or their shape.

    Returns: key array in the style of `key`, with leading axes `num`.

    Raises:
      TypeError: if `key` is not a key.
      ValueError: if `num` is negative, or `key` is an array of keys; use `jax.vmap` to split each
        of them.

    Example:
      >>> key, subkey = random.split(random.key(0))
      >>> random.key_data(subkey)
      Array([ 928981903, 3453687069], dtype=uint32)
    """
    typed, wrapped = check_key("split", key)
    shape = tuple(num) if isinstance(num, tuple | list) else (operator.index(num),)
    if any(n < 0 for n in shape):
        raise ValueError(f"jax.random.split: `num` must be 0 or more, but it is {num}")
    return _same_style(ops.random_split_p.bind(typed, shape=shape), wrapped)


def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """Returns a new key derived from a key and an integer, such as the index of a step in a loop.

    Args:
      key: PRNG key.
      data: integer scalar, of which the low 32 bits are used; it can be traced.

    Returns: a key in the style of `key`.

    Raises:
      TypeError: if `key` is not a key, or `data` is not a scalar.

    Example:
      >>> key = random.key(0)
      >>> [int(random.randint(random.fold_in(key, i), (), 0, 100)) for i in range(4)]
      [91, 22, 59, 67]
    """
    typed, wrapped = check_key("fold_in", key)
    if np.ndim(data):
        raise TypeError(
            f"jax.random.fold_in: `data` must have rank 0, but has shape {np.shape(data)}; use "
            "jax.vmap to map over data"
        )
    word = lax.convert_element_type(data, np.uint32)
    return _same_style(ops.random_fold_in_p.bind(typed, word), wrapped)


def clone(key: ArrayLike) -> Array:
    """Returns the same key, marked as unused for key-reuse checking."""
    typed, wrapped = check_key("clone", key, single=False)
    return _same_style(ops.random_clone_p.bind(typed), wrapped)


def random_bits(key: Array, bit_width: int, shape: tuple[int, ...]) -> Array:
    """Draws unsigned integers of `bit_width` bits from a typed key."""
    return ops.random_bits_p.bind(key, bit_width=bit_width, shape=shape)
