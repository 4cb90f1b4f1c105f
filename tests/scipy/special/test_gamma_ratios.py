"""Beta function, Pochhammer symbol and binomial coefficients: signs, large arguments, poles."""

import math

import mpmath
import numpy as np
import pytest

import jitney
from jitney.scipy.special.gamma_ratios import beta, betaln, comb, poch

A = np.array([0.5, 3.0, -0.3, -2.6, -4.4, 1e6, 9.5, -1.5])
B = np.array([0.25, 2.0, 0.7, 1.2, -1.1, 2.5, 1e9, 40.0])


@pytest.fixture(autouse=True)
def in_double_precision():
    with jitney.enable_x64(True):
        yield


def test_beta():
    wanted = np.array([float(mpmath.beta(a, b)) for a, b in zip(A, B, strict=True)])
    np.testing.assert_allclose(beta(A, B), wanted, rtol=1e-12)
    np.testing.assert_allclose(betaln(A, B), np.log(np.abs(wanted)), rtol=1e-12)
    np.testing.assert_array_equal(beta(B, A), beta(A, B))


def test_slopes_of_the_logarithm():
    found = jitney.grad(betaln, (0, 1))(2.0, 3.0)
    np.testing.assert_allclose(found, [-1 / 2 - 1 / 3 - 1 / 4, -1 / 3 - 1 / 4], rtol=1e-12)


def test_rising_factorials():
    z, m = np.array([3.0, -2.5, 0.5, 1e8, -7.2, 4.0]), np.array([4.0, 3.0, -2.5, 0.25, 20.1, 0.0])
    wanted = [float(mpmath.rf(x, y)) for x, y in zip(z, m, strict=True)]
    np.testing.assert_allclose(poch(z, m), wanted, rtol=1e-12)


def test_rising_factorials_at_poles():
    found = poch(
        np.array([-3.0, -5.0, -3.0, 0.0, 2.0, -3.0]), np.array([2.0, 3.0, 5.0, 1.0, -2.0, 0.0])
    )
    np.testing.assert_allclose(found, [6, -60, 0, 0, np.inf, 1], rtol=1e-14)


def test_binomial_coefficients():
    n, k = np.arange(8)[:, None], np.arange(9)
    wanted = [[math.comb(i, j) for j in range(9)] for i in range(8)]
    np.testing.assert_allclose(comb(n, k), wanted, rtol=1e-12)
    np.testing.assert_allclose(comb(1000, 3), math.comb(1000, 3), rtol=1e-12)
    np.testing.assert_array_equal(comb(np.array([3, -2]), np.array([-1, 1])), 0)


def test_choices_with_repetition():
    found = comb(np.array([3, 0, 5]), np.array([2, 0, 3]), repetition=True)
    np.testing.assert_allclose(found, [6, 1, 35], rtol=1e-13)
