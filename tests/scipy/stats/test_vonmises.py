"""The von Mises distribution: periodic, of integral 1, and finite for large concentrations."""

import numpy as np
import pytest
import scipy.stats

from jitney.scipy.stats.vonmises import logpdf, pdf

X = np.linspace(-np.pi, np.pi, 200, endpoint=False)


@pytest.mark.parametrize("kappa", [0.1, 2.5, 20.0])
def test_values(kappa):
    found = pdf(X, kappa)
    np.testing.assert_allclose(found, scipy.stats.vonmises.pdf(X, kappa), rtol=2e-5)
    np.testing.assert_allclose(np.sum(found) * (X[1] - X[0]), 1, rtol=1e-5)


def test_large_concentrations_are_normal():
    found = logpdf(0.0, 1e6)
    np.testing.assert_allclose(found, 0.5 * np.log(1e6 / (2 * np.pi)), rtol=1e-5)


def test_concentrations_that_are_not_positive_give_nan():
    assert np.all(np.isnan(logpdf(0.5, np.array([0.0, -1.0, np.nan]))))
