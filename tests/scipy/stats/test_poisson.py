"""The Poisson distribution: masses, sums of them, and entropy by series of either side."""

import math

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats.poisson import cdf, entropy, logpmf, pmf

K = np.arange(7)


def test_masses_and_their_sums():
    wanted = np.array([2.5**k * math.exp(-2.5) / math.factorial(k) for k in range(7)])
    np.testing.assert_allclose(pmf(K, 2.5), wanted, rtol=1e-6)
    np.testing.assert_allclose(cdf(K, 2.5), np.cumsum(wanted), rtol=1e-6)
    np.testing.assert_allclose(pmf(K + 3, 2.5, 3), wanted, rtol=1e-6)


def test_only_whole_numbers_that_are_not_negative_have_mass():
    np.testing.assert_array_equal(logpmf(np.array([-1.0, 0.5, 2.25]), 1.0), -np.inf)
    np.testing.assert_array_equal(cdf(np.array([-1.0, -0.5]), 1.0), 0)
    np.testing.assert_array_equal(cdf(np.array([1.0, 1.9]), 1.0), cdf(np.array([1.0, 1.0]), 1.0))


def test_mean_zero():
    np.testing.assert_array_equal(pmf(np.array([0, 1]), 0.0), [1, 0])
    assert np.isnan(logpmf(-1, np.nan))


@pytest.mark.parametrize("mu", [1e-3, 1.0, 10.0, 29.9, 30.1, 500.0])
def test_entropy(mu):
    k = np.arange(1000)
    p = scipy.stats.poisson.pmf(k, mu)
    wanted = -np.sum(p * scipy.stats.poisson.logpmf(k, mu), where=p > 0)
    with jitney.enable_x64(True):
        np.testing.assert_allclose(entropy(mu), wanted, rtol=1e-11)


def test_entropy_at_zero_and_below():
    np.testing.assert_array_equal(entropy(np.array([0.0, -1.0, np.nan])), [0, np.nan, np.nan])
