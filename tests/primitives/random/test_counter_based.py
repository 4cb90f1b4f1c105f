"""Counter-based hashes are those of Python integers, and bijections of the counter."""

import numpy as np
import pytest

from jitney.primitives.random.counter_based import (
    _rotated,
    philox2x32,
    philox4x32,
    threefry4x32,
    word,
)

MASK = 2**32 - 1


def test_words_are_modulo_2_to_the_32():
    assert word(-1) == MASK
    assert word(2**32 + 5) == 5
    assert word(7).dtype == np.uint32


def test_rotations_keep_all_bits():
    x = np.uint32([0x80000001, 0x12345678])
    np.testing.assert_array_equal(_rotated(x, 4), np.uint32([0x18, 0x23456781]))
    np.testing.assert_array_equal(_rotated(_rotated(x, 13), 19), x)


def test_philox_by_python_integers():
    def by_integers(key, x, y):
        for i in range(10):
            product = 0xD256D193 * x
            x, y = (product >> 32) ^ ((key + i * 0x9E3779B9) & MASK) ^ y, product & MASK
        return x, y

    counters = np.uint32([[0, 1, MASK, 123456789], [5, 0, MASK, 987654321]])
    got = np.transpose(philox2x32(np.uint32(42), *counters))
    assert got.tolist() == [list(by_integers(42, int(x), int(y))) for x, y in counters.T]


def test_threefry_by_python_integers():
    rotations = [(10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20)]

    def by_integers(key, x):
        keys = [*key, key[0] ^ key[1] ^ key[2] ^ key[3] ^ 0x1BD11BDA]
        x = [(a + k) & MASK for a, k in zip(x, key, strict=True)]
        for i in range(20):
            first, second = rotations[i % 8]
            a, b, c, d = x if i % 2 == 0 else (x[0], x[3], x[2], x[1])
            a, c = (a + b) & MASK, (c + d) & MASK
            b = a ^ (b << first | b >> (32 - first)) & MASK
            d = c ^ (d << second | d >> (32 - second)) & MASK
            x = [a, b, c, d] if i % 2 == 0 else [a, d, c, b]
            if i % 4 == 3:
                n = i // 4 + 1
                x = [(w + keys[(n + j) % 5] + n * (j == 3)) & MASK for j, w in enumerate(x)]
        return x

    key, counter = [1, 2, 3, MASK], [5, 0, MASK, 123456789]
    got = threefry4x32(np.uint32(key), np.uint32(counter))
    assert [int(w) for w in got] == by_integers(key, counter)


@pytest.mark.parametrize(("of", "n_key"), [(philox4x32, 2), (threefry4x32, 4)])
def test_no_two_counters_have_one_hash_and_half_of_the_bits_change(of, n_key):
    counter = np.zeros((4, 129), np.uint32)
    for k in range(128):
        counter[k // 32, k] = np.uint32(1) << np.uint32(k % 32)
    hashes = np.transpose(of(np.uint32([3, 1, 4, 1][:n_key]), counter))
    assert len({tuple(h) for h in hashes.tolist()}) == 129
    changed = np.bitwise_count(hashes[:128] ^ hashes[128]).sum(1)
    assert changed.min() > 40 and changed.max() < 88
    assert abs(changed.mean() - 64) < 3


def test_keys_broadcast_against_counters():
    keys, counter = np.uint32([[1], [2]]), np.uint32([[0, 1, 2]])
    got = philox4x32([keys, keys], [counter] * 4)
    one = philox4x32([keys[1, 0], keys[1, 0]], [counter[0]] * 4)
    assert got[0].shape == (2, 3)
    np.testing.assert_array_equal(got[3][1], one[3])
