"""The Bernoulli distribution has two atoms, 1 - p at 0 and p at 1."""

import numpy as np

from jitney.scipy.stats.bernoulli import cdf, logpmf, pmf, ppf

P = np.array([0.0, 0.25, 0.5, 1.0], np.float32)


def test_atoms():
    np.testing.assert_allclose(pmf(1, P), P)
    np.testing.assert_allclose(pmf(0, P), 1 - P)
    np.testing.assert_array_equal(pmf(np.array([-1.0, 0.5, 2.0]), 0.25), 0)
    np.testing.assert_allclose(pmf(np.array([3, 4]), 0.25, loc=3), [0.75, 0.25])


def test_logarithms_are_finite_for_tiny_probabilities():
    np.testing.assert_allclose(logpmf(0, 1e-20), -1e-20)
    assert logpmf(1, 0.0) == -np.inf and np.isnan(logpmf(2, np.nan))


def test_distribution_function_steps_at_0_and_1():
    k = np.array([-0.1, 0.0, 0.9, 1.0, 7.0])
    np.testing.assert_allclose(cdf(k, 0.25), [0, 0.75, 0.75, 1, 1])


def test_quantiles_are_the_least_atoms_that_reach_the_probability():
    q = np.array([0.0, 0.1, 0.75, 0.76, 1.0])
    np.testing.assert_array_equal(ppf(q, 0.25), [-1, 0, 0, 1, 1])


def test_what_is_no_probability_gives_nan():
    p = np.array([-0.1, 1.1, np.nan])
    np.testing.assert_array_equal(cdf(0, p), np.nan)
    np.testing.assert_array_equal(ppf(0.5, p), np.nan)
    np.testing.assert_array_equal(ppf(p, 0.5), np.nan)
