"""Samples of gamma distributions have its moments, and slopes at fixed quantiles."""

import numpy as np
import pytest
from scipy import special

import jitney
from jitney.primitives.random.gamma import _slope, random_gamma_p

KEY = jitney.random.key(8)
SHAPES = np.float32([0.001, 0.3, 1, 5])


def test_moments_of_samples_and_of_their_logarithms():
    a = np.repeat(SHAPES[:, None], 1500, 1)
    log = np.asarray(random_gamma_p.bind(KEY, a, log_space=True), np.float64)
    assert np.isfinite(log).all()  # although many samples of the first row underflow themselves
    x = np.exp(log)
    error = 6 * np.sqrt(SHAPES / 1500)  # six standard deviations of a mean
    np.testing.assert_array_less(np.abs(x.mean(1) - SHAPES), error)
    np.testing.assert_allclose(x.var(1)[1:], SHAPES[1:], rtol=0.35)
    np.testing.assert_allclose(log.mean(1), special.digamma(SHAPES), rtol=0.15, atol=0.15)


@pytest.mark.parametrize("log_space", [False, True])
def test_slopes_at_fixed_quantiles(log_space):
    a, h = np.float64([0.3, 1, 5]), 1e-6
    p = np.float64([0.2, 0.9, 0.5])
    low, x, high = (special.gammaincinv(b, p) for b in (a - h, a, a + h))
    want = (high - low) / (2 * h) / (x if log_space else 1)
    drawn = (np.log(x) if log_space else x).astype(np.float32)
    got = _slope(np.ones(3, np.float32), drawn, KEY, a.astype(np.float32), log_space=log_space)
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_what_is_refused():
    with pytest.raises(TypeError, match="random_gamma: `a` must have a floating-point dtype"):
        random_gamma_p.bind(KEY, np.int32([1]), log_space=False)
    with pytest.raises(ValueError, match="the leading axes of `a` must be those of the keys"):
        random_gamma_p.bind(jitney.random.split(KEY, 2), SHAPES, log_space=False)
