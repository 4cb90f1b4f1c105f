"""Each step between batch, sparse and dense axes keeps the dense value of data and indices."""

import numpy as np

import jitney.numpy as jnp
from jitney.experimental.sparse.bcoo.relayout import (
    batch_to_sparse,
    dense_to_sparse,
    grid,
    sparse_to_batch,
    sparse_to_dense,
)

# [2, 3] with two stored elements and one that is padding.
DATA = jnp.array([5.0, 7.0, 9.0])
INDICES = jnp.array([[0, 2], [1, 0], [2, 3]])
WHOLE = [[0, 0, 5], [7, 0, 0]]


def test_a_grid_has_all_indices_in_order():
    assert grid((2, 2), "int32").tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert grid((), "int32").shape == (1, 0)
    assert grid((3, 0), "int32").shape == (0, 2)


def test_sparse_axes_become_rows_of_zeros_and_elements():
    data, indices = sparse_to_dense(DATA, INDICES, (2, 3), 1)
    assert data[:2].tolist() == WHOLE and not np.any(data[2])
    assert indices.tolist() == [[0], [1], [2]]


def test_dense_axes_become_all_their_positions():
    data, indices = dense_to_sparse(jnp.array([[1.0, 2], [3, 4]]), jnp.array([[1], [0]]), 1)
    assert data.tolist() == [1, 2, 3, 4]
    assert indices.tolist() == [[1, 0], [1, 1], [0, 0], [0, 1]]


def test_each_batch_gets_its_elements_and_padding_in_place_of_others():
    data, indices = sparse_to_batch(DATA, INDICES, (2, 3), 1)
    assert data.tolist() == [[5, 0, 0], [0, 7, 0]]
    assert indices[..., 0].tolist() == [[2, 3, 3], [3, 0, 3]]


def test_batches_become_indices_and_padding_stays_padding():
    data, indices = sparse_to_batch(DATA, INDICES, (2, 3), 1)
    flat, at = batch_to_sparse(data, indices, (2, 3), 1)
    assert flat.tolist() == [5, 0, 0, 0, 7, 0]
    assert at.tolist() == [[0, 2], [2, 3], [2, 3], [2, 3], [1, 0], [2, 3]]


def test_batches_of_one_data_array_are_repeated():
    flat, at = batch_to_sparse(jnp.array([[4.0]]), jnp.array([[[1]], [[0]]]), (2, 2), 1)
    assert flat.tolist() == [4, 4] and at.tolist() == [[0, 1], [1, 0]]
