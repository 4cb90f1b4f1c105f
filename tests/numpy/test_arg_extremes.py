"""The first of equal extremes is found; NaN is an extreme, or is ignored."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy import arg_extremes
from jitney.numpy.arg_extremes import argmax, argmin, nanargmax, nanargmin

X = np.array([[2, 7, 7, -1], [-3, 0, -3, 5], [7, 7, 5, 5]], np.float32)
NAMES = ["argmax", "argmin", "nanargmax", "nanargmin"]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -2])
@pytest.mark.parametrize("name", NAMES)
def test_axes(name, axis, keepdims):
    ours, theirs = getattr(arg_extremes, name), getattr(np, name)
    for x in (X, X.astype(np.int8)):
        expected = theirs(x, axis, keepdims=keepdims)
        found = ours(x, axis, keepdims=keepdims)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.int32


def test_nan_is_the_first_extreme_or_none():
    x = np.array([1, np.nan, -np.inf, np.nan, np.inf], np.float32)
    assert (argmax(x), argmin(x), nanargmax(x), nanargmin(x)) == (1, 1, 4, 2)
    nothing = np.full((2, 3), np.nan, np.float32)
    assert nanargmax(nothing, axis=1, keepdims=True).tolist() == [[-1], [-1]]


def test_what_is_undefined():
    assert argmax(np.zeros((2, 0)), axis=0).shape == (0,)
    with pytest.raises(ValueError, match="must have elements along `axis`"):
        argmin(np.zeros((2, 0)), axis=1)
    with pytest.raises(IndexError, match="no axis 2, as its shape is"):
        argmax(X, axis=2)
    with pytest.raises(NotImplementedError, match="`out` must be None"):
        nanargmax(X, out=X)
