"""Keys of a user's generator: its functions see the data of one key, in arrays of keys, too."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.primitives.random import bits, key_words  # noqa: F401  # sets the rules
from jitney.primitives.random.prng import PRNGImpl

SHAPE = (3,)  # of the data of a key


def seed(number):
    assert number.shape == ()
    return jnp.full(SHAPE, number.astype(np.uint32))


def split(key, shape):
    assert key.shape == SHAPE
    places = jnp.arange(int(np.prod(shape)), dtype=np.uint32).reshape(*shape, 1)
    return key * np.uint32(10) + places


def draw(key, width, shape):
    return jnp.full(shape, key[0]).astype(f"uint{width}")


def fold_in(key, number):
    return key + number


def generator(**functions):
    own = {"seed": seed, "split": split, "random_bits": draw, "fold_in": fold_in} | functions
    return PRNGImpl(SHAPE, **own, tag="own")


IMPL = generator()


def data(keys):
    return np.asarray(bits.random_unwrap_p.bind(keys))


def test_functions_see_one_key():
    keys = bits.random_seed_p.bind(np.array([[1, 2], [3, 4]], np.int32), impl=IMPL)
    np.testing.assert_array_equal(data(keys)[..., 0], [[1, 2], [3, 4]])
    new = bits.random_split_p.bind(keys[0], shape=(2,))
    np.testing.assert_array_equal(data(new)[..., 1], [[10, 11], [20, 21]])
    folded = bits.random_fold_in_p.bind(keys[0], np.uint32([5, 6]))
    np.testing.assert_array_equal(data(folded)[..., 2], [6, 8])
    drawn = bits.random_bits_p.bind(keys[1], bit_width=8, shape=(2,))
    np.testing.assert_array_equal(drawn, [[3, 3], [4, 4]])
    assert drawn.dtype == np.uint8


def test_data_are_wrapped_and_returned():
    words = np.arange(6, dtype=np.uint32).reshape(2, 3)
    keys = bits.random_wrap_p.bind(words, impl=IMPL)
    assert keys.shape == (2,)
    np.testing.assert_array_equal(data(keys), words)
    with pytest.raises(TypeError, match=r"trailing axes \(3,\), but got uint32\[2,2\]"):
        bits.random_wrap_p.bind(words[:, :2], impl=IMPL)


def test_functions_that_return_something_else():
    wrong = generator(random_bits=lambda key, width, shape: jnp.zeros(shape, np.float32))
    key = bits.random_seed_p.bind(np.int32(1), impl=wrong)
    with pytest.raises(TypeError, match=r"must return uint32 with shape \(2,\) for each key"):
        bits.random_bits_p.bind(key, bit_width=32, shape=(2,))
    short = generator(seed=lambda number: jnp.zeros(2, np.uint32))
    with pytest.raises(TypeError, match=r"must be uint32 with trailing axes \(3,\)"):
        bits.random_seed_p.bind(np.int32(1), impl=short)
