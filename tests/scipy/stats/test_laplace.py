"""The Laplace distribution: exponential to both sides of `loc`."""

import numpy as np
import scipy.stats

from jitney.scipy.stats.laplace import cdf, logpdf, pdf

X = np.array([-80.0, -1.0, 0.5, 0.7, 3.0])


def test_values():
    np.testing.assert_allclose(logpdf(X, 0.5, 2), scipy.stats.laplace.logpdf(X, 0.5, 2), rtol=1e-6)
    np.testing.assert_allclose(pdf(X, 0.5, 2), scipy.stats.laplace.pdf(X, 0.5, 2), rtol=1e-5)
    np.testing.assert_allclose(cdf(X, 0.5, 2), scipy.stats.laplace.cdf(X, 0.5, 2), rtol=1e-5)


def test_each_side_has_half_of_the_probability():
    assert cdf(0.5, 0.5, 3.0) == 0.5
    np.testing.assert_array_equal(cdf(np.array([-np.inf, np.inf])), [0, 1])


def test_lower_tail_does_not_cancel():
    np.testing.assert_allclose(cdf(-80.0), np.exp(-80.0) / 2, rtol=1e-5)
