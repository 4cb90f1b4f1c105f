"""Bitwise code serves integers and predicates alike, and shifts and counts integers alone."""

import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.scalar import bits

X, Y = np.array([0, 5, -1, 77], np.int16), np.array([3, 6, 9, -78], np.int16)


@pytest.mark.parametrize("name", ["and_", "or_", "xor"])
def test_pairs(name):
    code, wanted = getattr(bits, name), getattr(np, f"bitwise_{name.strip('_')}")
    np.testing.assert_array_equal(apply(code.integers, X, Y), wanted(X, Y))
    a, b = X > 4, Y > 5
    np.testing.assert_array_equal(apply(code.booleans, a, b), wanted(a, b))


def test_complements():
    np.testing.assert_array_equal(apply(bits.not_.integers, X), ~X)
    np.testing.assert_array_equal(apply(bits.not_.booleans, X > 4), ~(X > 4))


def test_shifts_and_counts():
    by = np.array([1, 2, 3, 4], np.int16)
    np.testing.assert_array_equal(apply(bits.shift_left.integers, X, by), X << by)
    np.testing.assert_array_equal(apply(bits.shift_right_arithmetic.integers, X, by), X >> by)
    logical = (X.view(np.uint16) >> by.view(np.uint16)).view(np.int16)
    np.testing.assert_array_equal(apply(bits.shift_right_logical.integers, X, by), logical)
    np.testing.assert_array_equal(apply(bits.population_count.integers, X), [0, 2, 16, 4])
    np.testing.assert_array_equal(apply(bits.clz.integers, X), [16, 13, 0, 9])


@pytest.mark.parametrize("name", ["shift_left", "clz", "mulhi"])
def test_floats_have_no_bits_to_shift(name):
    code = getattr(bits, name)
    assert code.floats is None and code.halves is None and code.booleans is None
