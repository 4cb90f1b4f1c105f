"""The gamma distribution: values of all functions, sums of exponential waits, the end at `loc`."""

import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import gamma

X = np.array([0.5, 1.2, 2.5, 4.0, 30.0])


@pytest.mark.parametrize("name", ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"])
def test_values(name):
    with jitney.enable_x64(True):
        found = getattr(gamma, name)(X, 2.5, 1.0, 1.5)
    with np.errstate(divide="ignore"):
        wanted = getattr(scipy.stats.gamma, name)(X, 2.5, 1.0, 1.5)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_two_waits():
    np.testing.assert_allclose(gamma.sf(X, 2), (1 + X) * np.exp(-X), rtol=1e-5)


def test_below_the_end():
    assert gamma.cdf(-1.0, 2) == 0 and gamma.sf(-1.0, 2) == 1 and gamma.pdf(-1.0, 2) == 0
    assert all(np.isnan(f(-1.0, np.nan)) for f in (gamma.cdf, gamma.sf, gamma.logpdf))


def test_density_at_the_end_depends_on_the_shape():
    found = gamma.pdf(0.0, np.array([0.5, 1.0, 2.0]))
    np.testing.assert_array_equal(found, [np.inf, 1, 0])
