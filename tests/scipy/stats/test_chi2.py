"""The chi-squared distribution: values of all functions, exponential for two degrees of freedom."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import chi2

X = np.array([0.5, 1.0, 2.5, 4.0, 30.0])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(chi2, name)(X, 3.5, 1.0, 1.5)
    with np.errstate(divide="ignore"):
        wanted = getattr(scipy.stats.chi2, name)(X, 3.5, 1.0, 1.5)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_two_degrees_of_freedom_are_exponential():
    np.testing.assert_allclose(chi2.sf(X, 2), np.exp(-X / 2), rtol=1e-5)
    np.testing.assert_allclose(chi2.pdf(0.0, 2), 0.5, rtol=1e-6)


def test_nan_parameters_give_nan_outside_too():
    assert chi2.logpdf(-1.0, 2) == -np.inf
    assert np.isnan(chi2.logpdf(-1.0, np.nan)) and np.isnan(chi2.logpdf(-1.0, 2, 0, np.nan))
