"""The multivariate normal distribution: by covariance matrices, by one variance, and over batches."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats.multivariate_normal import logpdf, pdf

MEAN = np.array([1.0, -1.0, 0.5])
COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])
X = np.random.default_rng(0).normal(size=(4, 3))


def test_values():
    with jitney.enable_x64(True):
        found = logpdf(X, MEAN, COV)
        np.testing.assert_allclose(pdf(X, MEAN, COV), np.exp(found), rtol=1e-14)
    wanted = scipy.stats.multivariate_normal.logpdf(X, MEAN, COV)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_one_variance_stands_for_a_multiple_of_the_identity():
    np.testing.assert_allclose(logpdf(X, MEAN, 2.0), logpdf(X, MEAN, 2 * np.eye(3)), rtol=1e-6)


def test_a_scalar_mean_is_of_one_dimension():
    found = logpdf(X, 0.5, 4.0)
    np.testing.assert_allclose(found, scipy.stats.norm.logpdf(X, 0.5, 2), rtol=1e-6)


def test_covariances_of_a_batch():
    found = logpdf(X[:2], MEAN, np.stack([COV, np.eye(3)]))
    np.testing.assert_allclose(
        found, [logpdf(X[0], MEAN, COV), logpdf(X[1], MEAN, np.eye(3))], rtol=1e-5
    )


def test_refusals():
    with pytest.raises(ValueError, match=r"cov must have sizes \(3, 3\)"):
        logpdf(X, MEAN, np.eye(2))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        logpdf(X, MEAN, COV, True)
