"""Bits are packed into bytes along an axis, and unpacked again."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.bits import packbits, unpackbits

X = np.random.default_rng(0).integers(0, 2, (3, 11, 2))


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_bytes_are_those_of_numpy(axis, order):
    packed = np.packbits(X, axis, order)
    np.testing.assert_array_equal(packbits(X, axis, order), packed)
    for count in (None, 5, 30):
        np.testing.assert_array_equal(
            unpackbits(packed, axis, count, order), np.unpackbits(packed, axis, count, order)
        )


def test_any_number_but_zero_is_a_bit():
    assert packbits(np.array([0, -3, 256, 0, 0, 0, 0, 1])).tolist() == [0b01100001]
    assert packbits(np.array([True])).tolist() == [128]
    assert packbits(np.zeros(0, bool)).shape == unpackbits(np.zeros(0, np.uint8)).shape == (0,)


def test_bytes_survive_a_round_trip():
    x = np.arange(256, dtype=np.uint8).reshape(16, 16)
    for axis in (0, 1):
        np.testing.assert_array_equal(packbits(unpackbits(x, axis), axis), x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: packbits(X / 2), TypeError, "an integer or boolean dtype"),
        (lambda: unpackbits(X), TypeError, "must have dtype uint8, but it has dtype int"),
        (lambda: packbits(X, bitorder="middle"), ValueError, "'little' or 'big'"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
