"""Error functions and their kin: values in each region of approximation, slopes, tails, edges."""

import numpy as np
import pytest
import scipy.special

import jitney
from jitney.scipy.special import error_functions as f

X = np.array([-30.0, -3.0, -0.2, 0.0, 0.4, 3.2, 3.3, 6.2, 6.4, 40.0])


@pytest.fixture(autouse=True)
def in_double_precision():
    with jitney.enable_x64(True):
        yield


@pytest.mark.parametrize("name", ["erf", "erfc", "erfcx", "dawsn", "ndtr", "log_ndtr"])
def test_values(name):
    x = X[1:] if name == "erfcx" else X
    np.testing.assert_allclose(getattr(f, name)(x), getattr(scipy.special, name)(x), rtol=1e-12)


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "log_ndtr", "erfinv", "erfcinv", "ndtri"])
def test_slopes(name):
    g, x, h = getattr(f, name), 0.37, 1e-6
    np.testing.assert_allclose(jitney.grad(g)(x), (g(x + h) - g(x - h)) / (2 * h), rtol=1e-8)


def test_quantiles_in_the_center_and_both_tails():
    p = np.array([1e-300, 1e-15, 0.01, 0.0749, 0.0751, 0.5, 0.9999])
    np.testing.assert_allclose(f.ndtri(p), scipy.special.ndtri(p), rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(f.erfcinv(p), scipy.special.erfcinv(p), rtol=1e-13)
    np.testing.assert_array_equal(
        f.ndtri(np.array([0, 1, -0.1, 1.1])), [-np.inf, np.inf, np.nan, np.nan]
    )


def test_complex_error_function():
    z = np.array([0.3 + 2j, -4 + 0.1j, 1e9 + 1j, 0.5 - 1.5j, 2.0])
    np.testing.assert_allclose(f.wofz(z), scipy.special.wofz(z), rtol=1e-12)
    np.testing.assert_allclose(f.erfcx(z[:2]), scipy.special.erfcx(z[:2]), rtol=1e-12)


def test_owens_t():
    h = np.array([0.0, 0.5, -1.5, 3.0, 0.7, 2.0])
    a = np.array([1.0, 0.3, -0.8, 5.0, np.inf, 0.0])
    np.testing.assert_allclose(f.owens_t(h, a), scipy.special.owens_t(h, a), rtol=1e-12)
    by_a = np.exp(-0.5 * 0.25 * 1.09) / (2 * np.pi * 1.09)
    np.testing.assert_allclose(jitney.grad(f.owens_t, 1)(0.5, 0.3), by_a, rtol=1e-12)


def test_refusals():
    with pytest.raises(TypeError, match="`series_order` must be a Python int"):
        f.log_ndtr(1.0, 2.5)
    with pytest.raises(ValueError, match="`series_order` must be from 0 to 30"):
        f.log_ndtr(1.0, 31)
    with pytest.raises(TypeError, match="ndtr: `x` must be float32 or float64"):
        f.ndtr(np.float16(1))
    with pytest.raises(ValueError, match="dawsn: operands must be real"):
        f.dawsn(1j)
