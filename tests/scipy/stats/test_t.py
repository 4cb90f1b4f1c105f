"""Student's t distribution: Cauchy for one degree of freedom, normal for many."""

import numpy as np
import scipy.stats

from jitney.scipy.stats.t import logpdf, pdf

X = np.array([-30.0, -1.0, 0.0, 0.7, 2.0])


def test_values():
    found = logpdf(X, 3.5, 0.5, 2.0)
    np.testing.assert_allclose(found, scipy.stats.t.logpdf(X, 3.5, 0.5, 2.0), rtol=1e-5)


def test_one_degree_of_freedom():
    np.testing.assert_allclose(pdf(X, 1), 1 / (np.pi * (1 + X**2)), rtol=1e-5)


def test_many_degrees_of_freedom():
    np.testing.assert_allclose(pdf(X[1:], 1e3), scipy.stats.norm.pdf(X[1:]), rtol=5e-3)


def test_degrees_of_freedom_that_are_not_positive_give_nan():
    assert np.isnan(logpdf(0.5, -1.0)) and np.isnan(logpdf(0.5, np.nan))
