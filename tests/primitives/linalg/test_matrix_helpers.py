"""Triangles, diagonals and blocks of the last two axes are those of NumPy, for each batch element."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.primitives.linalg import matrix_helpers as mat

X = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)
Z = np.array([[1 + 2j, 3j], [4, 5 - 1j]], np.complex64)


@pytest.mark.parametrize("k", [-3, -1, 0, 1, 4])
def test_triangles(k):
    np.testing.assert_array_equal(mat.tril(X, k), np.tril(X, k))
    np.testing.assert_array_equal(mat.triu(X, k), np.triu(X, k))


def test_triangles_of_weakly_typed_matrices():
    weak = jnp.full((2, 2), 3.0)
    assert weak.weak_type
    assert not mat.tril(weak).weak_type
    assert mat.tril(weak, keep_weak=True).weak_type


def test_diagonals():
    square = X[:, :, :3]
    np.testing.assert_array_equal(mat.diagonal(square), np.diagonal(square, axis1=1, axis2=2))
    np.testing.assert_array_equal(mat.only_diagonal(square), square * np.eye(3))
    np.testing.assert_array_equal(mat.eye(2, 3, X), np.broadcast_to(np.eye(2, 3), (2, 2, 3)))


def test_adjoints_and_hermitian_parts():
    np.testing.assert_array_equal(mat.adjoint(Z), Z.conj().T)
    np.testing.assert_array_equal(mat.symmetrize(Z), (Z + Z.conj().T) / 2)
    assert mat.conj(X) is X
    with pytest.raises(ValueError, match=r"square matrices, but has shape \(2, 3, 4\)"):
        mat.symmetrize(X)


def test_rows_are_taken_for_each_batch_element():
    rows = np.array([[2, 0], [1, 1]], np.int32)
    np.testing.assert_array_equal(mat.take_rows(X, rows), np.stack([X[0, [2, 0]], X[1, [1, 1]]]))


def test_a_block_is_cut_out_and_widened():
    block = mat.window(X, 2, 3)
    np.testing.assert_array_equal(block, X[:, :2, :3])
    want = np.pad(X[:, :2, :3], ((0, 0), (0, 2), (0, 1)))
    np.testing.assert_array_equal(mat.widened(block, 4, 4), want)


def test_products_over_batch_axes():
    got = mat.matmul(X, mat.transpose(X))
    np.testing.assert_array_equal(got, X @ np.swapaxes(X, 1, 2))
    v = X[:, 0]
    np.testing.assert_array_equal(mat.as_column(v), v[:, :, None])
    np.testing.assert_array_equal(mat.as_row(v), v[:, None])
