"""The beta distribution: densities, tails of one another, and the edges of [0, 1]."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import beta

X = np.array([-0.5, 0.0, 0.1, 0.5, 0.9, 1.0, 1.5])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(beta, name)(2 * X + 3, 2.5, 1.5, 3, 2)
    with np.errstate(divide="ignore"):
        wanted = getattr(scipy.stats.beta, name)(2 * X + 3, 2.5, 1.5, 3, 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


def test_uniform_where_both_parameters_are_1():
    np.testing.assert_array_equal(beta.pdf(X, 1, 1), [0, 1, 1, 1, 1, 1, 0])


def test_reflection_exchanges_parameters_and_tails():
    np.testing.assert_array_equal(beta.sf(0.25, 2.0, 3.0), beta.cdf(0.75, 3.0, 2.0))


@pytest.mark.parametrize(
    "parameters", [(0, 1, 0, 1), (1, -1, 0, 1), (1, 1, 0, 0), (np.nan, 1, 0, 1)]
)
def test_parameters_that_are_not_positive_give_nan(parameters):
    assert np.isnan(beta.logpdf(0.5, *parameters))
