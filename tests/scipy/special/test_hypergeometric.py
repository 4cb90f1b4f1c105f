"""Hypergeometric functions: closed forms in each region of the argument, slopes, poles."""

import mpmath
import numpy as np
import pytest
import scipy.special

import jitney
from jitney.scipy.special.hypergeometric import hyp1f1, hyp2f1


@pytest.fixture(autouse=True)
def in_double_precision():
    with jitney.enable_x64(True):
        yield


def test_kummers_function_near_far_and_negative():
    a, b = np.array([0.5, 2.3, -2.0, 1.5, 3.0]), np.array([1.5, 0.7, 3.0, 2.5, 1.0])
    x = np.array([0.3, -7.0, 5.0, 250.0, -400.0])
    wanted = [float(mpmath.hyp1f1(*row)) for row in zip(a, b, x, strict=True)]
    np.testing.assert_allclose(hyp1f1(a, b, x), wanted, rtol=1e-11)


def test_kummers_transformation():
    np.testing.assert_allclose(
        hyp1f1(1.2, 2.7, -3.0), np.exp(-3) * hyp1f1(1.5, 2.7, 3.0), rtol=1e-13
    )


def test_elementary_cases_of_gauss_function():
    x = np.array([-5.0, -0.5, 0.2, 0.6, 0.95, 0.999])
    np.testing.assert_allclose(hyp2f1(0.7, 1.3, 1.3, x), (1 - x) ** -0.7, rtol=1e-11)
    np.testing.assert_allclose(hyp2f1(1.0, 1.0, 2.0, x), -np.log1p(-x) / x, rtol=1e-11)
    np.testing.assert_allclose(hyp2f1(-2.0, 1.0, 3.0, 7.0), 1 - 2 * 7 / 3 + 49 / 6, rtol=1e-13)


def test_at_one_and_beyond():
    a, b, c = 0.5, 0.25, 2.0
    gamma = scipy.special.gamma
    wanted = gamma(c) * gamma(c - a - b) / (gamma(c - a) * gamma(c - b))
    np.testing.assert_allclose(hyp2f1(a, b, c, 1.0), wanted, rtol=1e-13)
    np.testing.assert_array_equal(hyp2f1(a, b, np.array([0.5, c]), np.array([1.0, 1.5])), np.inf)


def test_poles_of_the_denominator():
    found = hyp1f1(np.array([1.0, -1.0, -3.0]), -2.0, 0.5)
    np.testing.assert_allclose(found, [np.inf, 1.25, np.inf])
    assert hyp2f1(1.0, 1.0, -1.0, 0.5) == np.inf and hyp2f1(0.0, 1.0, -1.0, 0.5) == 1


def test_slopes_by_all_arguments():
    at, h = (0.7, 1.6, 0.8), 1e-6
    for i in range(3):
        up, down = (hyp1f1(*[x + s * (i == j) for j, x in enumerate(at)]) for s in (h, -h))
        found = jitney.grad(hyp1f1, i)(*at)
        np.testing.assert_allclose(found, (up - down) / (2 * h), rtol=1e-7)


def test_complex_operands_are_refused():
    with pytest.raises(ValueError, match="hyp2f1: operands must be real"):
        hyp2f1(1.0, 1.0, 1.0, 1j)
