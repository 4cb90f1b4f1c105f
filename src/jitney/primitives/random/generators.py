"""The built-in random number generators, with the names of JAX, and the definition of new ones.

Threefry-2x32 is the default. `rbg` derives keys by Threefry and draws bits with
`rng_bit_generator`; `unsafe_rbg` derives keys with it, too. Philox-2x32, Philox-4x32 and
Threefry-4x32 hash a 64-bit counter, high word first, for each key or element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.types.avals import get_aval
from jitney.primitives.array.concatenation import concatenate, stack
from jitney.primitives.array.creation import full_like, iota
from jitney.primitives.array.shape import reshape, transpose
from jitney.primitives.elementwise.binary import (
    bitwise_or,
    bitwise_xor,
    shift_left,
    shift_right_logical,
)
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.indexing.slice import index_in_dim, slice_in_dim
from jitney.primitives.random import bits, key_words as key_words, prng
from jitney.primitives.random.bit_generator import rng_bit_generator
from jitney.primitives.random.counter_based import philox2x32, philox4x32, threefry4x32, word
from jitney.primitives.random.prng import PRNGImpl

if TYPE_CHECKING:
    from jitney.core.typing import Array

Shape = tuple[int, ...]

# --- Threefry-2x32, by the primitives' own rules --------------------------------------------------


def _threefry_keys(data: Array) -> Array:
    return bits.random_wrap_p.bind(data, impl=threefry)


def _threefry_data(keys: Array) -> Array:
    return bits.random_unwrap_p.bind(keys)


def _threefry_seed(seed: Array) -> Array:
    return _threefry_data(bits.random_seed_p.bind(seed, impl=threefry))


def _threefry_split(data: Array, shape: Shape) -> Array:
    return _threefry_data(bits.random_split_p.bind(_threefry_keys(data), shape=shape))


def _threefry_bits(data: Array, bit_width: int, shape: Shape) -> Array:
    return bits.random_bits_p.bind(_threefry_keys(data), bit_width=bit_width, shape=shape)


def _threefry_fold_in(data: Array, number: Array) -> Array:
    return _threefry_data(bits.random_fold_in_p.bind(_threefry_keys(data), number))


threefry = prng.register(
    PRNGImpl(
        (2,), _threefry_seed, _threefry_split, _threefry_bits, _threefry_fold_in,
        name="threefry2x32", tag="fry", packed=True,
    )
)  # fmt: skip

# --- rbg ------------------------------------------------------------------------------------------


def _rbg_seed(seed: Array) -> Array:
    half = _threefry_seed(seed)
    return concatenate([half, half], 0)


def _rbg_split(data: Array, shape: Shape) -> Array:
    size = math.prod(shape)
    halves = _threefry_split(reshape(data, (2, 2)), (size,))  # shape [halves, size, 2]
    return reshape(transpose(halves, (1, 0, 2)), (*shape, 4))


def _rbg_bits(data: Array, bit_width: int, shape: Shape) -> Array:
    return rng_bit_generator(data, shape, np.dtype(f"uint{bit_width}"))[1]


def _rbg_fold_in(data: Array, number: Array) -> Array:
    halves = reshape(data, (2, 2))
    return reshape(_threefry_fold_in(halves, full_like(number, number, shape=(2,))), (4,))


# `unsafe_rbg` draws this many groups of four words for each new key, and uses one of the groups, as
# JAX does.
_DRAWS = 10


def _unsafe_rbg_split(data: Array, shape: Shape) -> Array:
    _, keys = rng_bit_generator(data, (_DRAWS * math.prod(shape), 4))
    return reshape(slice_in_dim(keys, None, None, stride=_DRAWS), (*shape, 4))


def _unsafe_rbg_fold_in(data: Array, number: Array) -> Array:
    _, drawn = rng_bit_generator(_rbg_seed(number), (_DRAWS, 4))
    return bitwise_xor(data, index_in_dim(drawn, -1, keepdims=False))


rbg = prng.register(
    PRNGImpl((4,), _rbg_seed, _rbg_split, _rbg_bits, _rbg_fold_in, name="rbg", tag="rbg")
)
unsafe_rbg = prng.register(
    PRNGImpl(
        (4,), _rbg_seed, _unsafe_rbg_split, _rbg_bits, _unsafe_rbg_fold_in,
        name="unsafe_rbg", tag="urbg",
    )
)  # fmt: skip

# --- hashes of counters ---------------------------------------------------------------------------

Words = Sequence[Any]
Hash = Callable[[Words, Words], list[Any]]
"""A function (words of a key, high and low word of a counter) -> words."""


def _counters(size: int) -> list[Array]:
    """Returns the high and low words of the counters 0 ... size - 1."""
    low = iota(np.uint32, size)
    return [full_like(low, 0), low]


def _halves(seed: Array) -> list[Array]:
    """Returns the high and low word of an integer."""
    aval = get_aval(seed)
    low = convert_element_type(seed, np.uint32)
    if aval.dtype.itemsize < 8:
        # JAX shifts by 32, which results in 0 for shorter integers of either sign.
        return [full_like(low, 0), low]
    high = shift_right_logical(seed, np.array(32, aval.dtype))
    return [convert_element_type(high, np.uint32), low]


def _hashing(
    name: str,
    tag: str,
    n_words: int,
    seed: Callable[[Words], Words],
    keys: Hash,
    numbers: Hash,
    wide: Callable[[Words], Words],
) -> PRNGImpl:
    """Returns a generator that hashes counters.

    Args:
      name: name of the generator.
      tag: the abbreviation of the name in printed types.
      n_words: number of words of a key.
      seed: a function (high and low word of a seed) -> words of a hash, the first of which are the
        key.
      keys: the hash that derives new keys.
      numbers: the hash that generates random bits.
      wide: a function (words of the hash) -> high and low word of a 64-bit integer.
    """

    def words_of(data: Array) -> list[Array]:
        return [index_in_dim(data, i, keepdims=False) for i in range(n_words)]

    def make(number: Array) -> Array:
        return stack(seed(_halves(number))[:n_words])

    def split(data: Array, shape: Shape) -> Array:
        new = keys(words_of(data), _counters(math.prod(shape)))[:n_words]
        return reshape(stack(new, axis=1), (*shape, n_words))

    def fold_in(data: Array, number: Array) -> Array:
        number = convert_element_type(number, np.uint32)
        return stack(keys(words_of(data), [full_like(number, 0), number])[:n_words])

    def random_bits(data: Array, bit_width: int, shape: Shape) -> Array:
        hashed = numbers(words_of(data), _counters(math.prod(shape)))
        dtype = np.dtype(f"uint{bit_width}")
        if bit_width == 64:
            high, low = (convert_element_type(w, dtype) for w in wide(hashed))
            return reshape(bitwise_or(shift_left(high, np.array(32, dtype)), low), shape)
        mixed = hashed[0]
        for w in hashed[1:]:
            mixed = bitwise_xor(mixed, w)
        return reshape(convert_element_type(mixed, dtype), shape)

    return prng.register(
        PRNGImpl((n_words,), make, split, random_bits, fold_in, name=name, tag=tag)
    )


def _zeros(*like: Any) -> list[Array]:
    return [full_like(x, 0) for x in like]


philox2 = _hashing(
    "philox2x32", "phx2", 1,
    seed=lambda halves: philox2x32(word(0), *halves),
    keys=lambda key, counter: philox2x32(key[0], *counter),
    numbers=lambda key, counter: philox2x32(key[0], *counter),
    wide=lambda y: y,
)  # fmt: skip
philox4 = _hashing(
    "philox4x32", "phx4", 2,
    seed=lambda halves: philox4x32([word(0), word(0)], [*halves, *_zeros(*halves)]),
    keys=lambda key, counter: philox4x32(key, [*_zeros(*counter), *counter]),
    numbers=lambda key, counter: philox4x32(key, [*counter, *_zeros(*counter)]),
    wide=lambda y: y[:2],
)  # fmt: skip
threefry4 = _hashing(
    "threefry4x32", "fry4", 4,
    seed=lambda halves: threefry4x32([*halves, *_zeros(*halves)], [*_zeros(*halves), *_zeros(*halves)]),
    keys=lambda key, counter: threefry4x32(key, [*_zeros(*counter), *counter]),
    numbers=lambda key, counter: threefry4x32(key, [*counter, *_zeros(*counter)]),
    wide=lambda y: [bitwise_xor(y[0], y[2]), bitwise_xor(y[1], y[3])],
)  # fmt: skip


# --- user-defined generators -----------------------------------------------------------------------


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[[Array], Array],
    split: Callable[[Array, Shape], Array],
    random_bits: Callable[[Array, int, Shape], Array],
    fold_in: Callable[[Array, Array], Array],
    name: str = "<unnamed>",
    tag: str = "?",
) -> prng.PRNGSpec:
    """Defines a generator of random bits, for which `jax.random.key(seed, impl=...)` makes keys.

    Its keys can be used with all transformations and samplers, like those of built-in generators.
    The functions are called with the data of a single key, which is an array or a tracer.

    Args:
      key_shape: shape of a key's data, an array of uint32 words.
      seed: function (integer scalar) -> uint32 [*key_shape], a key.
      split: function (uint32 [*key_shape], shape) -> uint32 [*shape, *key_shape], new keys.
      random_bits: function (uint32 [*key_shape], bit width, shape) -> unsigned integers [*shape] of
        that width.
      fold_in: function (uint32 [*key_shape], uint32 scalar) -> uint32 [*key_shape], a new key.
      name: the name of the generator in messages. The generator is not registered under this name.
      tag: the abbreviation of the name in printed types: `key<tag>`.

    Returns: an object that identifies the generator, to be passed to `jax.random.key` as `impl`.

    Example:
      >>> weyl = define_prng_impl(
      ...     key_shape=(1,),
      ...     seed=lambda seed: jnp.full((1,), seed, jnp.uint32),
      ...     split=lambda key, shape: random.bits(random.key(key[0]), (*shape, 1)),
      ...     random_bits=lambda key, width, shape: random.bits(
      ...         random.key(key[0]), shape, f"uint{width}"
      ...     ),
      ...     fold_in=lambda key, number: key ^ number,
      ...     tag="weyl",
      ... )
      >>> random.key(3, impl=weyl)
      Array((), dtype=key<weyl>) overlaying:
      [3]
    """
    return prng.PRNGSpec(PRNGImpl(tuple(key_shape), seed, split, random_bits, fold_in, name, tag))
