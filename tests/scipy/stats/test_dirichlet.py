"""The Dirichlet distribution on the simplex: with or without its last coordinate, in columns."""

import numpy as np
import pytest
import scipy.stats

from jitney.scipy.stats.dirichlet import logpdf, pdf

ALPHA = np.array([0.5, 2.0, 3.0])
POINT = np.array([0.2, 0.3, 0.5])


def test_values():
    np.testing.assert_allclose(
        pdf(POINT, ALPHA), scipy.stats.dirichlet.pdf(POINT, ALPHA), rtol=1e-5
    )


def test_the_last_coordinate_follows_from_the_others():
    np.testing.assert_allclose(logpdf(POINT[:-1], ALPHA), logpdf(POINT, ALPHA), rtol=1e-5)


def test_points_are_columns():
    found = logpdf(np.stack([POINT, POINT[::-1]], axis=1), ALPHA)
    np.testing.assert_allclose(found, [logpdf(POINT, ALPHA), logpdf(POINT[::-1], ALPHA)], rtol=1e-6)


def test_outside_of_the_simplex():
    assert logpdf(np.array([0.5, 0.5, 0.5]), ALPHA) == -np.inf
    assert logpdf(np.array([-0.5, 0.5, 1.0]), ALPHA) == -np.inf
    assert np.isnan(logpdf(np.array([0.5, np.nan, 0.5]), ALPHA))


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="`alpha` must be a vector"):
        logpdf(POINT, ALPHA[None])
    with pytest.raises(ValueError, match="as many rows as alpha has elements"):
        logpdf(POINT[:1], ALPHA)
