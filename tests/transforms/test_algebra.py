"""The operations of transformations agree with NumPy's, and keep types."""

import numpy as np
import pytest

import jitney
from jitney.core.types.avals import shaped_array
from jitney.transforms.algebra import algebra

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_zeros_have_the_type():
    zeros = algebra.zeros(shaped_array((2, 0), np.dtype(np.int8)))
    assert (zeros.shape, zeros.dtype) == ((2, 0), np.int8)
    np.testing.assert_array_equal(algebra.zeros(shaped_array((2,), X.dtype)), np.zeros(2))


def test_sums_and_multiples():
    np.testing.assert_array_equal(algebra.add(X, 2 * X), 3 * X)
    scaled = algebra.scale(X.astype(np.float16), 3)
    assert scaled.dtype == np.float16
    np.testing.assert_array_equal(scaled, 3 * X)


@pytest.mark.parametrize("source, destination", [(0, 1), (1, 0), (1, 1)])
def test_axes_are_moved(source, destination):
    moved = algebra.move_axis(X, source, destination)
    np.testing.assert_array_equal(moved, np.moveaxis(X, source, destination))


@pytest.mark.parametrize("position", [0, 1, 2])
def test_axes_are_inserted(position):
    inserted = algebra.insert_axis(X, position, 4, None)
    np.testing.assert_array_equal(inserted, np.repeat(np.expand_dims(X, position), 4, position))
    assert jitney.typeof(inserted).dtype == X.dtype
