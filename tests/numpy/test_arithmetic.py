"""Arithmetic of two operands: what NumPy or `math` gives, at the ends of the range, too."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jitney
from jitney.numpy.arithmetic import (
    add,
    arctan2,
    divide,
    float_power,
    fmax,
    fmin,
    gcd,
    heaviside,
    hypot,
    lcm,
    logaddexp,
    logaddexp2,
    maximum,
    multiply,
    nextafter,
    power,
    subtract,
)

INF, NAN = np.inf, np.nan


def test_booleans_are_added_and_multiplied_as_truth_values():
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert add(x, y).tolist() == [True, True, True, False]
    assert multiply(x, y).tolist() == [True, False, False, False]
    # A mask selects elements; infinity times false is zero.
    z = jitney.numpy.array([INF, -2.0, 3.0, NAN])
    np.testing.assert_array_equal(multiply(jitney.numpy.array(x), z), [INF, -2, 0, 0])
    with pytest.raises(TypeError, match="bool"):
        subtract(x, y)


def test_python_scalars_do_not_widen():
    x = jitney.numpy.array([1, 2], np.int8)
    assert add(x, 1).dtype == np.int8
    assert add(x, 1.5).dtype == np.float32
    assert divide(x, 2).tolist() == [0.5, 1]
    assert add(np.array([127], np.int8), 1).tolist() == [-128]


def test_integer_powers_are_exact_and_wrap_around():
    base = np.array([-3, -1, 0, 1, 2, 7], np.int32)[:, None]
    exponent = np.array([0, 1, 2, 5, 31, 33], np.int32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(power(base, exponent), base**exponent)
    np.testing.assert_array_equal(power(base, 3), base**3)
    np.testing.assert_array_equal(power(np.float32(2), np.array([-1, 3])), [0.5, 8])
    np.testing.assert_array_equal(float_power(np.array([2, 4]), -1), [0.5, 0.25])


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_hypotenuses_neither_overflow_nor_vanish(scale):
    x = np.array([3, 0, 8, 0], np.float32) * np.float32(scale)
    y = np.array([4, 5, 15, 0], np.float32) * np.float32(scale)
    np.testing.assert_allclose(hypot(x, y), np.array([5, 5, 17, 0]) * scale, rtol=3e-7)
    powers = np.float32(2) ** np.arange(-120, 125)
    np.testing.assert_array_equal(hypot(3 * powers, 4 * powers), 5 * powers)
    assert hypot(np.float32(INF), np.float32(NAN)) == INF
    with pytest.raises(ValueError, match="must be real"):
        hypot(np.complex64(1), 1)


@pytest.mark.parametrize(("ours", "base"), [(logaddexp, math.e), (logaddexp2, 2.0)])
def test_logarithms_of_sums(ours, base):
    for x, y in ((0.0, 0.0), (-3.0, 2.0), (1000.0, 999.0), (-INF, 5.0)):
        largest = max(x, y)
        expected = largest + math.log(base ** (x - largest) + base ** (y - largest), base)
        assert float(ours(np.float32(x), np.float32(y))) == pytest.approx(expected, rel=1e-6)
    np.testing.assert_array_equal(ours(np.array([INF, -INF]), np.array([INF, -INF])), [INF, -INF])
    assert np.isnan(ours(np.float32(NAN), np.float32(-INF)))
    # The slopes are the shares of the terms.
    slopes = jitney.grad(ours, (0, 1))(np.float32(0.5), np.float32(0.5))
    np.testing.assert_allclose(slopes, [0.5, 0.5], rtol=1e-6)


def test_logarithms_of_complex_sums_have_principal_angles():
    x, y = np.complex64([1 + 3j, -2 - 3j, 9j]), np.complex64([1 + 3.1j, 1 - 3j, -200j])
    total = np.log(np.exp(x) + np.exp(y))
    np.testing.assert_allclose(logaddexp(x, y), total, rtol=1e-4)
    scale = np.log(2)
    np.testing.assert_allclose(logaddexp2(x / scale, y / scale), total / scale, rtol=1e-4)


def test_extremes_with_and_without_nan():
    x, y = np.array([1, NAN, 3, NAN], np.float32), np.array([NAN, 2, 1, NAN], np.float32)
    np.testing.assert_array_equal(maximum(x, y), [NAN, NAN, 3, NAN])
    np.testing.assert_array_equal(fmax(x, y), [1, 2, 3, NAN])
    np.testing.assert_array_equal(fmin(x, y), [1, 2, 1, NAN])
    np.testing.assert_array_equal(
        heaviside(np.array([-INF, -1, 0, 2, NAN], np.float32), np.float32(0.3)),
        np.array([0, 0, 0.3, 1, NAN], np.float32),
    )


def test_divisors_and_multiples():
    x = np.array([12, -12, 0, 0, 17, 2**31 - 1, -(2**31)], np.int32)
    y = np.array([18, 18, 5, 0, 5, 3, 2**30], np.int32)
    np.testing.assert_array_equal(gcd(x, y), [6, 6, 5, 0, 1, 1, 2**30])
    np.testing.assert_array_equal(lcm(x[:5], y[:5]), [36, 36, 0, 0, 85])
    with pytest.raises(ValueError, match="integer dtypes, but they promote to float32"):
        gcd(x, np.float32(2))


def test_angles_and_neighbors():
    zeros = np.array([0.0, -0.0], np.float32)
    np.testing.assert_array_equal(arctan2(zeros, np.float32(-1)), np.float32([np.pi, -np.pi]))
    one = np.float32(1)
    assert nextafter(one, np.float32(2)) == one + np.finfo(np.float32).eps
    assert nextafter(one, np.float32(-INF)) == one - np.finfo(np.float32).eps / 2
