"""Eigenvalues of tridiagonal matrices by bisection are those of the full matrix."""

import numpy as np
import pytest
import scipy.linalg

import jitney
from jitney.scipy.linalg.tridiagonal import eigh_tridiagonal

RNG = np.random.default_rng(0)
D, E = RNG.normal(size=6), RNG.normal(size=5)


def test_bisection():
    with jitney.enable_x64(True):
        found = eigh_tridiagonal(D, E, eigvals_only=True)
        some = eigh_tridiagonal(D, E, eigvals_only=True, select="i", select_range=(1, 3))
    wanted = scipy.linalg.eigh_tridiagonal(D, E, eigvals_only=True)
    np.testing.assert_allclose(found, wanted, atol=1e-14)
    np.testing.assert_array_equal(some, found[1:4])


def test_eigenvectors_of_hermitian_matrices():
    values, vectors = eigh_tridiagonal(D, E * np.exp(1j), select="i", select_range=(0, 1))
    matrix = np.diag(D) + np.diag(E * np.exp(1j), -1) + np.diag(E * np.exp(-1j), 1)
    assert vectors.shape == (6, 2)
    np.testing.assert_allclose(matrix @ np.asarray(vectors), vectors * values, atol=1e-5)


def test_equal_and_decoupled_eigenvalues():
    found = eigh_tridiagonal(np.full(4, 2.0), np.array([0.0, 1.0, 0.0]), eigvals_only=True)
    np.testing.assert_allclose(found, [1, 2, 2, 3], atol=1e-6)
    assert eigh_tridiagonal(np.zeros(0), np.zeros(0), eigvals_only=True).shape == (0,)


def test_tolerance_bounds_the_error():
    found = eigh_tridiagonal(D, E, eigvals_only=True, tol=0.1)
    exact = scipy.linalg.eigh_tridiagonal(D, E, eigvals_only=True)
    assert np.max(np.abs(found - exact)) <= 0.05 + 1e-6


@pytest.mark.parametrize(
    ("e", "select", "bounds", "error", "message"),
    [
        (D, "a", None, TypeError, "one element fewer"),
        (E, "v", (0, 1), NotImplementedError, "'a' or 'i'"),
        (E, "x", None, ValueError, "`select` must be"),
        (E, "i", None, ValueError, "requires `select_range`"),
        (E, "i", (3, 2), ValueError, "two indices k with 0 <= k < 6"),
        (E, "i", (0, 6), ValueError, "two indices k with 0 <= k < 6"),
    ],
)
def test_wrong_arguments(e, select, bounds, error, message):
    with pytest.raises(error, match=message):
        eigh_tridiagonal(D, e, select=select, select_range=bounds)
