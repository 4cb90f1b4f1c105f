"""Functions of uniform, normal and exponential variables have the laws that they are named for."""

import numpy as np
import pytest
import scipy.stats

from jitney import random
from jitney.random import inversions

KEY = random.key(4)
COUNT = 1000


@pytest.mark.parametrize(
    ("name", "parameters", "law"),
    [
        ("lognormal", (0.5,), scipy.stats.lognorm(0.5)),
        ("pareto", (1.5,), scipy.stats.pareto(1.5)),
        ("rayleigh", (2.0,), scipy.stats.rayleigh(scale=2.0)),
        ("weibull_min", (2.0, 1.5), scipy.stats.weibull_min(1.5, scale=2.0)),
        ("triangular", (-1.0, 0.5, 2.0), scipy.stats.triang(0.5, -1.0, 3.0)),
        ("maxwell", (), scipy.stats.maxwell()),
        ("wald", (1.5,), scipy.stats.invgauss(1.5)),
    ],
)
def test_laws(name, parameters, law):
    draws = getattr(inversions, name)(KEY, *parameters, (COUNT,))
    assert scipy.stats.kstest(np.asarray(draws, float), law.cdf).pvalue > 1e-3


def test_double_sided_maxwell_is_symmetric_about_its_center():
    draws = np.asarray(inversions.double_sided_maxwell(KEY, 1.0, 2.0, (COUNT,)), float)
    law = scipy.stats.maxwell()
    assert scipy.stats.kstest(np.abs(draws - 1) / 2, law.cdf).pvalue > 1e-3
    np.testing.assert_allclose(np.mean(draws > 1), 0.5, atol=0.07)


def test_geometric_counts_trials_from_one():
    p = np.array([0.25, 0.9])
    draws = np.asarray(inversions.geometric(KEY, p, (COUNT, 2)))
    assert draws.min() == 1 and draws.dtype == "int32"
    np.testing.assert_allclose(np.mean(draws == 1, axis=0), p, atol=0.06)
    np.testing.assert_allclose(draws.mean(0), 1 / p, rtol=0.12)


def test_shapes():
    assert inversions.triangular(KEY, np.zeros((2, 1)), 0.5, np.ones(3)).shape == (2, 3)
    assert inversions.double_sided_maxwell(KEY, np.zeros(2), 1.0, (4,)).shape == (4, 2)
    assert inversions.pareto(KEY, np.ones((0,))).shape == (0,)
    assert inversions.maxwell(KEY, (2,), np.float16).dtype == "float16"


def test_refusals():
    with pytest.raises(ValueError, match="`dtype` must be an integer dtype"):
        inversions.geometric(KEY, 0.5, dtype=float)
    with pytest.raises(ValueError, match="do not broadcast"):
        inversions.wald(KEY, np.ones(3), (2,))
    with pytest.raises(ValueError, match="expected a single key"):
        inversions.rayleigh(random.split(KEY), 1.0)
