"""Greatest common divisors of every pair, by NumPy and by a program, in every integer type."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.core.types import dtypes
from jitney.numpy.divisors import gcd_of


def both_ways(x, y):
    found = gcd_of(jnp.array(x), jnp.array(y))
    traced = jitney.jit(gcd_of)(x, y)
    assert found.dtype == traced.dtype == x.dtype
    np.testing.assert_array_equal(found, traced)
    return found


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32])
def test_pairs(dtype):
    values = np.array([0, 1, 2, 12, 18, 60, 97, 127], dtype)
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    expected = [math.gcd(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    assert both_ways(x, y).tolist() == expected


def test_the_smallest_integer_is_a_magnitude():
    x, y = np.array([-128, -128, -128], np.int8), np.array([96, -128, 0], np.int8)
    assert both_ways(x, y).tolist() == [32, -128, -128]  # 128 wraps around


def test_integers_of_four_bits():
    x, y = np.array([6, -8, 7], dtypes.int4), np.array([4, 6, 0], dtypes.int4)
    assert np.asarray(gcd_of(jnp.array(x), jnp.array(y)), int).tolist() == [2, 2, 7]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint32, np.int64])
def test_the_number_of_steps_suffices(dtype):
    info, rng = np.iinfo(dtype), np.random.default_rng(5)
    special = [1, 2, 3, info.max, info.max - 1, info.max // 2, info.max // 2 + 1]
    a, b = 1, 1
    while a + b <= info.max:  # Fibonacci numbers
        a, b = b, a + b
    special += [a, b]
    with jitney.enable_x64(True):
        x, y = np.repeat(special, len(special)), np.tile(special, len(special))
        x = np.concatenate([x, rng.integers(0, info.max, 500)]).astype(dtype)
        y = np.concatenate([y, rng.integers(0, info.max, 500)]).astype(dtype)
        expected = [math.gcd(int(a), int(b)) for a, b in zip(x, y, strict=True)]
        assert np.asarray(both_ways(x, y)).tolist() == expected
