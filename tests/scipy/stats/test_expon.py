"""The exponential distribution: values of all functions, precise near its end and far from it."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import expon

X = np.array([-1.0, 1.0, 1.5, 4.0, 80.0])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(expon, name)(X, 1.0, 2.0)
    with np.errstate(divide="ignore"):
        wanted = getattr(scipy.stats.expon, name)(X, 1.0, 2.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_small_and_large_arguments_do_not_cancel():
    np.testing.assert_allclose(expon.cdf(1e-20), 1e-20, rtol=1e-6)
    np.testing.assert_allclose(expon.logcdf(50.0), -np.exp(-50.0), rtol=1e-5)


def test_quantiles():
    q = np.array([0.0, 0.5, 1.0, -0.5, 1.5])
    wanted = [1, 1 + 2 * np.log(2), np.inf, np.nan, np.nan]
    np.testing.assert_allclose(expon.ppf(q, 1, 2), wanted, rtol=1e-6)
