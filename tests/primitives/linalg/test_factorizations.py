"""Factors multiply to the matrix that they are factors of, and so do their tangents."""

import numpy as np
import pytest

import jitney
from jitney.primitives.linalg import factorizations as f, matrix_helpers as mat

RNG = np.random.default_rng(5)
GENERAL = RNG.normal(size=(2, 3, 3)).astype(np.float32)
DEFINITE = (GENERAL @ np.swapaxes(GENERAL, -1, -2) + np.eye(3)).astype(np.float32)
CHANGE = RNG.normal(size=(2, 3, 3)).astype(np.float32)
SYMMETRIC = CHANGE + np.swapaxes(CHANGE, -1, -2)


def cholesky(x):
    factor = f.cholesky_p.bind(x)
    return mat.matmul(factor, mat.adjoint(factor))


def lu(x):
    factors, _, order = f.lu_p.bind(x)
    low = mat.tril(factors, -1) + np.eye(3, dtype=np.float32)
    return mat.matmul(mat.take_rows(mat.eye(3, 3, x), order), x) - mat.matmul(
        low, mat.triu(factors)
    )


def qr(x):
    q, r = f.qr_p.bind(x, pivoting=False, full_matrices=False, use_magma=None)
    return mat.matmul(q, r)


def eigh(x):
    vectors, values = f.eigh_p.bind(
        x, lower=True, subset_by_index=None, sort_eigenvalues=True, algorithm=None
    )
    return mat.matmul(vectors * mat.as_row(values), mat.adjoint(vectors))


def svd(x):
    s, u, vt = f.svd_p.bind(
        x, full_matrices=False, compute_uv=True, subset_by_index=None, algorithm=None
    )
    return mat.matmul(u * mat.as_row(s), vt)


@pytest.mark.parametrize(
    ("product", "x", "t"),
    [
        (cholesky, DEFINITE, SYMMETRIC),
        (qr, GENERAL, CHANGE),
        (eigh, DEFINITE, SYMMETRIC),
        (svd, GENERAL, CHANGE),
    ],
)
def test_products_of_factors_and_their_tangents(product, x, t):
    out, dout = jitney.jvp(product, (x,), (t,))
    np.testing.assert_allclose(out, x, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dout, t, rtol=1e-3, atol=1e-4)


def test_permuted_rows_are_the_product_of_the_factors():
    for difference in jitney.jvp(lu, (GENERAL,), (CHANGE,)):
        np.testing.assert_allclose(difference, 0 * GENERAL, atol=1e-5)


@pytest.mark.parametrize("adjoint", [False, True])
def test_a_triangular_system_reads_one_triangle(adjoint):
    b = GENERAL[:, :, :2]
    got = f.solve_triangular(DEFINITE, b, left_side=True, lower=True, adjoint=adjoint)
    low = np.tril(DEFINITE)
    matrix = np.swapaxes(low, -1, -2) if adjoint else low
    np.testing.assert_allclose(matrix @ np.asarray(got), b, rtol=1e-3, atol=1e-4)


def test_the_inverse_of_gaps_is_zero_on_the_diagonal():
    gaps = np.array([[0, 2], [-4, 0]], np.float32)
    np.testing.assert_array_equal(f.off_diagonal_inverse(gaps), [[0, 0.5], [-0.25, 0]])


def test_pivots_are_transpositions_of_rows():
    pivots = np.array([2, 2, 2], np.int32)  # 0 with 2, then 1 with 2
    got = f.lu_pivots_to_permutation_p.bind(pivots, permutation_size=4)
    np.testing.assert_array_equal(got, [2, 0, 1, 3])
    with pytest.raises(ValueError, match="must be at least the number of pivots"):
        f.lu_pivots_to_permutation_p.bind(pivots, permutation_size=2)


def test_operands_that_are_not_square_matrices():
    with pytest.raises(ValueError, match=r"square matrices, but has shape \(2, 3\)"):
        f.cholesky_p.bind(np.zeros((2, 3), np.float32))
    with pytest.raises(TypeError, match="must contain matrices, so its rank must be at least 2"):
        f.lu_p.bind(np.zeros(3, np.float32))
