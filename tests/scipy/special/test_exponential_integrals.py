"""Exponential, sine, cosine and Fresnel integrals, and the dilogarithm, in each region and at edges."""

import numpy as np
import pytest
import scipy.special

import jitney
from jitney.scipy.special import exponential_integrals as f

X = np.array([0.01, 0.37, 0.99, 1.01, 3.9, 4.1, 5.9, 6.1, 11.9, 13.0, 23.9, 25.0, 300.0])


@pytest.fixture(autouse=True)
def in_double_precision():
    with jitney.enable_x64(True):
        yield


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("expi", np.concatenate([X, -X])), ("exp1", X), ("sici", np.concatenate([X, [0]])),
        ("fresnel", np.concatenate([X[:-1], -X[:3], [1.59, 1.61]])),
        ("spence", np.concatenate([X, [0.4999, 0.5001, 1, 1.999, 2.001]])),
    ],
)  # fmt: skip
def test_values(name, x):
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, name)(x)
    np.testing.assert_allclose(getattr(f, name)(x), wanted, rtol=2e-12)


def test_integrals_of_all_orders():
    n, x = np.arange(6)[:, None], np.array([0.1, 1.9, 2.1, 30.0])
    np.testing.assert_allclose(f.expn(n, x), scipy.special.expn(n, x), rtol=1e-12)
    np.testing.assert_allclose(f.expn(np.arange(4), 0.0), [np.inf, np.inf, 1, 0.5])


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (f.expi, lambda x: np.exp(x) / x),
        (f.exp1, lambda x: -np.exp(-x) / x),
        (lambda x: f.expn(2, x), lambda x: -scipy.special.exp1(x)),
        (lambda x: f.sici(x)[0], lambda x: np.sin(x) / x),
        (lambda x: f.sici(x)[1], lambda x: np.cos(x) / x),
        (lambda x: f.fresnel(x)[0], lambda x: np.sin(np.pi * x * x / 2)),
        (f.spence, lambda x: np.log(x) / (1 - x)),
    ],
)
def test_slopes_are_integrands(function, slope):
    np.testing.assert_allclose(jitney.grad(function)(1.7), slope(1.7), rtol=1e-12)


def test_edges():
    ends = np.array([0.0, np.inf, -np.inf])
    np.testing.assert_array_equal(f.expi(ends), [-np.inf, np.inf, 0])
    np.testing.assert_array_equal(f.exp1(np.array([0.0, np.inf, -1.0])), [np.inf, 0, np.nan])
    np.testing.assert_allclose(f.sici(ends)[0], [0, np.pi / 2, -np.pi / 2])
    np.testing.assert_allclose(f.fresnel(ends)[1], [0, 0.5, -0.5])
    np.testing.assert_array_equal(f.spence(np.array([1.0, np.inf, -1.0])), [0, -np.inf, np.nan])
    assert f.spence(0.0) == np.pi**2 / 6


def test_the_root_of_the_exponential_integral_does_not_cancel():
    root = 0.37250741078136663
    np.testing.assert_allclose(f.expi(root + 1e-9), np.exp(root) / root * 1e-9, rtol=1e-6)


def test_refusals():
    with pytest.raises(ValueError, match="sici: `x` must be real"):
        f.sici(1j)
    with pytest.raises(NotImplementedError, match="fresnel: complex"):
        f.fresnel(1j)
    with pytest.raises(TypeError, match="spence: `x` must be float32"):
        f.spence(np.float16(1))
