"""Batched compressed rows agree with the coordinates and the dense arrays that they stand for."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.bcsr import (
    BCSR,
    bcsr_concatenate,
    bcsr_dot_general,
    bcsr_extract,
    bcsr_fromdense,
    bcsr_sum_duplicates,
    coordinates,
    validate,
)

DENSE = np.array([[0, 2, 0], [0, 0, 0], [3, 0, 4]], np.float32)
MATRIX = (((1,), (0,)), ((), ()))


def test_rows_start_at_their_pointers():
    mat = bcsr_fromdense(DENSE)
    assert mat.indptr.tolist() == [0, 1, 1, 3] and mat.indices.tolist() == [1, 0, 2]
    assert mat.data.tolist() == [2, 3, 4]
    np.testing.assert_array_equal(mat.todense(), DENSE)


def test_elements_behind_the_last_row_are_padding():
    at = coordinates(jnp.array([1, 0, 2, 7]), jnp.array([0, 1, 1, 3]))
    assert at[:3].tolist() == [[0, 1], [2, 0], [2, 2]] and at[3, 0] == 3
    mat = bcsr_fromdense(DENSE, nse=4)
    assert bcsr_extract(mat.indices, mat.indptr, DENSE + 1).tolist() == [3, 4, 5, 0]
    np.testing.assert_array_equal(mat.todense(), DENSE)


def test_unsorted_coordinates_are_sorted_first():
    at = jnp.array([[2, 2], [0, 1], [2, 0]])
    mat = BCSR.from_bcoo(BCOO((jnp.array([4.0, 2, 3]), at), shape=(3, 3)))
    assert mat.data.tolist() == [2, 3, 4] and mat.indptr.tolist() == [0, 1, 1, 3]
    assert mat.to_bcoo().indices.tolist() == [[0, 1], [2, 0], [2, 2]]
    with pytest.raises(NotImplementedError, match="n_sparse must be 2"):
        BCSR.from_bcoo(BCOO.fromdense(jnp.ones(3)))


def test_batches_have_pointers_of_their_own():
    both = np.stack([DENSE, DENSE.T])
    mat = bcsr_fromdense(both, n_batch=1)
    assert mat.indptr.tolist() == [[0, 1, 1, 3], [0, 1, 2, 3]]
    np.testing.assert_array_equal(mat.todense(), both)


def test_products_duplicates_and_concatenation():
    mat = bcsr_fromdense(DENSE)
    out = bcsr_dot_general(mat, jnp.array([[1.0], [10], [100]]), dimension_numbers=MATRIX)
    assert out.tolist() == [[20], [0], [403]]
    twice = bcsr_concatenate([mat, mat], dimension=0)
    np.testing.assert_array_equal(twice.todense(), np.concatenate([DENSE, DENSE]))
    doubled = BCSR((jnp.array([1.0, 2]), jnp.array([1, 1]), jnp.array([0, 2])), shape=(1, 3))
    assert bcsr_sum_duplicates(doubled, nse=1).data.tolist() == [3]
    with pytest.raises(NotImplementedError, match="lhs must be a BCSR array"):
        bcsr_dot_general(jnp.ones((3, 3)), mat, dimension_numbers=MATRIX)


@pytest.mark.parametrize(
    ("shapes", "shape", "message"),
    [
        (((2,), (3,), (4,)), (3, 3), "sizes of data"),
        (((3,), (3,), (3,)), (3, 3), "sizes of data"),
        (((3, 2), (3,), (4,)), (3, 3), "ranks of data"),
        (((3, 2), (3,), (4,)), (3, 3, 1), "sizes of data"),
    ],
)
def test_inconsistent_arrays_are_refused(shapes, shape, message):
    with pytest.raises(ValueError, match=message):
        validate(*[np.zeros(s, int) for s in shapes], shape)


def test_pointers_are_integers():
    arrays = np.zeros(3), np.zeros(3, int), np.zeros(4)
    with pytest.raises(ValueError, match="must be integers"):
        validate(*arrays, (3, 3))
