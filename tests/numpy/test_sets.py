"""Operations of sets agree with Python's sets; with a size, results are padded."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.sets import intersect1d, isin, setdiff1d, setxor1d, union1d

PAIRS = [
    ([3, 1, 2, 3], [2, 5, 3]),
    ([1, 1], [1]),
    ([7, 8], [1, 2]),
    ([], [4, 4, 1]),
    ([4, 0], []),
    ([-1, -2, -2], [-2, -3]),
    ([], []),
]
OPERATIONS = {
    "union": (union1d, set.union),
    "intersection": (intersect1d, set.intersection),
    "difference": (setdiff1d, set.difference),
    "symmetric difference": (setxor1d, set.symmetric_difference),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_elements_are_those_of_the_set_in_order(name, x, y):
    ours, theirs = OPERATIONS[name]
    expected = sorted(theirs(set(x), set(y)))
    x, y = np.array(x, np.int32), np.array(y, np.int32)
    np.testing.assert_array_equal(ours(x, y), expected)
    padded = ours(x, y, size=6, fill_value=99)
    np.testing.assert_array_equal(padded, expected + [99] * (6 - len(expected)))
    np.testing.assert_array_equal(ours(x, y, size=1, fill_value=99), (expected + [99])[:1])


def test_unique_elements_need_not_be_searched_for():
    x, y = np.array([5, 1, 4]), np.array([4, 9])
    np.testing.assert_array_equal(setdiff1d(x, y, assume_unique=True), [5, 1])
    np.testing.assert_array_equal(setdiff1d(x, y, assume_unique=True, size=3), [5, 1, 0])
    np.testing.assert_array_equal(setxor1d(x, y, assume_unique=True), [1, 5, 9])
    np.testing.assert_array_equal(intersect1d(x, y, assume_unique=True), [4])


@pytest.mark.parametrize("size", [None, 3])
def test_indices_lead_back_to_the_elements(size):
    x, y = np.array([3, 1, 2, 3, 7]), np.array([2, 5, 3, 2])
    values, first, second = intersect1d(x, y, return_indices=True, size=size)
    for index, of in ((first, x), (second, y)):
        np.testing.assert_array_equal(of[np.asarray(index[:2])], [2, 3])
    np.testing.assert_array_equal(values[:2], [2, 3])
    np.testing.assert_array_equal(first[:2], [2, 0])
    np.testing.assert_array_equal(second[:2], [0, 2])
    # Indices of what is missing are out of range.
    assert list(first[2:]) == [5][: len(first) - 2]
    assert list(second[2:]) == [4][: len(second) - 2]


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("method", ["auto", "compare_all", "binary_search", "sort"])
def test_membership_by_each_method(method, invert):
    x, y = np.array([[4, 0, 9], [-1, 3, 2]]), np.array([3, 0, -1, 5])
    np.testing.assert_array_equal(
        isin(x, y, invert=invert, method=method), np.isin(x, y, invert=invert)
    )
    assert isin(x, np.zeros(0, np.int32), invert=invert).tolist() == [[invert] * 3] * 2


def test_nan_belongs_to_no_array():
    x = np.array([np.nan, 1.0], np.float32)
    assert isin(x, x).tolist() == [False, True]
    with pytest.raises(ValueError, match="`method` must be"):
        isin(x, x, method="hash")
