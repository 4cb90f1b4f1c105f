"""The gamma function and its kin: values, signs, poles, exact Bernoulli numbers."""

import fractions

import numpy as np
import pytest
import scipy.special

import jitney
from jitney.scipy.special import gamma_functions as f

X = np.array([-3.5, -0.2, 0.3, 1.0, 2.5, 7.0, 30.5])


@pytest.fixture(autouse=True)
def in_double_precision():
    with jitney.enable_x64(True):
        yield


@pytest.mark.parametrize("name", ["gamma", "gammaln", "gammasgn", "digamma", "factorial"])
def test_values(name):
    np.testing.assert_allclose(
        getattr(f, name)(X), getattr(scipy.special, name)(X), rtol=1e-12, atol=1e-15
    )


def test_signs_at_poles_and_zeros():
    found = f.gammasgn(np.array([0.0, -0.0, -1.0, -2.0, -np.inf, np.inf, np.nan]))
    np.testing.assert_array_equal(found, [1, -1, np.nan, np.nan, np.nan, 1, np.nan])


def test_logarithm_is_real_only_for_positive_numbers():
    np.testing.assert_allclose(f.loggamma(np.array([-0.5, 0.0, 4.0])), [np.nan, np.nan, np.log(6)])
    np.testing.assert_allclose(f.loggamma(-0.5 + 0j), scipy.special.loggamma(-0.5 + 0j), rtol=1e-14)
    np.testing.assert_allclose(f.gamma(3 + 1j), scipy.special.gamma(3 + 1j), rtol=1e-13)


def test_multivariate_gamma():
    a = np.array([3.0, 5.5])
    np.testing.assert_allclose(f.multigammaln(a, 3), scipy.special.multigammaln(a, 3), rtol=1e-13)
    np.testing.assert_allclose(f.multigammaln(a, 1), f.gammaln(a))


def test_incomplete_functions_complement_each_other():
    a, x = np.array([0.5, 3.0]), np.array([0.2, 9.0])
    np.testing.assert_allclose(f.gammainc(a, x), scipy.special.gammainc(a, x), rtol=1e-12)
    np.testing.assert_allclose(f.gammainc(a, x) + f.gammaincc(a, x), 1, rtol=1e-14)
    np.testing.assert_allclose(
        f.betainc(2.0, 3.0, 0.4), scipy.special.betainc(2, 3, 0.4), rtol=1e-13
    )


def test_polygamma_and_zeta():
    np.testing.assert_allclose(f.polygamma(1, 1.0), np.pi**2 / 6, rtol=1e-14)
    np.testing.assert_allclose(f.zeta(4.0, 1.0), np.pi**4 / 90, rtol=1e-14)
    by_order = -sum(np.log(k) / k**6 for k in range(2, 200))
    np.testing.assert_allclose(jitney.grad(f.zeta)(6.0, 1.0), by_order, rtol=1e-9)
    np.testing.assert_allclose(jitney.grad(f.zeta, 1)(3.0, 2.0), -3 * f.zeta(4.0, 2.0), rtol=1e-14)


def test_bernoulli_numbers():
    wanted = [
        "1",
        "-1/2",
        "1/6",
        "0",
        "-1/30",
        "0",
        "1/42",
        "0",
        "-1/30",
        "0",
        "5/66",
        "0",
        "-691/2730",
    ]
    np.testing.assert_array_equal(f.bernoulli(12), [float(fractions.Fraction(x)) for x in wanted])
    assert f.bernoulli(0).shape == (1,) and f.bernoulli(300)[300] == -np.inf


def test_refusals():
    with pytest.raises(ValueError, match="polygamma: `n`, the order, must have an integer dtype"):
        f.polygamma(1.0, 1.0)
    with pytest.raises(NotImplementedError, match="zeta: `q`"):
        f.zeta(2.0)
    with pytest.raises(NotImplementedError, match="factorial: exact=True is not supported"):
        f.factorial(3, exact=True)
    with pytest.raises(ValueError, match="bernoulli: `n`, the last index"):
        f.bernoulli(-1)
