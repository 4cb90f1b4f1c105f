"""Generators make keys of the shapes that they declare, and new ones can be defined."""

import numpy as np
import pytest

import jitney as jax
from jitney.extend import random


@pytest.mark.parametrize(
    "impl, words",
    [(random.threefry_prng_impl, 2), (random.rbg_prng_impl, 4), (random.unsafe_rbg_prng_impl, 4)],
)
def test_seeds_become_keys(impl, words):
    keys = random.random_seed(np.arange(3, dtype=np.uint32), impl)
    assert keys.shape == (3,) and jax.random.key_data(keys).shape == (3, words)
    assert impl.key_shape == (words,)
    same = jax.random.key(2, impl=impl)
    np.testing.assert_array_equal(jax.random.key_data(keys[2]), jax.random.key_data(same))


def test_threefry_has_the_bits_of_its_publication():
    """Salmon et al., Random123: vectors of threefry2x32 with 20 rounds (kat_vectors)."""
    ones = 2**32 - 1
    for key, counter, expected in (
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ones, ones), (ones, ones), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ):
        out = random.threefry_2x32(np.uint32(key), np.uint32(counter))
        assert tuple(np.asarray(out).tolist()) == expected
        bits = random.threefry2x32_p.bind(*[np.uint32([x]) for x in (*key, *counter)])
        assert tuple(int(x[0]) for x in bits) == expected


def test_generators_of_users():
    def bits(key, width, shape):
        return jax.numpy.broadcast_to(key[0], shape).astype(f"uint{width}")

    impl = random.define_prng_impl(
        key_shape=(1,), name="constant of the tests", tag="cst",
        seed=lambda n: n.astype(np.uint32)[None],
        split=lambda key, shape: jax.numpy.broadcast_to(key + 1, (*shape, 1)),
        random_bits=bits, fold_in=lambda key, n: key + n,
    )  # fmt: skip
    key = jax.random.key(5, impl=impl)
    np.testing.assert_array_equal(jax.random.bits(key, (2,)), [5, 5])
    np.testing.assert_array_equal(jax.random.key_data(jax.random.split(key, 3)), [[6]] * 3)
    np.testing.assert_array_equal(jax.random.key_data(jax.random.fold_in(key, 10)), [15])
