"""The Pareto distribution: values of all functions, precise next to the least value."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import pareto

X = np.array([0.0, 3.5, 4.5, 7.0, 1e6])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(pareto, name)(X, 2.5, 1.0, 2.0)
    with np.errstate(divide="ignore"):
        wanted = getattr(scipy.stats.pareto, name)(X, 2.5, 1.0, 2.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_next_to_the_least_value_nothing_cancels():
    gap = 2.0**-22
    np.testing.assert_allclose(pareto.cdf(1 + gap, 3), 3 * gap, rtol=1e-5)


def test_below_the_support_and_nan():
    assert pareto.logcdf(1.0, 2) == -np.inf and pareto.logsf(0.5, 2) == 0
    assert np.isnan(pareto.cdf(0.5, np.nan)) and np.isnan(pareto.logpdf(0.5, np.nan))


def test_quantiles_invert_the_distribution_function():
    q = np.array([0.0, 0.3, 0.9])
    np.testing.assert_allclose(pareto.cdf(pareto.ppf(q, 2, 1, 3), 2, 1, 3), q, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(pareto.ppf(np.array([-0.1, 1.1]), 2), np.nan)
