"""Poisson, binomial and multinomial draws have their moments on both sides of the change of method."""

import numpy as np
import pytest
import scipy.stats

import jitney.numpy as jnp
from jitney import random
from jitney.random.counts import _stirling_tail, binomial, multinomial, poisson

KEY = random.key(1)
COUNT = 2000


def check_moments(draws, mean, variance):
    error = np.sqrt(variance / COUNT)
    np.testing.assert_array_less(np.abs(draws.mean(0) - mean), 4.5 * error)
    np.testing.assert_allclose(draws.var(0), variance, rtol=0.25)


def test_poisson():
    mean = np.array([0.5, 9.9, 10.1, 400.0, 0.0])
    draws = np.asarray(poisson(KEY, mean, (COUNT, 5)))
    np.testing.assert_array_equal(draws[:, 4], 0)
    assert draws.dtype == "int32" and draws.min() >= 0
    check_moments(draws[:, :4], mean[:4], mean[:4])
    share = np.mean(draws[:, 0] == 0)
    np.testing.assert_allclose(share, np.exp(-0.5), atol=0.05)


def test_binomial_counts_from_the_side_of_the_rarer_outcome():
    n = np.array([3.0, 40.0, 200.0, 200.0, 5, 5, np.inf, -1, 5])
    p = np.array([0.3, 0.9, 0.4, 0.97, 0, 1, 0.5, 0.5, np.nan])
    draws = np.asarray(binomial(KEY, n, p, (COUNT, 9)))
    np.testing.assert_array_equal(draws[:, 4:], np.tile([0, 5, np.inf, np.nan, np.nan], (COUNT, 1)))
    draws, n, p = draws[:, :4], n[:4], p[:4]
    assert np.all((draws >= 0) & (draws <= n) & (draws == np.floor(draws)))
    check_moments(draws, n * p, n * p * (1 - p))


def test_multinomial_counts_add_up():
    p = np.array([0.2, 0.0, 0.5, 0.3])
    draws = np.asarray(multinomial(KEY, 50, p, shape=(200, 4)))
    np.testing.assert_array_equal(draws.sum(1), 50)
    np.testing.assert_array_equal(draws[:, 1], 0)
    np.testing.assert_allclose(draws.mean(0), 50 * p, atol=1.2)


def test_error_of_stirlings_formula():
    k = np.array([0.0, 3.0, 9.0])
    exact = scipy.special.gammaln(k + 1) - (k + 0.5) * np.log(k + 1) + k + 1 - np.log(2 * np.pi) / 2
    np.testing.assert_allclose(_stirling_tail(jnp.array(k)), exact, rtol=1e-6)


def test_refusals():
    with pytest.raises(ValueError, match="`dtype` must be an integer dtype"):
        poisson(KEY, 1.0, dtype=float)
    with pytest.raises(NotImplementedError, match="only keys of threefry2x32"):
        poisson(random.key(0, impl="rbg"), 1.0)
    with pytest.raises(ValueError, match="do not broadcast"):
        binomial(KEY, np.ones(3), 0.5, (2,))
