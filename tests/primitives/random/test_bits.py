"""Random bits are made of hashed counters; keys and bits of one key do not depend on the others."""

import numpy as np
import pytest

import jitney
from jitney.core.types.avals import shaped_array
from jitney.primitives.random import bits
from jitney.primitives.random.prng import resolve

IMPL = resolve(jitney.random.key(0).dtype)
KEYS = jitney.random.split(jitney.random.key(3), (2, 3))


def data(keys):
    return np.asarray(bits.random_unwrap_p.bind(keys))


def draw(keys, width, shape):
    return np.asarray(bits.random_bits_p.bind(keys, bit_width=width, shape=shape))


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("width", [8, 16, 32])
def test_each_key_draws_for_itself(width, partitionable):
    with jitney.threefry_partitionable(partitionable):
        drawn = draw(KEYS, width, (5,))
        assert drawn.shape == (2, 3, 5)
        assert drawn.dtype == f"uint{width}"
        for place in np.ndindex(2, 3):
            np.testing.assert_array_equal(drawn[place], draw(KEYS[place], width, (5,)))
        assert draw(KEYS, width, (0, 2)).shape == (2, 3, 0, 2)


def test_numbers_of_counters_have_a_common_beginning():
    long = draw(KEYS[0, 0], 32, (9,))
    np.testing.assert_array_equal(draw(KEYS[0, 0], 32, (4,)), long[:4])
    np.testing.assert_array_equal(draw(KEYS[0, 0], 32, (3, 3)), long.reshape(3, 3))
    np.testing.assert_array_equal(draw(KEYS[0, 0], 8, (9,)), long.astype(np.uint8))


def test_narrow_integers_are_fields_of_words_unless_partitionable():
    with jitney.threefry_partitionable(False):
        words = draw(KEYS[0, 0], 32, (3,))
        np.testing.assert_array_equal(draw(KEYS[0, 0], 8, (11,)), words.view(np.uint8)[:11])


def test_compiled_draws_have_the_same_bits():
    for partitionable in (True, False):
        with jitney.threefry_partitionable(partitionable):
            got = jitney.jit(lambda k: draw_traced(k))(KEYS)
            np.testing.assert_array_equal(got, draw(KEYS, 16, (3,)))


def draw_traced(keys):
    return bits.random_bits_p.bind(keys, bit_width=16, shape=(3,))


def test_keys_are_wrapped_split_and_folded():
    words = np.arange(12, dtype=np.uint32).reshape(3, 2, 2)
    keys = bits.random_wrap_p.bind(words, impl=IMPL)
    assert keys.shape == (3, 2)
    np.testing.assert_array_equal(data(keys), words)
    new = bits.random_split_p.bind(keys, shape=(4,))
    assert new.shape == (3, 2, 4)
    assert len({tuple(k) for k in data(new).reshape(-1, 2)}) == 24
    folded = bits.random_fold_in_p.bind(keys[0, 0], np.uint32(5))
    # folding in a number hashes the counter that splitting into more keys hashes
    many = bits.random_split_p.bind(keys[0, 0], shape=(8,))
    np.testing.assert_array_equal(data(folded), data(many)[5])


def test_seeds_are_the_words_of_a_key():
    keys = bits.random_seed_p.bind(np.array([0, 7, -1], np.int32), impl=IMPL)
    np.testing.assert_array_equal(data(keys)[:2], [[0, 0], [0, 7]])


def test_only_keys_are_accepted():
    with pytest.raises(TypeError, match="random_bits requires a key array, got uint32"):
        bits.key_dtype_of(shaped_array((2,), np.uint32), "random_bits")
