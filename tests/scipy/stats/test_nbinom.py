"""The negative binomial distribution has the terms of p**n (1 - q)**-n, also for real n."""

import math

import numpy as np
import scipy.stats

from jitney.scipy.stats.nbinom import logpmf, pmf


def test_terms():
    wanted = [math.comb(k + 2, k) * 0.3**3 * 0.7**k for k in range(6)]
    np.testing.assert_allclose(pmf(np.arange(6), 3, 0.3), wanted, rtol=2e-6)
    found = pmf(np.arange(6), 1.5, 0.3)
    np.testing.assert_allclose(found, scipy.stats.nbinom.pmf(np.arange(6), 1.5, 0.3), rtol=2e-6)


def test_one_success_is_geometric():
    np.testing.assert_allclose(
        pmf(np.arange(6), 1, 0.25, 0), 0.25 * 0.75 ** np.arange(6), rtol=1e-6
    )


def test_outside_of_the_support_and_nan():
    assert logpmf(-1, 3, 0.5) == -np.inf and logpmf(4, 3, 0.5, 5) == -np.inf
    assert np.isnan(logpmf(-1, np.nan, 0.5)) and np.isnan(logpmf(-1, 3, np.nan))
