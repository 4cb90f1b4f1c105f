"""Quotients are rounded down, and remainders have the sign of the divisor, as in Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jitney.numpy.division import divmod as divmod_of, floor_divide, fmod, mod, remainder

NUMBERS = [-7, -6, -1, 1, 2, 3, 7]
X, Y = (np.array(column) for column in zip(*itertools.product([*NUMBERS, 0], NUMBERS), strict=True))


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "float32"])
def test_quotients_and_remainders_are_those_of_python(dtype):
    x, y = X.astype(dtype), Y.astype(dtype)
    pairs = [divmod(int(a), int(b)) for a, b in zip(X, Y, strict=True)]
    quotients, remainders = zip(*pairs, strict=True)
    assert floor_divide(x, y).tolist() == list(quotients)
    assert remainder(x, y).tolist() == list(remainders)
    np.testing.assert_array_equal(divmod_of(x, y), [quotients, remainders])
    assert mod(x, y).dtype == np.dtype(dtype)
    np.testing.assert_array_equal(fmod(x, y), np.fmod(x, y))


def test_fractions_divide_the_number():
    x = np.array([5.3, -5.3, 0.1, 1e7, -1e-3], np.float32)
    for y in np.float32([0.7, -0.7, 1e-2, np.inf]):
        quotient, rest = divmod_of(x, y)
        np.testing.assert_array_equal(quotient, np.floor_divide(x, y))
        np.testing.assert_allclose(rest, np.mod(x, y), rtol=1e-6)


def test_division_by_zero():
    zero = np.array([0, 0], np.float32)
    np.testing.assert_array_equal(floor_divide(np.float32([3, -3]), zero), [np.inf, -np.inf])
    assert np.isnan(remainder(np.float32([3, -3]), zero)).all()
    for f in (remainder, fmod):  # of integers, as if the divisor were 1
        assert f(np.array([3, -3]), np.array([0, 0])).tolist() == [0, 0]
    assert remainder(5, 0) == 0


def test_other_types():
    assert floor_divide(np.array([250], np.uint8), np.uint8(7)).tolist() == [35]
    assert floor_divide(np.array([True]), True).dtype == np.int32
    with pytest.raises(TypeError, match="complex numbers cannot be rounded down"):
        floor_divide(np.array([1j]), 2)
