"""The geometric distribution counts trials from 1, and forgets those that failed."""

import numpy as np

from jitney.scipy.stats.geom import logpmf, pmf


def test_values():
    k = np.arange(1, 8)
    np.testing.assert_allclose(pmf(k, 0.3), 0.3 * 0.7 ** (k - 1), rtol=1e-6)


def test_success_without_doubt():
    np.testing.assert_array_equal(pmf(np.array([1, 2, 5]), 1.0), [1, 0, 0])


def test_outside_of_the_support_and_nan():
    np.testing.assert_array_equal(logpmf(np.array([0, -3]), 0.5), -np.inf)
    assert np.isnan(logpmf(0, np.nan))
    np.testing.assert_allclose(pmf(6, 0.5, loc=4), 0.25)


def test_small_probabilities_do_not_round_to_none():
    np.testing.assert_allclose(logpmf(1e10, 1e-10), -1 + np.log(1e-10), rtol=1e-5)
