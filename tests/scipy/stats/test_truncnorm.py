"""The truncated normal distribution: values of all functions, far intervals, ends, empty intervals."""

import mpmath
import numpy as np
import pytest
import scipy.stats

import jitney
from jitney.scipy.stats import truncnorm

X = np.array([-1.5, -0.9, 0.2, 1.0, 3.9])
NAMES = ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"]


@pytest.mark.parametrize("name", NAMES)
def test_values(name):
    a, b = np.array([[-1.0, -2.0, 0.1], [1.5, -0.1, np.inf]])[..., None]
    with jitney.enable_x64(True):
        found = getattr(truncnorm, name)(X, a, b, 0.5, 2.0)
    with np.errstate(divide="ignore"):
        wanted = getattr(scipy.stats.truncnorm, name)(X, a, b, 0.5, 2.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
def test_far_intervals_do_not_cancel(sign):
    mass = mpmath.ncdf(-45) - mpmath.ncdf(-45.5)
    wanted = float(mpmath.log((mpmath.ncdf(-45.1) - mpmath.ncdf(-45.5)) / mass))
    near, far = (truncnorm.logcdf, truncnorm.logsf)[::sign]
    x, a, b = (45.1, 45, 45.5) if sign > 0 else (-45.1, -45.5, -45)
    with jitney.enable_x64(True):
        np.testing.assert_allclose(far(x, a, b), wanted, rtol=1e-9)
        np.testing.assert_allclose(near(x, a, b), np.log1p(-np.exp(wanted)), rtol=1e-9)


def test_ends():
    x = np.array([-1.0, 2.0, 5.0])
    np.testing.assert_array_equal(truncnorm.cdf(x, -1.0, 2.0), [0, 1, 1])
    np.testing.assert_array_equal(truncnorm.pdf(np.array([-1.1, 2.1]), -1.0, 2.0), 0)


@pytest.mark.parametrize("name", ["logpdf", "logcdf", "sf"])
def test_empty_intervals_and_nan(name):
    x, a, b = np.array([[0, 1, 1], [0, 1, -1], [np.nan, -1, 1], [5, np.nan, 1]], np.float32).T
    np.testing.assert_array_equal(getattr(truncnorm, name)(x, a, b), np.nan)
