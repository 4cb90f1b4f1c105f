"""Reductions that ignore NaN are those of NumPy; of NaN alone they are NaN."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from jitney.numpy import nan_reductions

NAN = np.nan
X = np.array([[1.5, NAN, -2, 4], [NAN, NAN, NAN, NAN], [np.inf, 0.5, NAN, 1]], np.float32)
NAMES = ["nanmax", "nanmin", "nansum", "nanprod", "nanmean", "nanvar", "nanstd"]


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_numpy(name, axis):
    x = np.where(np.isinf(X), np.float32(7), X)
    with warnings.catch_warnings(action="ignore"):  # of NumPy, about the row of NaN
        expected = getattr(np, name)(x, axis, keepdims=True)
    np.testing.assert_allclose(
        getattr(nan_reductions, name)(x, axis, keepdims=True), expected, rtol=1e-6
    )
    squeezed = expected.squeeze(axis)
    assert getattr(nan_reductions, name)(x, axis).shape == squeezed.shape


def test_masks_and_initial_values():
    assert nan_reductions.nanmax(X[1], initial=3.0) == 3
    assert nan_reductions.nansum(X[0], where=np.array([True, True, False, False])) == 1.5
    assert nan_reductions.nanmean(X[0], where=np.array([True, True, True, False])) == -0.25
    assert nan_reductions.nanmin(X[0], where=X[0] > 0, initial=99.0) == 1.5


def test_degrees_of_freedom_count_what_is_defined():
    x = np.array([1.0, NAN, 3.0], np.float32)
    assert nan_reductions.nanvar(x) == 1
    assert nan_reductions.nanvar(x, ddof=1) == 2
    assert np.isnan(nan_reductions.nanvar(x, ddof=2))
    assert nan_reductions.nanvar(x, mean=np.float32(0)) == 5


def test_integers_have_no_nan():
    x = np.array([[1, 2], [3, 5]], np.int8)
    assert nan_reductions.nanmax(x) == 5
    assert nan_reductions.nanmean(x) == 2.75
    assert nan_reductions.nansum(x).dtype == np.int32


def test_complex_numbers_are_nan_in_either_part():
    z = np.array([complex(NAN, 1), complex(1, NAN), 2 + 1j], np.complex64)
    assert nan_reductions.nansum(z) == 2 + 1j
    assert nan_reductions.nanprod(z) == 2 + 1j
    with pytest.raises(ValueError, match=r"jnp\.nanmax: the max of no elements is undefined"):
        nan_reductions.nanmax(np.zeros(0))
