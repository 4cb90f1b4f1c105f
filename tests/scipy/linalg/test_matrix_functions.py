"""Exponentials of matrices of all norms, roots, Parlett's recurrence, Sylvester equations."""

import numpy as np
import pytest
import scipy.linalg

import jitney
import jitney.numpy as jnp
from jitney.scipy.linalg.matrix_functions import (
    expm,
    expm_frechet,
    funm,
    solve_sylvester,
    sqrtm,
)  # fmt: skip

RNG = np.random.default_rng(0)
A, B, C = RNG.normal(size=(3, 3, 3))


@pytest.fixture(autouse=True)
def in_double_precision():
    with jitney.enable_x64(True):
        yield


def test_exponentials_by_every_approximant():
    matrices = np.array([1e-3, 0.05, 0.2, 0.5, 1.0, 10.0])[:, None, None] * A
    found = expm(matrices)
    for x, y in zip(found, matrices, strict=True):
        np.testing.assert_allclose(x, scipy.linalg.expm(y), rtol=1e-11)


def test_exponentials_of_zero_of_none_and_of_huge_matrices():
    np.testing.assert_array_equal(expm(np.zeros((2, 2))), np.eye(2))
    assert expm(np.zeros((0, 0))).shape == (0, 0)
    assert np.all(np.isnan(expm(1e6 * np.eye(2), max_squarings=3)))


def test_derivative_of_the_exponential():
    value, slope = expm_frechet(A, B)
    wanted = scipy.linalg.expm_frechet(A, B)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-12)
    np.testing.assert_allclose(slope, wanted[1], rtol=1e-11)


def test_square_roots():
    root = sqrtm(A)
    np.testing.assert_allclose(root @ root, A, atol=1e-13)
    np.testing.assert_array_equal(sqrtm(np.zeros((2, 2))), 0)


def test_functions_by_parletts_recurrence():
    np.testing.assert_allclose(funm(A, jnp.cos), scipy.linalg.funm(A, np.cos), atol=1e-12)
    result, error = funm(np.diag([1.0, 4.0]), jnp.sqrt, disp=False)
    np.testing.assert_allclose(result, np.diag([1, 2]))
    assert 0 < error < 1e-12


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester_equations(method):
    x = solve_sylvester(A, B[:2, :2], C[:, :2], method=method)
    np.testing.assert_allclose(A @ x + x @ B[:2, :2], C[:, :2], atol=1e-12)
    assert np.all(np.isnan(solve_sylvester(A, -A, C, method=method, tol=1e-6)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: expm(A[:2]), ValueError, "must be square"),
        (lambda: expm_frechet(A, B[:2, :2]), ValueError, "must have the same shape"),
        (lambda: sqrtm(A[0]), TypeError, "must be square matrices"),
        (lambda: sqrtm(A, 2), NotImplementedError, "blocksize"),
        (lambda: funm(A[None], jnp.exp), ValueError, "must be a square matrix"),
        (lambda: solve_sylvester(A, A, C[:2]), ValueError, "matching sizes"),
        (lambda: solve_sylvester(A, B, C, method="lu"), ValueError, "got 'lu'"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
