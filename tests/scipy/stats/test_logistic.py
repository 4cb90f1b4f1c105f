"""The logistic distribution: values of all functions, and quantiles of both tails."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import logistic

X = np.array([-700.0, -1.0, 0.5, 0.7, 300.0])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "sf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(logistic, name)(X, 0.5, 2.0)
    np.testing.assert_allclose(found, getattr(scipy.stats.logistic, name)(X, 0.5, 2.0), rtol=1e-12)


def test_densities_are_symmetric():
    np.testing.assert_array_equal(logistic.logpdf(X), logistic.logpdf(-X))


def test_quantiles():
    q = np.array([0.25, 0.5, 0.9])
    np.testing.assert_allclose(logistic.ppf(q, 1, 2), 1 + 2 * np.log(q / (1 - q)), rtol=1e-5)
    np.testing.assert_allclose(logistic.sf(logistic.isf(q, 1, 2), 1, 2), q, rtol=1e-5)
    np.testing.assert_array_equal(logistic.ppf(np.array([0.0, 1.0])), [-np.inf, np.inf])
