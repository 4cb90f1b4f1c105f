"""Samplers with `method="approximate"`: distributions, derivatives, and JAX's numbers.

JAX has them since 0.11; the numbers are those of JAX 0.12.0.1, which a program printed.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import jitney
import jitney.numpy as jnp
from jitney import random

KEY = random.key(3)
PARAMETERS = np.array([1e-9, 0.1, 0.5, 1.0, 2.0, 3.7, 10.0, 100.0, 1e6])


def close(found, wanted, rtol=2e-6):
    np.testing.assert_allclose(np.asarray(found, float), wanted, rtol=rtol)


# --- JAX's numbers --------------------------------------------------------------------------------

GAMMA = [
    0.0,
    0.0002242836,
    0.1625757,
    0.07395475,
    1.598557,
    8.924839,
    13.93513,
    79.31577,
    1002441.0,
]
LOG_GAMMA = [
    -26338490.0,
    -8.402599,
    -1.816612,
    -2.604302,
    0.4691013,
    2.188838,
    2.634413,
    4.373437,
    13.81795,
]
BETA = [0.001111336, 0.1510758, 0.5418121, 0.4062442, 0.5465494, 0.9800593, 0.9876263, 0.9999959]
CHI_SQUARE = [0.007082394, 0.04324558, 1.057759, 0.5892391, 3.73987, 7.571081, 111.7306, 996997.3]
POISSON = [
    [0, 1, 1, 7, 5, 7, 5, 19, 29, 89, 10063, 998990],
    [0, 0, 3, 1, 7, 7, 10, 16, 35, 90, 9925, 1001305],
    [0, 0, 1, 4, 6, 5, 7, 20, 44, 102, 9903, 1001193],
]
GRADIENT = [0.9772596, 1.105953, 0.7248166, 1.021396, 0.7728151, 1.108458, 0.9403721]


def test_numbers_of_jax():
    close(random.gamma(KEY, PARAMETERS, method="approximate"), GAMMA)
    close(random.loggamma(KEY, PARAMETERS, method="approximate"), LOG_GAMMA, 2e-5)
    close(random.beta(KEY, PARAMETERS[1:], 2.0, method="approximate"), BETA)
    close(random.chisquare(KEY, PARAMETERS[1:], method="approximate"), CHI_SQUARE)
    means = np.array([0.0, 0.3, 1.0, 3.0, 6.9, 7.0, 8.0, 20.0, 33.3, 100.0, 1e4, 1e6])
    found = random.poisson(KEY, means, (3, 12), method="approximate")
    np.testing.assert_array_equal(found, POISSON)
    assert found.dtype == "int32"


def test_gradients_of_jax():
    keys = random.split(KEY, 7)
    draw = jitney.grad(lambda a, key: random.gamma(key, a, method="approximate"))
    close(jitney.vmap(draw)(jnp.array(PARAMETERS[1:8]), keys), GRADIENT)


def test_compiled_programs_draw_the_same():
    eager = random.gamma(KEY, PARAMETERS, method="approximate")
    jitted = jitney.jit(lambda key, a: random.gamma(key, a, method="approximate"))
    close(jitted(KEY, PARAMETERS), eager)
    one = jitney.vmap(lambda key: random.poisson(key, 9.0, method="approximate"))
    keys = random.split(KEY, 5)
    wanted = [random.poisson(key, 9.0, method="approximate") for key in keys]
    np.testing.assert_array_equal(one(keys), wanted)


# --- distributions --------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.1, 1.0, 3.7, 100.0])
def test_gamma_is_gamma(a):
    drawn = np.asarray(random.gamma(KEY, a, (20_000,), method="approximate"), float)
    assert scipy.stats.kstest(drawn, scipy.stats.gamma(a).cdf).pvalue > 1e-3
    logs = np.asarray(random.loggamma(KEY, a, (20_000,), method="approximate"), float)
    np.testing.assert_allclose(np.exp(logs), drawn, rtol=1e-5, atol=1e-37)


def test_beta_and_chi_square():
    drawn = np.asarray(random.beta(KEY, 2.0, 3.0, (20_000,), method="approximate"), float)
    assert scipy.stats.kstest(drawn, scipy.stats.beta(2, 3).cdf).pvalue > 1e-3
    drawn = np.asarray(random.chisquare(KEY, 5.0, (20_000,), method="approximate"), float)
    assert scipy.stats.kstest(drawn, scipy.stats.chi2(5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("mean", [0.3, 3.0, 6.99, 7.0, 30.0, 1000.0])
def test_poisson_is_poisson(mean):
    drawn = np.asarray(random.poisson(KEY, mean, (40_000,), method="approximate"))
    law = scipy.stats.poisson(mean)
    low, high = int(law.ppf(1e-3)), int(law.ppf(1 - 1e-3))
    edges = np.unique(np.linspace(low, high, 12).astype(int))
    bins = np.r_[-1, edges, np.inf]
    counts = np.histogram(drawn, bins + 0.5)[0]
    wanted = np.diff(np.r_[0, law.cdf(edges), 1]) * drawn.size
    assert scipy.stats.chisquare(counts, wanted * counts.sum() / wanted.sum()).pvalue > 1e-4


def test_special_parameters():
    special = np.array([0.0, -1.0, np.inf, np.nan], "f4")
    gammas = random.gamma(KEY, special, method="approximate")
    np.testing.assert_array_equal(gammas, [0, 0, np.inf, np.nan])
    logs = random.loggamma(KEY, special, method="approximate")
    np.testing.assert_array_equal(logs, [-np.inf, -np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(random.poisson(KEY, 0.0, (3,), method="approximate"), 0)
    assert random.gamma(KEY, np.ones((0, 3)), method="approximate").shape == (0, 3)
    assert random.poisson(KEY, np.ones((2, 0)), method="approximate").shape == (2, 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_of_gamma(dtype):
    with jitney.enable_x64(True):
        found = random.gamma(KEY, 2.0, (4,), dtype, method="approximate")
        assert found.dtype == dtype and (found > 0).all()


def test_poisson_takes_keys_of_any_generator():
    key = random.key(0, impl="rbg")
    assert random.poisson(key, 3.0, (5,), method="approximate").dtype == "int32"
    with pytest.raises(NotImplementedError, match="threefry2x32"):
        random.poisson(key, 3.0)
    assert random.poisson(KEY, 3.0, dtype="uint8", method="approximate").dtype == "uint8"


@pytest.mark.parametrize("name", ["gamma", "loggamma", "beta", "chisquare", "poisson"])
def test_methods_are_two(name):
    parameters = (2.0, 3.0) if name == "beta" else (2.0,)
    draw = getattr(random, name)
    with pytest.raises(ValueError, match=rf"random\.{name}.*'exact' or 'approximate'.*'fast'"):
        draw(KEY, *parameters, method="fast")
    np.testing.assert_array_equal(draw(KEY, *parameters, method="exact"), draw(KEY, *parameters))
    with pytest.raises(TypeError):
        draw(KEY, *parameters, (), None, "approximate")


def test_key_is_a_type_for_annotations():
    assert random.Key(KEY) is KEY
    assert vars(random.Key)["__supertype__"] is jitney.Array
