"""The binomial distribution has the terms of (p + (1 - p))**n."""

import math

import numpy as np

from jitney.scipy.stats.binom import logpmf, pmf


def test_terms_of_the_binomial_formula():
    wanted = [math.comb(6, k) * 0.3**k * 0.7 ** (6 - k) for k in range(7)]
    np.testing.assert_allclose(pmf(np.arange(7), 6, 0.3), wanted, rtol=2e-6)


def test_certain_outcomes():
    np.testing.assert_allclose(pmf(np.arange(4), 3, 1.0), [0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(pmf(np.arange(4), 3, 0.0), [1, 0, 0, 0], atol=1e-6)


def test_outside_of_the_support_and_nan():
    np.testing.assert_array_equal(logpmf(np.array([-1, 4]), 3, 0.5), -np.inf)
    assert np.isnan(logpmf(7, 3, np.nan)) and np.isnan(logpmf(7, np.nan, 0.5))


def test_location_moves_the_support():
    np.testing.assert_allclose(pmf(12, 4, 0.25, loc=10), pmf(2, 4, 0.25))
    assert pmf(9, 4, 0.25, loc=10) == 0
