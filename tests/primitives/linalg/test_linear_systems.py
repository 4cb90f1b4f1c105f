"""Solutions of linear systems satisfy them, for the matrix, its transpose and its adjoint."""

import numpy as np
import pytest

import jitney
from jitney.primitives.linalg import factorizations, linear_systems

RNG = np.random.default_rng(2)
A = (RNG.normal(size=(2, 3, 3)) + 1j * RNG.normal(size=(2, 3, 3))).astype(np.complex64)
B = RNG.normal(size=(2, 3, 2)).astype(np.complex64)


def test_inverse_permutations():
    order = np.array([[2, 0, 1], [0, 2, 1]], np.int32)
    got = linear_systems.inverse_permutation(order)
    np.testing.assert_array_equal(got, np.argsort(order, axis=-1))


@pytest.mark.parametrize(
    ("trans", "matrix"),
    [(0, A), (1, np.swapaxes(A, 1, 2)), (2, np.swapaxes(A, 1, 2).conj())],
)
def test_solutions_by_factors(trans, matrix):
    factors, _, order = factorizations.lu_p.bind(A)
    x = np.asarray(linear_systems.lu_solve(factors, order, B, trans))
    np.testing.assert_allclose(matrix @ x, B, rtol=1e-3, atol=1e-4)


def test_tangents_of_solutions():
    a, b = A.real.copy(), B.real.copy()
    x, dx = jitney.jvp(linear_systems.solve, (a, b), (np.ones_like(a), np.ones_like(b)))
    x, dx = np.asarray(x), np.asarray(dx)
    np.testing.assert_allclose(a @ x, b, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(np.ones_like(a) @ x + a @ dx, np.ones_like(b), atol=1e-3)


def test_tridiagonal_systems_and_their_transposes():
    low, diagonal, up = (np.array(v, np.float32) for v in ([0, 1, 2], [5, 6, 7], [1, 3, 0]))
    matrix = np.diag(diagonal) + np.diag(low[1:], -1) + np.diag(up[:-1], 1)
    b = np.array([[1.0], [2.0], [4.0]], np.float32)

    def solve(y):
        return linear_systems.tridiagonal_solve_p.bind(low, diagonal, up, y, perturb_singular=False)

    x, pull = jitney.vjp(solve, b)
    np.testing.assert_allclose(matrix @ np.asarray(x), b, rtol=1e-5)
    np.testing.assert_allclose(matrix.T @ np.asarray(pull(b)[0]), b, rtol=1e-5)


def test_a_symmetric_product_is_added_to_a_multiple():
    a, c = A.real, B.real[:, :, :1] * np.ones(3, np.float32)
    got = linear_systems.symmetric_product_p.bind(a, c, alpha=2.0, beta=3.0)
    np.testing.assert_allclose(got, 2 * a @ np.swapaxes(a, 1, 2) + 3 * c, rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match=r"`c` must have the shape of a @ a.T"):
        linear_systems.symmetric_product_p.bind(a, c[:, :2], alpha=1.0, beta=0.0)
