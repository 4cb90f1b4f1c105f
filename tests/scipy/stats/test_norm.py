"""The normal distribution: values of all functions, far tails, and quantiles."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import norm

X = np.array([-12.0, -1.0, 0.5, 0.7, 9.0])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(norm, name)(X, 0.5, 2.0)
    np.testing.assert_allclose(found, getattr(scipy.stats.norm, name)(X, 0.5, 2.0), rtol=1e-12)


def test_far_tails_stay_finite():
    np.testing.assert_allclose(norm.logcdf(-1e3), scipy.stats.norm.logcdf(-1e3), rtol=1e-6)
    np.testing.assert_allclose(norm.logsf(12.0), scipy.stats.norm.logsf(12.0), rtol=1e-6)
    np.testing.assert_allclose(norm.sf(9.0), scipy.stats.norm.sf(9.0), rtol=1e-5)


def test_quantiles():
    q = np.array([1e-6, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(norm.ppf(q, 1, 2), scipy.stats.norm.ppf(q, 1, 2), rtol=1e-5)
    np.testing.assert_allclose(norm.isf(q[1:], 1, 2), scipy.stats.norm.isf(q[1:], 1, 2), rtol=1e-5)
    np.testing.assert_array_equal(norm.ppf(np.array([0.0, 1.0, 1.5])), [-np.inf, np.inf, np.nan])
