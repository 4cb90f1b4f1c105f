"""The gamma distribution and its kin have the laws of SciPy, and vectors of theirs their norms."""

import numpy as np
import pytest
import scipy.stats

from jitney import random
from jitney.random import gammas

KEY = random.key(3)
COUNT = 500


@pytest.mark.parametrize(
    ("name", "parameters", "law"),
    [
        ("beta", (0.5, 2.0), scipy.stats.beta(0.5, 2.0)),
        ("f", (4.0, 7.0), scipy.stats.f(4.0, 7.0)),
        ("t", (2.5,), scipy.stats.t(2.5)),
    ],
)
def test_laws(name, parameters, law):
    draws = getattr(gammas, name)(KEY, *parameters, (COUNT,))
    assert scipy.stats.kstest(np.asarray(draws, float), law.cdf).pvalue > 1e-3


def test_gamma_variables_and_their_logarithms():
    a = np.array([1e-4, 0.4, 7.0])
    log = np.asarray(gammas.loggamma(KEY, a, (COUNT, 3)), float)
    assert np.all(np.isfinite(log)) and log[:, 0].min() < -1000
    np.testing.assert_allclose(-1e-4 * log[:, 0].mean(), 1, atol=0.15)
    for i in (1, 2):
        law = scipy.stats.gamma(a[i])
        assert scipy.stats.kstest(np.exp(log[:, i]), law.cdf).pvalue > 1e-3
    draws = np.asarray(gammas.gamma(KEY, a, (COUNT, 3)), float)
    np.testing.assert_allclose(draws[:, 1:], np.exp(log[:, 1:]), rtol=1e-4)


def test_dirichlet_draws_are_on_the_simplex():
    alpha = np.array([1e-3, 1.0, 2.0])
    draws = np.asarray(gammas.dirichlet(KEY, alpha, (COUNT,)))
    np.testing.assert_allclose(draws.sum(-1), 1, rtol=1e-5)
    np.testing.assert_allclose(draws.mean(0), alpha / alpha.sum(), atol=0.03)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_points_of_a_ball_fill_it_evenly(p):
    points = np.asarray(gammas.ball(KEY, 3, p, (COUNT,)), float)
    volume = np.linalg.norm(points, p, axis=-1) ** 3
    assert scipy.stats.kstest(volume, "uniform").pvalue > 1e-3


def test_refusals():
    with pytest.raises(ValueError, match=r"`alpha` must have at least one axis"):
        gammas.dirichlet(KEY, 1.0)
    with pytest.raises(ValueError, match="`dtype` must be float"):
        gammas.t(KEY, 1.0, dtype=int)
    with pytest.raises(ValueError, match="do not broadcast"):
        gammas.f(KEY, np.ones(3), np.ones(3), (2,))
