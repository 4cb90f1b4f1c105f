"""The uniform distribution: constant on its closed interval, nothing outside."""

import numpy as np

from jitney.scipy.stats.uniform import cdf, logpdf, pdf, ppf

X = np.array([0.9, 1.0, 2.0, 5.0, 5.1])


def test_densities_include_both_ends():
    np.testing.assert_array_equal(pdf(X, 1, 4), [0, 0.25, 0.25, 0.25, 0])
    assert logpdf(0.9, 1, 4) == -np.inf


def test_distribution_function_is_linear_between_the_ends():
    np.testing.assert_allclose(cdf(X, 1, 4), [0, 0, 0.25, 1, 1])


def test_quantiles():
    found = ppf(np.array([0.0, 0.25, 1.0, -0.1, 1.1]), 1, 4)
    np.testing.assert_array_equal(found, [1, 2, 5, np.nan, np.nan])


def test_nan_wins_over_the_support():
    assert np.isnan(logpdf(np.nan, 0, 1)) and np.isnan(logpdf(7.0, np.nan, 1))
    assert np.isnan(logpdf(7.0, 0, np.nan))
