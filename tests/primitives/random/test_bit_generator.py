"""Bits of a generator's state: the next state continues where the draw ended."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.random.bit_generator import (
    RandomAlgorithm,
    _draw,
    _increased,
    rng_bit_generator,
)

KEY = np.array([1, 2, 0xFFFFFFFE, 4], np.uint32)
ALGORITHMS = [RandomAlgorithm.RNG_PHILOX, RandomAlgorithm.RNG_THREE_FRY]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_next_state_continues(algorithm):
    """Also where the low word of the counter overflows, after two hashes."""
    key, words = jnp.asarray(KEY), np.dtype(np.uint32)
    _, whole = _draw(key, (24,), words, algorithm)
    state, first = _draw(key, (8,), words, algorithm)
    _, second = _draw(state, (16,), words, algorithm)
    np.testing.assert_array_equal(np.concatenate([first, second]), whole)
    assert len(set(np.asarray(whole).tolist())) == 24


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_shapes_and_dtypes(algorithm):
    key = jnp.asarray(KEY)
    words = np.asarray(_draw(key, (12,), np.dtype(np.uint32), algorithm)[1])
    narrow = _draw(key, (12,), np.dtype(np.uint8), algorithm)[1]
    np.testing.assert_array_equal(narrow, words.astype(np.uint8))
    for shape in [(), (0,), (3, 5)]:
        assert _draw(key, shape, np.dtype(np.uint32), algorithm)[1].shape == shape


def test_counters_carry():
    low, high = np.uint32([0xFFFFFFFF, 5]), np.uint32([7, 7])
    got = _increased([low, high], np.uint32([1, 1]))
    np.testing.assert_array_equal(got, [[0, 6], [8, 7]])


def test_a_batch_draws_from_the_first_state():
    keys = np.stack([KEY, KEY + 1])
    states, drawn = jitney.vmap(lambda k: rng_bit_generator(k, (3,)))(keys)
    np.testing.assert_array_equal(drawn, rng_bit_generator(KEY, (2, 3))[1])
    np.testing.assert_array_equal(states[1], keys[1])


def test_what_is_refused():
    with pytest.raises(TypeError, match=r"key must be uint32\[4\] or uint64\[2\], but got int32"):
        rng_bit_generator(np.zeros(4, np.int32), (2,))
    with pytest.raises(TypeError, match="unsupported dtype float32"):
        rng_bit_generator(KEY, (2,), np.float32)
