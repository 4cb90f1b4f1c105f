"""Associated Legendre functions and spherical harmonics, by values, slopes and orthonormality."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.scipy.special.legendre import lpmn, lpmn_values, sph_harm_y

Z = np.array([-0.9, 0.0, 0.3, 0.8])


def test_low_degrees_in_closed_form():
    values, root = lpmn_values(2, 2, Z, False), np.sqrt(1 - Z**2)
    wanted = [
        [np.ones(4), Z, (3 * Z**2 - 1) / 2],
        [np.zeros(4), -root, -3 * Z * root],
        [np.zeros(4), np.zeros(4), 3 * root**2],
    ]
    np.testing.assert_allclose(values, wanted, rtol=1e-5, atol=1e-7)


def test_slopes_are_derivatives():
    with jitney.enable_x64(True):
        values, slopes = lpmn(4, 4, Z)
        h = 1e-6
        wanted = (lpmn(4, 4, Z + h)[0] - lpmn(4, 4, Z - h)[0]) / (2 * h)
        np.testing.assert_array_equal(values, lpmn_values(4, 4, Z, False))
    np.testing.assert_allclose(slopes, wanted, rtol=1e-6, atol=1e-6)


def test_normalized_functions_are_orthonormal():
    nodes, weights = np.polynomial.legendre.leggauss(12)
    values = np.asarray(lpmn_values(5, 5, nodes.astype(np.float32), True))
    for m in range(6):
        products = 2 * np.pi * (values[m, m:] * weights) @ values[m, m:].T
        np.testing.assert_allclose(products, np.eye(6 - m), atol=1e-5)


def test_spherical_harmonics_in_closed_form():
    theta, phi = 0.7, 1.9
    n, m = jnp.array([0, 1, 1, 1, 1]), jnp.array([0, 0, 1, -1, 2])
    sine = np.sqrt(3 / (8 * np.pi)) * np.sin(theta)
    wanted = [
        np.sqrt(1 / (4 * np.pi)), np.sqrt(3 / (4 * np.pi)) * np.cos(theta),
        -sine * np.exp(1j * phi), sine * np.exp(-1j * phi), 0,
    ]  # fmt: skip
    found = sph_harm_y(n, m, jnp.array([theta]), jnp.array([phi]))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def test_refusals():
    one = jnp.ones(1)
    with pytest.raises(NotImplementedError, match="m and n must be equal, but got m=1, n=2"):
        lpmn(1, 2, Z)
    with pytest.raises(ValueError, match="z must be a vector"):
        lpmn(1, 1, Z[None])
    with pytest.raises(TypeError, match="n and m must be integers"):
        sph_harm_y(one, one, one, one)
    with pytest.raises(NotImplementedError, match="`diff_n` must be None"):
        sph_harm_y(one.astype(int), one.astype(int), one, one, 1)
