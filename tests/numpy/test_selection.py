"""`where` selects and `clip` bounds elements of a common dtype and shape."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.selection import clip, where

X = np.array([-2, 0, 1, 3, np.nan], np.float32)
NO_BOUNDS = (None, None)


@pytest.mark.parametrize(
    "bounds", [(0, 2), (None, 1), (-1, None), (2, 0), (np.array([[0], [1]]), 2), NO_BOUNDS]
)
def test_bounds(bounds):
    expected = X if bounds is NO_BOUNDS else np.clip(X, *bounds)
    np.testing.assert_array_equal(clip(X, *bounds), expected)


def test_bounds_widen_the_dtype_unless_they_are_python_scalars():
    x = np.array([1, 200], np.uint8)
    assert clip(x, 2, 100).dtype == np.uint8
    assert clip(x, 1.5).dtype == np.float32
    assert clip(x, np.int32(-5), np.int32(150)).tolist() == [1, 150]
    with pytest.raises(ValueError, match="complex values have no order"):
        clip(x, 1j)
    with pytest.raises(ValueError, match="None or missing"):
        clip(None, 1)


def test_conditions_may_be_numbers_and_operands_scalars():
    assert where(np.array([0.0, -0.0, np.nan, 1j]), 1, 2).tolist() == [2, 2, 1, 1]
    assert where(True, np.int8(1), 2.5).dtype == np.float32
    assert where(np.array([[True], [False]]), X[:2], 9).tolist() == [[-2, 0], [9, 9]]
    with pytest.raises(ValueError, match="broadcast"):
        where(X > 0, X, X[:2])


def test_slopes_of_the_other_operand_are_zero():
    slopes = jitney.grad(lambda x, y: where(x > 0, x, y).sum(), (0, 1))(X[:4], X[:4])
    assert [s.tolist() for s in slopes] == [[0, 0, 1, 1], [1, 1, 0, 0]]
