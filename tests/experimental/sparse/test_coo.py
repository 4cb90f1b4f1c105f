"""Matrices of coordinates: conversions, products and what they refuse."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.coo import (
    COO,
    coo_fromdense,
    coo_matmat,
    coo_matvec,
    elements_at,
    product_by_positions,
    todense_by_positions,
    within,
)

DENSE = np.array([[0, 2, 0], [3, 0, 4]], np.float32)


def test_elements_at_equal_positions_are_summed_and_others_ignored():
    data, row, col = jnp.array([1.0, 2, 4]), jnp.array([1, 1, 2]), jnp.array([0, 0, 0])
    assert todense_by_positions(data, row, col, (2, 2)).tolist() == [[0, 0], [3, 0]]
    assert elements_at(jnp.array([[5.0, 6], [7, 8]]), row, col).tolist() == [7, 7, 0]
    assert within(jnp.stack([row, col], 1), (2, 2)).tolist() == [[1, 0], [1, 0], [0, 0]]


def test_elements_are_stored_by_rows():
    mat = coo_fromdense(DENSE, nse=4)
    assert mat.row.tolist() == [0, 1, 1, 0] and mat.col.tolist() == [1, 0, 2, 0]
    assert mat.data.tolist() == [2, 3, 4, 0] and mat.rows_sorted and not mat.cols_sorted
    np.testing.assert_array_equal(mat.todense(), DENSE)
    with pytest.raises(ValueError, match="must have two axes"):
        coo_fromdense(np.ones(3))


def test_a_transpose_swaps_rows_and_columns():
    turned = coo_fromdense(DENSE).T
    assert turned.shape == (3, 2) and turned.cols_sorted and not turned.rows_sorted
    np.testing.assert_array_equal(turned.todense(), DENSE.T)
    with pytest.raises(NotImplementedError, match="`axes` is not supported"):
        turned.transpose((0, 1))


def test_products_are_those_of_the_dense_matrix():
    mat, v, m = coo_fromdense(DENSE), np.array([1, 10, 100.0]), np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(coo_matvec(mat, v), DENSE @ v)
    np.testing.assert_array_equal(coo_matvec(mat, v[:2], transpose=True), DENSE.T @ v[:2])
    np.testing.assert_array_equal(coo_matmat(mat, m), DENSE @ m)
    np.testing.assert_array_equal(coo_matmat(mat, m.T[:, :2], transpose=True), DENSE.T @ m.T[:, :2])
    padded = product_by_positions(
        jnp.array([2.0, 9]), jnp.array([0, 2]), jnp.array([1, 3]), jnp.asarray(v), (2, 3), False
    )
    assert padded.tolist() == [20, 0]


def test_operands_that_do_not_fit_are_refused():
    mat = coo_fromdense(DENSE)
    with pytest.raises(TypeError, match="cannot be multiplied by an array"):
        coo_matvec(mat, jnp.ones(2))
    with pytest.raises(TypeError, match="a transposed matrix of shape"):
        coo_matmat(mat, jnp.ones((3, 2)), transpose=True)
    with pytest.raises(NotImplementedError, match="a sparse BCOO"):
        mat @ BCOO.fromdense(DENSE.T)
    with pytest.raises(NotImplementedError, match="got shape"):
        mat @ np.ones((1, 3, 1))


def test_tangents_of_padding_are_zero():
    t = jnp.arange(1.0, 7.0).reshape(2, 3)
    _, dots = jax.jvp(lambda m: coo_fromdense(m, nse=4).data, (jnp.asarray(DENSE),), (t,))
    assert dots.tolist() == [2, 4, 6, 0]


@pytest.mark.parametrize("k", [0, 1, -1, 5])
def test_diagonals_are_those_of_numpy(k):
    np.testing.assert_array_equal(COO._eye(2, 3, k).todense(), np.eye(2, 3, k))
