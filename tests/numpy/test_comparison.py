"""Comparisons are elementwise, of complex numbers lexicographic; nearness is relative to the second."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.core.types import dtypes
from jitney.numpy import comparison
from jitney.numpy.comparison import allclose, array_equal, array_equiv, equal, isclose, logical_xor

ORDERED = ["less", "less_equal", "greater", "greater_equal"]
X = np.array([-1, 0, 2, np.nan, np.inf], np.float32)
Z = np.array([1 + 2j, 1 - 1j, 0 + 9j, 2j], np.complex64)


@pytest.mark.parametrize("name", [*ORDERED, "equal", "not_equal"])
def test_pairs(name):
    ours, theirs = getattr(comparison, name), getattr(np, name)
    np.testing.assert_array_equal(ours(X[:, None], X), theirs(X[:, None], X))
    np.testing.assert_array_equal(ours(Z[:, None], Z), theirs(Z[:, None], Z))
    small = np.array([200, 3], np.uint8)
    np.testing.assert_array_equal(ours(small, np.int8(-1)), theirs(small, np.int16(-1)))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_truth_values(name):
    x, y = np.array([0, 0, 2, np.nan], np.float32), np.array([0, -3, 0, 1])
    np.testing.assert_array_equal(getattr(comparison, name)(x, y), getattr(np, name)(x, y))
    assert logical_xor(True, False).dtype == bool


def test_nearness_is_relative_to_the_second():
    for a, b in ((1.0, 1.1), (1.1, 1.0), (0.0, 1e-9), (np.inf, np.inf), (1.0, np.inf)):
        for rtol, atol in ((1e-5, 1e-8), (0.095, 0.0), (0, 0)):
            expected = np.isclose(a, b, rtol, atol)
            assert isclose(np.float32(a), np.float32(b), rtol, atol) == expected
    assert allclose(X[3], X[3], equal_nan=True)
    assert not allclose(X[3], X[3])
    z = np.array([1 + 1j, complex(np.nan, 0)], np.complex64)
    assert isclose(z, z + 1e-7, equal_nan=True).all()


def test_arrays_are_equal_as_a_whole():
    assert array_equal([1, 2], np.array([1, 2]))
    assert not array_equal(np.ones(1), np.ones(2))
    assert not array_equal(X, X)
    assert array_equal(X, X, equal_nan=True)
    assert array_equiv(np.ones((2, 1)), np.ones(3))
    assert not array_equiv(np.ones(2), np.ones(3))


def test_values_without_data_are_equal():
    nothing = np.zeros(2, dtypes.float0)
    assert equal(nothing, nothing).all()
    assert not comparison.not_equal(nothing, nothing).any()
