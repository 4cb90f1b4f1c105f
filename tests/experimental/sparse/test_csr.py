"""Compressed rows and columns: conversions, products and diagonals."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.sparse.csr import CSC, CSR, csr_fromdense, csr_matmat, csr_matvec

DENSE = np.array([[0, 2, 0], [0, 0, 0], [3, 0, 4], [0, 5, 0]], np.float32)


def test_rows_or_columns_are_compressed():
    rows, columns = CSR.fromdense(DENSE), CSC.fromdense(DENSE)
    assert rows.data.tolist() == [2, 3, 4, 5] and columns.data.tolist() == [3, 2, 5, 4]
    assert rows.indptr.tolist() == [0, 1, 1, 3, 4] and columns.indptr.tolist() == [0, 1, 3, 4]
    assert rows.indices.tolist() == [1, 0, 2, 1] and columns.indices.tolist() == [2, 0, 3, 2]
    for mat in rows, columns, csr_fromdense(DENSE, nse=6):
        np.testing.assert_array_equal(mat.todense(), DENSE)


def test_transposes_share_their_arrays():
    rows = CSR.fromdense(DENSE)
    assert isinstance(rows.T, CSC) and rows.T.shape == (3, 4) and rows.T.data is rows.data
    np.testing.assert_array_equal(rows.T.todense(), DENSE.T)
    with pytest.raises(NotImplementedError, match=r"CSC.transpose: `axes`"):
        rows.T.transpose((1, 0))


def test_products_are_those_of_the_dense_matrix():
    rows, columns = CSR.fromdense(DENSE), CSC.fromdense(DENSE)
    v, m = np.array([1, 10, 100], np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    for mat in rows, columns:
        np.testing.assert_array_equal(mat @ v, DENSE @ v)
        np.testing.assert_array_equal(mat @ m, DENSE @ m)
    w = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(csr_matvec(rows, w, transpose=True), DENSE.T @ w)
    np.testing.assert_array_equal(csr_matmat(rows, w[:, None], transpose=True)[:, 0], DENSE.T @ w)
    with pytest.raises(TypeError, match=r"csr_matvec: a matrix .* cannot be multiplied"):
        csr_matvec(rows, w)


def test_tangents_of_padding_are_zero():
    t = jnp.arange(12.0).reshape(4, 3)
    _, dots = jax.jvp(lambda m: csr_fromdense(m, nse=5).data, (jnp.asarray(DENSE),), (t,))
    assert dots.tolist() == [1, 6, 8, 10, 0]


@pytest.mark.parametrize("kind", [CSR, CSC])
@pytest.mark.parametrize("k", [0, 1, -2, 5])
def test_diagonals_are_those_of_numpy(kind, k):
    np.testing.assert_array_equal(kind._eye(2, 3, k).todense(), np.eye(2, 3, k))


@pytest.mark.parametrize(("kind", "n"), [(CSR, 3), (CSC, 4)])
def test_empty_matrices_have_pointers(kind, n):
    empty = kind._empty((2, 3))
    assert empty.indptr.shape == (n,) and empty.nse == 0 and not np.any(empty.todense())
    with pytest.raises(ValueError, match=f"{kind.__name__}: a matrix must have two axes"):
        kind._empty((2,))
