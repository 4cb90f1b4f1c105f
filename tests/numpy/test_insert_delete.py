"""Insertion and deletion are those of NumPy, and inverse to each other."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.insert_delete import append, delete, insert, resize, trim_zeros

X = np.arange(12, dtype=np.int32).reshape(3, 4)


@pytest.mark.parametrize(
    ("place", "values", "axis"),
    [
        (1, 9, 0), (-1, 9, 1), (2, [7, 8, 9], 1), (5, 3, None), ([1, 3], 9, 1),
        ([3, 0, 3], [[7, 8, 9]], 1), (slice(0, 3, 2), [[7], [8]], 0), (0, [[1], [2]], 1),
    ],
)  # fmt: skip
def test_insertions(place, values, axis):
    if (place, axis) == (0, 1):  # several slices at one place, along the first axis of the values
        values = np.ones((2, 3), np.int32)
    at, new = (x if isinstance(x, int | slice) else np.array(x) for x in (place, values))
    np.testing.assert_array_equal(insert(X, at, new, axis), np.insert(X, at, new, axis))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "place",
    [0, -1, [0, 2], [-1, -1, 1], slice(None, None, 2), slice(2, 0, -1), slice(1, 1), []],
    ids=repr,
)
def test_deletions(place, axis):
    at = np.array(place, np.int32) if isinstance(place, list) else place
    np.testing.assert_array_equal(delete(X, at, axis), np.delete(X, at, axis))


def test_masks_and_traced_positions():
    mask = np.array([True, False, True, False])
    np.testing.assert_array_equal(delete(X, mask, 1), X[:, ~mask])
    gone = jitney.jit(lambda k: delete(X, k, 1, assume_unique_indices=True))(np.array([3, -3]))
    np.testing.assert_array_equal(gone, X[:, [0, 2]])


def test_what_is_inserted_can_be_deleted():
    for k in range(5):
        np.testing.assert_array_equal(delete(insert(X, k, -1, 1), k, 1), X)
    np.testing.assert_array_equal(append(X, X[:1], axis=0)[3], X[0])
    assert append(X, np.int32(7)).shape == (13,)


def test_resize_repeats_elements():
    for shape in ((2, 8), 5, (0, 3), ()):
        np.testing.assert_array_equal(resize(X, shape), np.resize(X, shape))
    np.testing.assert_array_equal(resize(X[:0], (2, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize("trim", ["f", "b", "fb", "B"])
def test_zeros_are_trimmed_at_the_ends(trim):
    for x in ([0, 0, 1, 0, 2, 0], [0, 0], [1], []):
        expected = np.trim_zeros(np.array(x, np.int32), trim.lower())
        np.testing.assert_array_equal(trim_zeros(np.array(x, np.int32), trim), expected)
    x = np.pad(X + 1, 2)
    np.testing.assert_array_equal(trim_zeros(x), X + 1)
    assert trim_zeros(x, "f", axis=1).shape == (7, 6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: insert(X, 1.5, 0), ValueError, "`obj` must contain integer positions"),
        (lambda: delete(X, np.array([4]), 0), IndexError, "no index 4 along axis 0 of size 3"),
        (lambda: delete(X, np.ones(2, bool), 0), ValueError, "a mask must have one axis"),
        (lambda: delete(X, np.array([0.5]), 0), ValueError, "or a boolean mask"),
        (lambda: resize(X, (-1, 2)), ValueError, "must not contain negative sizes"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
