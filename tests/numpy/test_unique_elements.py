"""Unique elements, their first indices, their inverse and counts are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.unique_elements import (
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_sorted_mask,
    unique_values,
)

ROWS = np.array([[2, 1, 2], [0, 3, 0], [2, 1, 2], [0, 2, 9]])
FLAGS = {"return_index": True, "return_inverse": True, "return_counts": True}


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_all_results_are_those_of_numpy(axis):
    ours, theirs = unique(ROWS, axis=axis, **FLAGS), np.unique(ROWS, axis=axis, **FLAGS)
    inverse = theirs[2] if axis is None else theirs[2].ravel()  # NumPy 2.0 keeps all axes
    for a, b in zip(ours, (*theirs[:2], inverse, theirs[3]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_elements_of_sorted_arrays_are_marked_where_they_are_new():
    ordered, first, order = unique_sorted_mask(np.array([3, 1, 3, 1, 0]), axis=0)
    assert ordered.tolist() == [0, 1, 1, 3, 3]
    assert first.tolist() == [True, True, False, True, False]
    assert order.tolist() == [4, 1, 3, 0, 2]


@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_size_pads_or_cuts(size):
    x = np.array([4, 4, 1, 7])
    values, index, inverse, counts = unique(x, size=size, fill_value=-1, **FLAGS)
    assert values.tolist() == ([1, 4, 7] + [-1] * 2)[:size]
    assert index.tolist()[:3] == [2, 0, 3][:size]
    assert counts.tolist() == ([1, 2, 1] + [0] * 2)[:size]
    assert inverse.tolist() == [1, 1, 0, 2]
    # Without a value to fill with, the least element is repeated.
    assert unique(x, size=5).tolist() == [1, 4, 7, 1, 1]


def test_nans_are_equal_or_not():
    x = np.array([np.nan, 1.0, np.nan], np.float32)
    assert len(unique(x)) == 2
    assert len(unique(x, equal_nan=False)) == 3
    for f in (unique_counts, unique_inverse, unique_all):  # as the array API demands
        assert len(f(x).values) == 3
    assert len(unique_values(x)) == 3
    assert len(unique(np.array([complex(np.nan, 1), complex(2, np.nan), 0j]))) == 2


def test_results_of_the_array_api():
    found = unique_all(ROWS)
    np.testing.assert_array_equal(found.values[found.inverse_indices], ROWS)
    np.testing.assert_array_equal(ROWS.ravel()[found.indices], found.values)
    assert found.counts.sum() == ROWS.size
    np.testing.assert_array_equal(unique_values(ROWS), found.values)
    np.testing.assert_array_equal(unique_inverse(ROWS).inverse_indices, found.inverse_indices)


def test_arrays_without_elements():
    nothing = np.zeros(0, np.float32)
    assert [x.shape for x in unique(nothing, **FLAGS)] == [(0,)] * 4
    assert unique(nothing, size=2, fill_value=7).tolist() == [7, 7]
    with pytest.raises(ValueError, match="`fill_value` must be passed"):
        unique(nothing, size=2)
