"""Factorizations multiply to their matrices, and are NaN where they do not exist."""

import numpy as np
import pytest

from jitney.compiler.reference import linalg

RNG = np.random.default_rng(0)
DTYPES = [np.float32, np.complex128]


def matrices(dtype, *shape):
    x = RNG.normal(size=(2, *shape))
    return (x + 1j * RNG.normal(size=x.shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def adjoint(x):
    return np.swapaxes(x, -1, -2).conj()


def close(found, expected, dtype):
    np.testing.assert_allclose(found, expected, atol=1e-4 if dtype == np.float32 else 1e-11)


@pytest.mark.parametrize("dtype", DTYPES)
def test_hermitian_matrices(dtype):
    x = matrices(dtype, 4, 4)
    positive = x @ adjoint(x) + np.eye(4, dtype=dtype)
    low = linalg.cholesky(positive)
    close(low @ adjoint(low), positive, dtype)
    vectors, values = linalg.eigh(np.tril(positive))  # the other triangle is not read
    assert values.dtype == linalg.real_dtype(np.dtype(dtype)) and (np.diff(values) >= 0).all()
    close(vectors * values[:, None] @ adjoint(vectors), positive, dtype)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (0, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_lu(shape, dtype):
    x = matrices(dtype, *shape)
    factors, pivots, order = linalg.lu(x)
    k = min(shape)
    low = np.tril(factors[..., :k], -1) + np.eye(shape[0], k, dtype=dtype)
    rows = np.take_along_axis(x, order[..., None], 1)
    close(low @ np.triu(factors[:, :k]), rows, dtype)
    assert pivots.dtype == order.dtype == np.int32


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_orthogonal_factors(shape, dtype):
    x = matrices(dtype, *shape)
    for full in (True, False):
        q, r = linalg.qr(x, full_matrices=full)
        close(q @ r, x, dtype)
        q, r, order = linalg.qr(x, pivoting=True, full_matrices=full)
        close(q @ r, np.take_along_axis(x, order[:, None], 2), dtype)
        s, u, vh = linalg.svd(x, full_matrices=full)
        k = min(shape)
        close(u[..., :k] * s[:, None] @ vh[:, :k], x, dtype)
    factors, taus = linalg.geqrf(x)
    k = min(shape)
    q = linalg.householder_product(factors[..., :k], taus)
    close(q @ np.triu(factors[:, :k]), x, dtype)
    c = matrices(dtype, shape[0], 2)
    close(
        linalg.ormqr(factors, taus, linalg.ormqr(factors, taus, c, True, True), True, False),
        c,
        dtype,
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_and_similar_matrices(dtype):
    x = matrices(dtype, 4, 4)
    values, left, right = linalg.eig(x, True, True)
    close(x @ right, right * values[:, None], dtype)
    close(adjoint(left) @ x, values[..., None] * adjoint(left), dtype)
    triangular, z = linalg.schur(x)
    close(z @ triangular @ adjoint(z), x, dtype)
    huge, tiny = [linalg.eig(x * x.dtype.type(2.0**e), False, False)[0] for e in (100, -100)]
    close(np.sort(huge.real * 2.0**-100), np.sort(values.real), dtype)
    close(np.sort(tiny.real * 2.0**100), np.sort(values.real), dtype)


@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("operation", ["plain", "transposed", "adjoint", "conjugate"])
def test_triangular_systems(left_side, lower, operation):
    a = matrices(complex, 3, 3) + 3 * np.eye(3)
    b = matrices(complex, *((3, 2) if left_side else (2, 3)))
    transpose, conjugate = (
        operation in ("transposed", "adjoint"),
        operation in ("adjoint", "conjugate"),
    )
    x = linalg.triangular_solve(a, b, left_side, lower, transpose, conjugate)
    t = np.tril(a) if lower else np.triu(a)
    t = np.swapaxes(t, -1, -2) if transpose else t
    t = t.conj() if conjugate else t
    close(t @ x if left_side else x @ t, b, complex)


@pytest.mark.parametrize("perturb", [False, True])
def test_tridiagonal_systems(perturb):
    dl, d, du = RNG.normal(size=(3, 2, 5))
    b = matrices(float, 5, 3)
    x = linalg.tridiagonal_solve(dl, d, du, b, perturb)
    t = np.zeros((2, 5, 5))
    for k, diagonal in ((-1, dl[:, 1:]), (0, d), (1, du[:, :-1])):
        rows = np.arange(diagonal.shape[1]) + max(-k, 0)
        t[:, rows, rows + k] = diagonal
    close(t @ x, b, float)


def test_what_does_not_exist_is_nan():
    pair = np.stack([np.eye(2), -np.eye(2)])
    low = linalg.cholesky(pair)
    np.testing.assert_array_equal(low[0], np.eye(2))
    assert np.isnan(low[1]).all()
    infinite = np.array([[[1, np.inf], [0, 1]]])
    assert all(
        np.isnan(r).all() for r in (*linalg.eig(infinite, True, False), *linalg.schur(infinite))
    )
    zero = np.zeros((1, 3))
    assert np.isnan(linalg.tridiagonal_solve(zero, zero, zero, np.ones((1, 3, 1)))).all()
    assert np.isfinite(linalg.tridiagonal_solve(zero, zero, zero, np.ones((1, 3, 1)), True)).all()


def test_halves_are_computed_as_float32():
    x = np.float16([[4, 2], [2, 3]])
    low = linalg.cholesky(x)
    assert low.dtype == np.float16
    np.testing.assert_array_equal(low, np.linalg.cholesky(x.astype(np.float32)).astype(np.float16))
    assert linalg.complex_dtype(np.dtype(np.float16)) == np.complex64


def test_updates_of_cholesky_factors():
    r, w = np.triu(matrices(float, 4, 4)), RNG.normal(size=(2, 4))
    s = linalg.cholesky_update(r, w)
    assert not np.tril(s, -1).any()
    close(adjoint(s) @ s, adjoint(r) @ r + w[:, :, None] * w[:, None], float)


def test_pivots_swap_rows_in_turn():
    found = linalg.pivots_to_permutation(np.int32([[2, 2, 3], [0, 7, 2]]), 4)
    np.testing.assert_array_equal(found, [[2, 0, 3, 1], [0, 1, 2, 3]])
