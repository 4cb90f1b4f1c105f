"""The beta-binomial distribution: sums to 1, is uniform for a = b = 1, and rounds counts down."""

import numpy as np
import pytest
import scipy.stats

from jitney.scipy.stats.betabinom import logpmf, pmf


def test_values():
    k = np.arange(8)
    found = pmf(k, 7, 0.7, 2.5)
    np.testing.assert_allclose(found, scipy.stats.betabinom.pmf(k, 7, 0.7, 2.5), rtol=1e-5)
    np.testing.assert_allclose(np.sum(found), 1, rtol=1e-6)


def test_all_counts_are_as_likely_where_all_probabilities_are():
    np.testing.assert_allclose(pmf(np.arange(5), 4, 1, 1), 0.2, rtol=1e-5)


def test_counts_are_rounded_down_and_shifted():
    np.testing.assert_array_equal(logpmf(4.7, 3, 2.0, 1.0, loc=2), logpmf(2, 3, 2.0, 1.0))
    assert pmf(-1, 3, 2.0, 1.0) == 0 and pmf(4, 3, 2.0, 1.0) == 0


@pytest.mark.parametrize(("n", "a", "b"), [(-1, 1, 1), (3, 0, 1), (3, 1, -2)])
def test_invalid_parameters_give_nan(n, a, b):
    assert np.isnan(logpmf(0, n, a, b))
