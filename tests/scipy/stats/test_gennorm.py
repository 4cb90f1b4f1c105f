"""The generalized normal distribution: Laplace for beta = 1, normal for beta = 2, symmetric for all."""

import numpy as np
import pytest
import scipy.stats

from jitney.scipy.stats.gennorm import cdf, logpdf, pdf

X = np.array([-3.0, -0.5, 0.0, 0.2, 2.0])


@pytest.mark.parametrize("beta", [0.7, 1.0, 3.5])
def test_values(beta):
    np.testing.assert_allclose(pdf(X, beta), scipy.stats.gennorm.pdf(X, beta), rtol=1e-5)
    np.testing.assert_allclose(cdf(X, beta), scipy.stats.gennorm.cdf(X, beta), rtol=1e-5, atol=1e-7)


def test_special_cases():
    np.testing.assert_allclose(logpdf(X, 1), -np.abs(X) - np.log(2), rtol=1e-6)
    np.testing.assert_allclose(logpdf(X, 2), -(X**2) - np.log(np.pi) / 2, rtol=1e-5)


def test_symmetry():
    np.testing.assert_allclose(cdf(X, 1.3) + cdf(-X, 1.3), 1, rtol=1e-6)
    assert cdf(0.0, 1.3) == 0.5
