"""Seeding, splitting and drawing with generators other than Threefry-2x32.

Keys are arrays of words, uint32 [*shape, n] (`transforms.key_words`). The functions of a generator
take the data of a single key, and are batched over the axes of key arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.primitives.array.shape import reshape
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.random import bits
from jitney.primitives.random.prng import PRNGImpl
from jitney.transforms.key_words import over_axes

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Value

Shape = tuple[int, ...]


def _impl_of(keys: ShapedArray) -> PRNGImpl:
    dtype = keys.dtype
    assert isinstance(dtype, dtypes.KeyDType)
    return dtype.impl


def _shape(x: Value) -> Shape:
    return get_aval(x).shape


def _data(words: Value, impl: PRNGImpl) -> Array:
    """Reshapes words [*shape, n] to key data [*shape, *key_shape]."""
    return reshape(words, (*_shape(words)[:-1], *impl.key_shape))


def _words(data: Value, impl: PRNGImpl, shape: Shape) -> Array:
    """Reshapes key data [*shape, *key_shape], as returned by a generator, to words.

    Raises:
      TypeError: if the data has another shape or dtype.
    """
    aval = get_aval(data)
    if aval.shape != (*shape, *impl.key_shape) or aval.dtype != np.uint32:
        raise TypeError(
            f"wrap_key_data: for impl={impl.name}, the data of keys must be uint32 with trailing "
            f"axes {impl.key_shape}, but got {aval.str_short()}"
        )
    return reshape(data, (*shape, math.prod(impl.key_shape)))


@bits.random_seed_p.key_words
def _random_seed_key_words(avals: Sequence[ShapedArray], seeds: Value, *, impl: PRNGImpl) -> Array:
    shape = avals[0].shape
    return _words(over_axes(impl.seed, shape)(seeds), impl, shape)


@bits.random_split_p.key_words
def _random_split_key_words(avals: Sequence[ShapedArray], words: Value, *, shape: Shape) -> Array:
    impl, keys_shape = _impl_of(avals[0]), avals[0].shape

    def split(data: Array) -> Array:
        return impl.split(data, shape)

    new = over_axes(split, keys_shape)(_data(words, impl))
    return _words(new, impl, (*keys_shape, *shape))


@bits.random_fold_in_p.key_words
def _random_fold_in_key_words(avals: Sequence[ShapedArray], words: Value, numbers: Value) -> Array:
    impl = _impl_of(avals[0])
    shapes = [a.shape for a in avals]
    numbers = convert_element_type(numbers, np.uint32)
    new = over_axes(impl.fold_in, *shapes)(_data(words, impl), numbers)
    return _words(new, impl, np.broadcast_shapes(*shapes))


@bits.random_bits_p.key_words
def _random_bits_key_words(
    avals: Sequence[ShapedArray], words: Value, *, bit_width: int, shape: Shape
) -> Value:
    impl, keys_shape = _impl_of(avals[0]), avals[0].shape

    def draw(data: Array) -> Array:
        return impl.random_bits(data, bit_width, shape)

    drawn = over_axes(draw, keys_shape)(_data(words, impl))
    aval, dtype = get_aval(drawn), np.dtype(f"uint{bit_width}")
    if aval.shape != (*keys_shape, *shape) or aval.dtype != dtype:
        raise TypeError(
            f"random_bits of the generator {impl.name} must return {dtype} with shape {shape} for "
            f"each key, but returned {aval.str_short()} for keys of shape {keys_shape}"
        )
    return drawn


@bits.random_wrap_p.key_words
def _random_wrap_key_words(avals: Sequence[ShapedArray], data: Value, *, impl: PRNGImpl) -> Array:
    aval = avals[0]
    return _words(data, impl, aval.shape[: aval.ndim - len(impl.key_shape)])


@bits.random_unwrap_p.key_words
def _random_unwrap_key_words(avals: Sequence[ShapedArray], words: Value) -> Array:
    return _data(words, _impl_of(avals[0]))
