"""Bessel functions: values, recurrences over the order, and arguments next to 0 and far from it."""

import numpy as np
import pytest
import scipy.special

import jitney
from jitney.scipy.special.bessel import bessel_jn, i0, i0e, i1, i1e

X = np.array([-20.0, -1.5, 0.0, 0.3, 8.0, 30.0])


@pytest.mark.parametrize("function", [i0, i0e, i1, i1e], ids=lambda f: f.__name__)
def test_modified_functions(function):
    wanted = getattr(scipy.special, function.__name__)(X)
    np.testing.assert_allclose(function(X), wanted, rtol=1e-5)


def test_scaled_functions_do_not_overflow():
    np.testing.assert_allclose(i0e(1e6), 1 / np.sqrt(2e6 * np.pi), rtol=1e-5)
    assert i1e(-1e6) == -i1e(1e6) < 0


@pytest.mark.parametrize("order", [0, 1, 4])
def test_orders_from_zero_on(order):
    with jitney.enable_x64(True):
        found = bessel_jn(X, v=order, n_iter=80)
    assert found.shape == (order + 1, 6)
    wanted = scipy.special.jv(np.arange(order + 1)[:, None], X)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-14)


def test_tiny_arguments_have_their_first_terms():
    with jitney.enable_x64(True):
        found = bessel_jn(1e-40, v=2)
    np.testing.assert_allclose(found, [1, 0.5e-40, 1e-80 / 8], rtol=1e-14)
    np.testing.assert_array_equal(bessel_jn(0.0, v=2), [1, 0, 0])


def test_wrong_operands():
    with pytest.raises(ValueError, match="bessel_jn: operands must be real"):
        bessel_jn(1j, v=1)
    with pytest.raises(TypeError, match="integer"):
        bessel_jn(1.0, v=1.5)
