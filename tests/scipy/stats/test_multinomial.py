"""The multinomial distribution has the terms of (p1 + ... + pk)**n."""

import math

import numpy as np

from jitney.scipy.stats.multinomial import logpmf, pmf

P = np.array([0.2, 0.3, 0.5])


def test_terms_of_the_multinomial_formula():
    counts = np.array([(i, j, 3 - i - j) for i in range(4) for j in range(4 - i)])
    found = pmf(counts, 3, P)
    factorials = [math.prod(map(math.factorial, row)) for row in counts.tolist()]
    wanted = 6 / np.array(factorials) * np.prod(P**counts, axis=1)
    np.testing.assert_allclose(found, wanted, rtol=2e-6)
    np.testing.assert_allclose(np.sum(found), 1, rtol=1e-6)


def test_counts_of_another_total_are_impossible():
    assert logpmf(np.array([1, 1, 2]), 3, P) == -np.inf
    assert logpmf(np.array([0, 1, 1]), 3, P) == -np.inf


def test_outcomes_without_probability():
    p = np.array([0.0, 0.4, 0.6])
    assert pmf(np.array([1, 0, 0]), 1, p) == 0
    np.testing.assert_allclose(pmf(np.array([0, 1, 0]), 1, p), 0.4, rtol=1e-6)


def test_nan_stays():
    assert np.isnan(logpmf(np.array([1, 1, 2]), 3, np.array([0.2, np.nan, 0.5])))
