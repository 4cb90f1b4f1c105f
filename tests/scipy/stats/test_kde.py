"""Kernel density estimates: SciPy's densities and integrals, weights, bandwidths, refusals."""

import numpy as np
import pytest
import scipy.stats

import jitney
import jitney.numpy as jnp
from jitney.scipy.stats.kde import gaussian_kde

SAMPLE = np.random.default_rng(0).normal(size=(2, 9))
WEIGHTS = np.arange(1.0, 10.0)


@pytest.mark.parametrize("method", ["scott", "silverman", 0.3, lambda kde: 1 / kde.n])
def test_densities(method):
    points = np.array([[0.0, 1.0, -2.0], [0.5, 0.0, 1.0]])
    with jitney.enable_x64(True):
        found = gaussian_kde(SAMPLE, method, WEIGHTS)
        wanted = scipy.stats.gaussian_kde(SAMPLE, method, WEIGHTS)
        np.testing.assert_allclose(found(points), wanted(points), rtol=1e-12)
        np.testing.assert_allclose(found.logpdf(points), wanted.logpdf(points), rtol=1e-12)
        np.testing.assert_allclose(found.neff, wanted.neff, rtol=1e-14)


def test_integrals():
    with jitney.enable_x64(True):
        a, b = gaussian_kde(SAMPLE[0]), gaussian_kde(SAMPLE[1], weights=WEIGHTS)
        of_a, of_b = (
            scipy.stats.gaussian_kde(SAMPLE[0]),
            scipy.stats.gaussian_kde(SAMPLE[1], None, WEIGHTS),
        )
        np.testing.assert_allclose(a.integrate_kde(b), of_a.integrate_kde(of_b), rtol=1e-12)
        np.testing.assert_allclose(
            b.integrate_box_1d(-1, 0.5), of_b.integrate_box_1d(-1, 0.5), rtol=1e-12
        )
        found, wanted = (kde.integrate_gaussian(0.3, 2.0) for kde in (a, of_a))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_far_points_have_finite_log_densities():
    log_density = gaussian_kde(SAMPLE[0]).logpdf(np.array([1e3]))
    assert np.isfinite(log_density) and log_density < -1e5


def test_draws_keep_to_points_of_all_the_weight():
    kde = gaussian_kde(np.array([[0.0, 100.0]]), 1e-3, np.array([0.0, 1.0]) + 1e-7)
    draws = kde.resample(jitney.random.key(0), (5, 4))
    assert draws.shape == (1, 5, 4)
    np.testing.assert_allclose(draws, 100, atol=1)


def test_pytree_round_trip():
    kde = gaussian_kde(SAMPLE)
    leaves, tree = jitney.tree.flatten(kde)
    again = jitney.tree.unflatten(tree, leaves)
    assert (again.d, again.n) == (2, 9)
    np.testing.assert_array_equal(again.pdf(jnp.zeros(2)), kde.pdf(jnp.zeros(2)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0][:1] * np.ones(1),), "at least two elements"),
        ((SAMPLE, None, np.ones((2, 9))), "`weights` must be a vector"),
        ((SAMPLE, None, np.ones(3)), "one element for each of the 9 points"),
        ((SAMPLE, "other"), "`bw_method` must be a scalar"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        gaussian_kde(*arguments)


def test_wrong_points_and_limits():
    kde = gaussian_kde(SAMPLE)
    with pytest.raises(ValueError, match="points must have 2 coordinates"):
        kde(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="must be one-dimensional"):
        kde.integrate_box_1d(0, 1)
    with pytest.raises(NotImplementedError, match="must be real"):
        gaussian_kde(SAMPLE + 0j)
