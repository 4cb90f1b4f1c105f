"""The right-skewed Gumbel distribution: values of all functions, both tails, invalid scales."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import gumbel_l, gumbel_r

X = np.array([-3.0, -1.0, 0.0, 0.7, 40.0])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(gumbel_r, name)(X, 0.5, 2.0)
    np.testing.assert_allclose(found, getattr(scipy.stats.gumbel_r, name)(X, 0.5, 2.0), rtol=1e-11)


def test_it_mirrors_the_left_skewed_one():
    np.testing.assert_allclose(gumbel_r.sf(X, 1, 2), gumbel_l.cdf(-X, -1, 2), rtol=1e-6)


def test_quantiles_invert_the_distribution_function():
    p = np.array([1e-6, 0.3, 0.5, 0.9])
    np.testing.assert_allclose(gumbel_r.cdf(gumbel_r.ppf(p, 1, 2), 1, 2), p, rtol=1e-4)
    np.testing.assert_array_equal(gumbel_r.ppf(np.array([0.0, 1.0])), [-np.inf, np.inf])


@pytest.mark.parametrize("name", ["logpdf", "logcdf", "ppf", "sf"])
def test_scales_that_are_not_positive_give_nan(name):
    assert np.all(np.isnan(getattr(gumbel_r, name)(0.5, 0, np.array([0.0, -1.0]))))
