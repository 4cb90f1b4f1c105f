"""The Cauchy distribution: values of all functions, far tails, and inverse functions."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import cauchy

X = np.array([-30.0, -1.0, 0.0, 0.7, 2.0, 50.0])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(cauchy, name)(X, 0.5, 2.0)
    np.testing.assert_allclose(found, getattr(scipy.stats.cauchy, name)(X, 0.5, 2.0), rtol=1e-12)


def test_far_tails_do_not_cancel():
    np.testing.assert_allclose(cauchy.logcdf(-1e10), -np.log(np.pi * 1e10), rtol=1e-6)
    np.testing.assert_allclose(cauchy.logcdf(1e10), -1 / (np.pi * 1e10), rtol=1e-6)


def test_quantiles_invert_both_tails():
    q = np.array([0.1, 0.5, 0.8])
    np.testing.assert_allclose(cauchy.cdf(cauchy.ppf(q, 1, 3), 1, 3), q, rtol=1e-5)
    np.testing.assert_allclose(cauchy.sf(cauchy.isf(q, 1, 3), 1, 3), q, rtol=1e-5)


def test_quantiles_at_the_ends_and_beyond():
    found = cauchy.ppf(np.array([0.0, 1.0, -0.1, 1.1, np.nan]))
    np.testing.assert_array_equal(found, [-np.inf, np.inf, np.nan, np.nan, np.nan])
