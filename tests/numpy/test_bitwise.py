"""Bits of integers are combined and shifted; the right shift keeps the sign of signed ones."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy import bitwise

X = np.array([0, 1, 6, -1, -128, 127], np.int8)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool"])
def test_pairs(name, dtype):
    ours, theirs = getattr(bitwise, name), getattr(np, name)
    x = X.astype(dtype)
    np.testing.assert_array_equal(ours(x[:, None], x), theirs(x[:, None], x))
    # The paths of arrays, which skip promotion.
    y = jitney.numpy.array(x)
    np.testing.assert_array_equal(ours(y, y), theirs(x, x))
    if dtype != "bool":
        found = ours(y, 5)
        np.testing.assert_array_equal(found, theirs(x, x.dtype.type(5)))
        assert found.dtype == dtype


@pytest.mark.parametrize("prefix", ["", "bitwise_"])
def test_shifts(prefix):
    left = getattr(bitwise, prefix + "left_shift")
    right = getattr(bitwise, prefix + "right_shift")
    for k in range(8):
        np.testing.assert_array_equal(left(X, np.int8(k)), np.left_shift(X, np.int8(k)))
        for x in (X, X.view(np.uint8)):  # with and without sign
            np.testing.assert_array_equal(right(x, k), np.right_shift(x, k))
    assert left(np.array([True, False]), True).tolist() == [2, 0]


def test_wide_shifts_leave_no_bit():
    assert bitwise.left_shift(X, np.int8(9)).tolist() == [0] * 6
    assert bitwise.right_shift(X, np.int8(9)).tolist() == [0, 0, 0, -1, -1, 0]


def test_floats_have_no_bits():
    for name in ("bitwise_and", "left_shift", "right_shift"):
        with pytest.raises(TypeError, match="float32"):
            getattr(bitwise, name)(np.float32([1]), np.float32([1]))
