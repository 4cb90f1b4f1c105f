"""Covariances, counts and histograms are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.statistics import (
    bincount,
    corrcoef,
    cov,
    histogram,
    histogram2d,
    histogram_bin_edges,
    histogramdd,
)

X = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)
WEIGHTS = {"fweights": np.array([1, 2, 0, 1, 3, 1, 1, 2]), "aweights": np.arange(1.0, 9)}


@pytest.mark.parametrize(
    "options",
    [{}, {"bias": True}, {"ddof": 2}, {"rowvar": False}, {"y": 2 * X[::-1]}, WEIGHTS,
     {"aweights": WEIGHTS["aweights"], "ddof": 2}],
)  # fmt: skip
def test_covariances(options):
    np.testing.assert_allclose(cov(X, **options), np.cov(X, **options), rtol=1e-4, atol=1e-6)


def test_covariances_of_complex_numbers_are_hermitian():
    z = X + 1j * X[::-1] ** 2
    ours = np.asarray(cov(z))
    np.testing.assert_allclose(ours, np.cov(z), rtol=1e-4)
    np.testing.assert_allclose(ours, ours.conj().T, rtol=1e-5)
    assert cov(X[0]).shape == ()


def test_correlations_do_not_depend_on_scale_and_origin():
    c = np.asarray(corrcoef(X))
    np.testing.assert_allclose(c, np.corrcoef(X), rtol=1e-4)
    np.testing.assert_allclose(corrcoef(X * 5 - 2), c, rtol=1e-4, atol=1e-6)
    assert np.abs(corrcoef(X[0], -X[0])).max() <= 1
    assert corrcoef(X[0]) == 1
    assert corrcoef(X, dtype=np.float16).dtype == np.float16


def test_no_observations_have_no_covariance():
    for shape, expected in (((0, 3), (0, 0)), ((2, 0), (2, 2)), ((1, 0), ())):
        found = cov(np.zeros(shape, np.float32))
        assert found.shape == expected
        assert np.isnan(found).all()


def test_counts():
    x = np.array([3, 0, 3, 1])
    assert bincount(x, minlength=6).tolist() == [1, 1, 0, 2, 0, 0]
    assert bincount(x, np.array([0.5, 2, 1, 4], np.float32)).tolist() == [2, 4, 0, 1.5]
    assert bincount(np.zeros(0, np.int32)).shape == (0,)
    # With a fixed length, negative elements count as 0, and great ones are dropped.
    assert jitney.jit(lambda x: bincount(x, length=2))(np.array([-5, 0, 1, 2])).tolist() == [2, 1]


@pytest.mark.parametrize("density", [False, True])
def test_histograms(density):
    x = np.array([0.0, 0.5, 1.0, 2.0, 2.0, 4.0], np.float32)
    for bins, span in ((4, None), (3, (0.5, 2.0)), (np.array([0.0, 1.0, 4.0]), None)):
        ours = histogram(x, bins, span, density=density)
        for a, b in zip(ours, np.histogram(x, bins, span, density=density), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    # The last interval includes both ends; where all elements are equal, they are in the middle.
    assert histogram(np.array([2.0, 2.0]), 3)[0].tolist() == [0, 2, 0]
    np.testing.assert_allclose(histogram_bin_edges(np.zeros(0), 2), [0, 0.5, 1])


@pytest.mark.parametrize("density", [False, True])
def test_histograms_of_several_coordinates(density):
    points = X.T
    bins = [2, np.array([-2.0, 0.0, 1.0], np.float32), 3]
    weights = np.arange(8, dtype=np.float32)
    counts, edges = histogramdd(points, bins, density=density, weights=weights)
    expected, expected_edges = np.histogramdd(points, bins, density=density, weights=weights)
    np.testing.assert_allclose(counts, expected, rtol=1e-5)
    for a, b in zip(edges, expected_edges, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(
        histogram2d(X[0], X[1], (2, 3))[0], np.histogram2d(X[0], X[1], (2, 3))[0]
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cov(X[None]), ValueError, "at most two axes"),
        (lambda: cov(X, fweights=np.ones(8)), TypeError, "`fweights`, which are counts"),
        (lambda: cov(X, aweights=np.ones(3)), RuntimeError, "8 observations, but there are 3"),
        (lambda: corrcoef(X, dtype=int), ValueError, "`dtype` must be inexact"),
        (lambda: bincount(X[0]), TypeError, "integer or boolean type"),
        (lambda: bincount(np.ones(2, int), np.ones(3)), ValueError, "the shape of `x`"),
        (lambda: histogram(X, "auto"), NotImplementedError, "a number of bins or their edges"),
        (lambda: histogram(X, range=(0, 1, 2)), ValueError, "two scalars"),
        (
            lambda: histogramdd(X.T, [2, 2]),
            ValueError,
            "each of 3 coordinates, but it has length 2",
        ),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
