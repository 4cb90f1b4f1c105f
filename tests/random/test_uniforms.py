"""Bits, uniform variables, integers, booleans and signs: ranges with their ends, shares, refusals."""

import numpy as np
import pytest
import scipy.stats

import jitney
import jitney.numpy as jnp
from jitney import random
from jitney.random.uniforms import bernoulli, bits, rademacher, randint, uniform

KEY = random.key(8)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_each_bit_is_set_half_of_the_time(dtype):
    drawn = np.asarray(bits(KEY, (1000,), dtype))
    assert drawn.dtype == dtype
    shares = [np.mean(drawn >> np.asarray(i, dtype) & 1) for i in range(8 * drawn.itemsize)]
    np.testing.assert_allclose(shares, 0.5, atol=0.08)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_variables(dtype):
    with jitney.enable_x64(True):
        drawn = uniform(KEY, (1000,), dtype, -2, 3)
    assert drawn.dtype == dtype
    drawn = np.asarray(drawn, float)
    assert drawn.min() >= -2 and drawn.max() <= 3
    assert scipy.stats.kstest((drawn + 2) / 5, "uniform").pvalue > 1e-3


def test_bounds_of_uniform_variables_broadcast():
    low = np.array([0.0, 10.0])
    drawn = np.asarray(uniform(KEY, (500, 2), minval=low, maxval=low + 1))
    assert np.all((drawn >= low) & (drawn < low + 1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
def test_integers_reach_both_ends_of_their_dtype(dtype):
    info = np.iinfo(dtype)
    end = info.max + 1 if info.bits < 32 else np.array(info.max, dtype)
    drawn = np.asarray(randint(KEY, (3000,), np.array(info.min, dtype), end, dtype))
    assert drawn.dtype == dtype
    wide = (drawn.astype(float) - info.min) / (float(info.max) - info.min)
    assert scipy.stats.kstest(wide, "uniform").pvalue > 1e-4
    if info.bits == 8:
        assert drawn.min() == info.min and drawn.max() == info.max


def test_integers_of_small_ranges():
    drawn = np.asarray(randint(KEY, (3000,), -1, 2))
    np.testing.assert_allclose([np.mean(drawn == v) for v in (-1, 0, 1)], 1 / 3, atol=0.04)
    np.testing.assert_array_equal(randint(KEY, (5,), 4, 4), 4)
    with jitney.enable_x64(True):
        drawn = randint(KEY, (50,), 2**31 - 3, 2**31, "int32")
    np.testing.assert_array_equal(np.unique(drawn), 2**31 - np.array([3, 2, 1]))
    np.testing.assert_array_equal(randint(KEY, (5,), 4.9, 5.9), 4)
    np.testing.assert_array_equal(
        np.unique(randint(KEY, (200,), 250, 999, "uint8")), np.arange(250, 256)
    )


@pytest.mark.parametrize("mode", ["low", "high"])
def test_booleans(mode):
    p = np.array([0.0, 0.2, 1.0])
    drawn = np.asarray(bernoulli(KEY, p, (2000, 3), mode))
    assert drawn.dtype == bool
    np.testing.assert_allclose(drawn.mean(0), p, atol=0.04)
    np.testing.assert_array_equal(drawn.mean(0)[[0, 2]], [0, 1])


def test_signs():
    drawn = np.asarray(rademacher(KEY, (1000,), "int8"))
    np.testing.assert_array_equal(np.unique(drawn), [-1, 1])
    assert abs(drawn.mean()) < 0.15 and drawn.dtype == "int8"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bits(KEY, dtype=int), ValueError, "must be an unsigned integer dtype"),
        (lambda: uniform(KEY, dtype=int), ValueError, "`dtype` must be float"),
        (lambda: randint(KEY, (2,), 0, 5, float), TypeError, "must be an integer dtype"),
        (lambda: randint(KEY, (2,), jnp.zeros(3, int), 5), ValueError, "do not broadcast"),
        (lambda: bernoulli(KEY, 0.5, mode="exact"), ValueError, "`mode` must be"),
        (lambda: bernoulli(KEY, 1j), TypeError, "`p` must be real"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
