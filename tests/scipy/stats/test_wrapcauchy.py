"""The wrapped Cauchy distribution: of integral 1 on one turn, symmetric, nothing outside."""

import numpy as np
import pytest
import scipy.stats

from jitney.scipy.stats.wrapcauchy import logpdf, pdf

X = np.linspace(0, 2 * np.pi, 200, endpoint=False)


@pytest.mark.parametrize("c", [0.1, 0.7])
def test_values(c):
    found = pdf(X, c)
    np.testing.assert_allclose(found, scipy.stats.wrapcauchy.pdf(X, c), rtol=1e-5)
    np.testing.assert_allclose(np.sum(found) * (X[1] - X[0]), 1, rtol=1e-5)
    np.testing.assert_allclose(found[1:], found[:0:-1], rtol=1e-4)


def test_strong_concentration_at_zero_does_not_cancel():
    np.testing.assert_allclose(pdf(0.0, 0.999), 1.999 / 0.001 / (2 * np.pi), rtol=1e-4)


def test_outside_of_one_turn():
    np.testing.assert_array_equal(logpdf(np.array([-0.1, 6.3]), 0.5), -np.inf)


def test_invalid_parameters_give_nan():
    assert np.all(np.isnan(logpdf(1.0, np.array([0.0, 1.0, -0.5, np.nan]))))
