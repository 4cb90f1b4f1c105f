"""Normal variables and those by inversion of one uniform variable: laws, ranges, rounding."""

import numpy as np
import pytest
import scipy.stats

import jitney.numpy as jnp
from jitney import random
from jitney.random import normals

KEY = random.key(6)
COUNT = 1000


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("normal", scipy.stats.norm),
        ("exponential", scipy.stats.expon),
        ("laplace", scipy.stats.laplace),
        ("gumbel", scipy.stats.gumbel_r),
        ("logistic", scipy.stats.logistic),
        ("cauchy", scipy.stats.cauchy),
    ],
)
def test_laws(name, law):
    draws = np.asarray(getattr(normals, name)(KEY, (COUNT,)))
    assert draws.dtype == "float32" and np.all(np.isfinite(draws))
    assert scipy.stats.kstest(draws.astype(float), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("mode", ["high", "highest"])
def test_gumbel_variables_of_higher_precision(mode):
    draws = np.asarray(normals.gumbel(KEY, (COUNT,), mode=mode), float)
    assert scipy.stats.kstest(draws, scipy.stats.gumbel_r.cdf).pvalue > 1e-3


def test_complex_normal_variables_have_variance_one():
    draws = np.asarray(normals.normal(KEY, (COUNT,), complex))
    np.testing.assert_allclose(np.mean(np.abs(draws) ** 2), 1, atol=0.15)
    np.testing.assert_allclose([draws.real.var(), draws.imag.var()], 0.5, atol=0.1)
    assert abs(np.mean(draws.real * draws.imag)) < 0.1


def test_truncated_normal_variables_stay_inside():
    low, high = np.array([-1.0, 0.5, -np.inf]), np.array([0.3, np.inf, -2.0])
    draws = np.asarray(normals.truncated_normal(KEY, low, high, (COUNT, 3)), float)
    assert np.all((draws > low) & (draws < high))
    for i in range(3):
        law = scipy.stats.truncnorm(low[i], high[i])
        assert scipy.stats.kstest(draws[:, i], law.cdf).pvalue > 1e-3


def test_words_of_64_bits_are_rounded_down_to_floats():
    words = [0, 1, 2**31, 2**32 - 1, 2**32, 2**40 + 12345, 2**63, 2**64 - 1]
    high, low = (
        jnp.array([f(w) for w in words], jnp.uint32)
        for f in (lambda w: w >> 32, lambda w: w % 2**32)
    )
    found = np.asarray(normals._float_of_64_bits(high, low), float)[1:]
    exact = np.array([w / 2**64 for w in words[1:]])
    assert np.all((found <= exact) & (found >= exact * (1 - 2.0**-23)))
    assert found[-1] < 1


def test_other_dtypes_and_refusals():
    for dtype in ("float16", "bfloat16"):
        assert normals.laplace(KEY, (3,), dtype).dtype == dtype
    with pytest.raises(ValueError, match="`mode` must be"):
        normals.gumbel(KEY, mode="low64")
    with pytest.raises(ValueError, match="`dtype` must be float or complex"):
        normals.normal(KEY, dtype=int)
