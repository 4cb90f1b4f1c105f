"""Threefry-2x32 has the published test vectors, whatever the shapes of keys and words."""

import numpy as np
import pytest

from jitney.compiler.reference import threefry
from jitney.compiler.reference.threefry import rounds, threefry2x32

U = np.uint32
# Random123's known answers: key, counter, result.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "expected"), KNOWN)
def test_known_answers(key, counter, expected):
    found = threefry2x32(*map(U, key), *map(U, counter))
    assert tuple(map(int, found)) == expected


def test_keys_and_words_broadcast():
    keys, counts = np.arange(3, dtype=U), np.arange(4, dtype=U)
    y0, y1 = threefry2x32(keys[:, None], U(7), counts, U(9))
    assert y0.shape == y1.shape == (3, 4)
    for i, j in np.ndindex(3, 4):
        assert (y0[i, j], y1[i, j]) == threefry2x32(keys[i], U(7), counts[j], U(9))


def test_no_words_give_none():
    y0, y1 = threefry2x32(U(1), U(2), np.zeros((0, 3), U), U(0))
    assert y0.shape == y1.shape == (0, 3)


@pytest.mark.parametrize("several", [False, True])
def test_blocks_are_hashed_with_their_own_keys(several):
    n = threefry._BLOCK + 5
    k0 = np.arange(n if several else 1, dtype=U)
    y0, y1 = np.arange(n, dtype=U), np.zeros(n, U)
    rounds(k0, k0 + U(1), y0, y1)
    for at in (0, threefry._BLOCK, n - 1):
        key = k0[at if several else 0]
        assert (y0[at], y1[at]) == threefry2x32(key, key + U(1), U(at), U(0))


def test_operands_are_not_changed():
    words = np.arange(4, dtype=U)
    threefry2x32(U(1), U(2), words, words)
    np.testing.assert_array_equal(words, np.arange(4))
