"""Reversals and rotations are those of NumPy, by known and by traced shifts."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.flips import flip, fliplr, flipud, roll, rot90

X = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), [1], ()], ids=repr)
def test_reversals(axis):
    expected = np.flip(X, tuple(axis) if isinstance(axis, list) else axis)
    np.testing.assert_array_equal(flip(X, axis), expected)
    np.testing.assert_array_equal(flip(flip(X, axis), axis), X)


def test_left_and_up():
    np.testing.assert_array_equal(fliplr(X), np.fliplr(X))
    np.testing.assert_array_equal(flipud(X), np.flipud(X))
    with pytest.raises(ValueError, match="axis 1"):
        fliplr(np.arange(3))


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, -2)])
@pytest.mark.parametrize("k", [-1, 0, 1, 2, 7])
def test_quarter_turns(k, axes):
    np.testing.assert_array_equal(rot90(X, k, axes), np.rot90(X, k, axes))


def test_turns_take_place_in_a_plane():
    with pytest.raises(ValueError, match="two or more axes"):
        rot90(np.arange(3))
    with pytest.raises(ValueError, match="`axes` must be two different axes"):
        rot90(X, 1, (1, -2))


@pytest.mark.parametrize(
    ("shift", "axis"),
    [(5, None), (-1, 1), (9, -1), ((1, -2), (0, 2)), (1, (0, 2)), ((1, 2), 1), (3, ())],
)
def test_rotations(shift, axis):
    expected = np.roll(X, shift, axis)
    np.testing.assert_array_equal(roll(X, shift, axis), expected)
    if axis != ():
        traced = jitney.jit(lambda s: roll(X, s, axis))(np.array(shift))
        np.testing.assert_array_equal(traced, expected)


def test_nothing_to_rotate():
    assert roll(X[:, :0], 2, 1).shape == (2, 0, 4)
    assert jitney.jit(lambda s: roll(X[:, :0], s, 1))(3).shape == (2, 0, 4)
