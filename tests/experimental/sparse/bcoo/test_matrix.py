"""BCOO arrays keep their dense value through conversions, sorting, sums of duplicates and layouts."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.experimental.sparse.bcoo.matrix import (
    BCOO,
    bcoo_eliminate_zeros,
    bcoo_extract,
    bcoo_fromdense,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_transpose,
    bcoo_update_layout,
)
from jitney.experimental.sparse.util import SparseEfficiencyError

DENSE = np.array([[0, 2, 0], [3, 0, 4]], np.float32)


def unsorted():
    """Elements (1, 2): 4, (0, 1): 1.5, padding, (0, 1): 0.5, (1, 0): 3, whose sum is DENSE."""
    at = jnp.array([[1, 2], [0, 1], [2, 3], [0, 1], [1, 0]])
    return BCOO((jnp.array([4, 1.5, 9, 0.5, 3], jnp.float32), at), shape=(2, 3))


def test_nonzero_elements_are_stored_in_order():
    mat = bcoo_fromdense(DENSE)
    assert mat.nse == 3 and mat.indices_sorted and mat.unique_indices
    assert mat.indices.tolist() == [[0, 1], [1, 0], [1, 2]] and mat.data.tolist() == [2, 3, 4]
    assert bcoo_fromdense(DENSE, n_batch=1).nse == 2
    assert bcoo_fromdense(DENSE, nse=2).todense().tolist() == [[0, 2, 0], [3, 0, 0]]
    with pytest.raises(ValueError, match="rank, but got n_batch=2 and n_dense=1"):
        bcoo_fromdense(DENSE, n_batch=2, n_dense=1)


def test_duplicates_are_summed_and_padding_is_ignored():
    np.testing.assert_array_equal(unsorted().todense(), DENSE)
    summed = bcoo_sum_duplicates(unsorted())
    stored = [k for k in range(summed.nse) if summed.indices[k, 0] < 2]
    assert [summed.indices[k].tolist() for k in stored] == [[0, 1], [1, 0], [1, 2]]
    np.testing.assert_array_equal(summed.todense(), DENSE)


def test_sorting_keeps_equal_indices_in_their_order():
    ordered = bcoo_sort_indices(unsorted())
    assert ordered.data.tolist() == [1.5, 0.5, 3, 4, 9] and ordered.indices_sorted


def test_blocks_of_zeros_are_removed():
    mat = BCOO((jnp.array([0.0, 5]), jnp.array([[0], [2]])), shape=(4,))
    assert bcoo_eliminate_zeros(mat, nse=1).data.tolist() == [5]


def test_the_first_of_equal_indices_gets_the_extracted_element():
    found = bcoo_extract(unsorted(), DENSE + 10)
    assert found.data.tolist() == [14, 12, 0, 0, 13]
    with pytest.raises(ValueError, match="shapes must be equal"):
        bcoo_extract(unsorted(), DENSE.T)


def test_transposes_stay_within_the_kinds_of_axes():
    np.testing.assert_array_equal(bcoo_transpose(unsorted(), permutation=(1, 0)).todense(), DENSE.T)
    assert not bcoo_transpose(bcoo_fromdense(DENSE), permutation=(1, 0)).indices_sorted
    with pytest.raises(NotImplementedError):
        bcoo_transpose(bcoo_fromdense(DENSE, n_batch=1), permutation=(1, 0))
    with pytest.raises(ValueError, match="expected a permutation of 2 axes"):
        bcoo_transpose(unsorted(), permutation=(0, 0))


def test_more_batch_axes_have_to_be_allowed():
    mat = bcoo_fromdense(DENSE)
    with pytest.raises(SparseEfficiencyError, match="from 0 batch and 0 dense axes to 1 and 0"):
        bcoo_update_layout(mat, n_batch=1)
    with pytest.raises(ValueError, match="on_inefficient must be"):
        bcoo_update_layout(mat, on_inefficient="ignore")
    assert bcoo_update_layout(mat).indices_sorted
    rows = bcoo_update_layout(mat, n_batch=1, on_inefficient=None)
    assert rows.n_batch == 1 and not rows.unique_indices
    np.testing.assert_array_equal(rows.todense(), DENSE)


@pytest.mark.parametrize(("k", "nse"), [(0, 2), (1, 2), (2, 1), (3, 0), (-1, 1), (-2, 0)])
def test_diagonals_are_those_of_numpy(k, nse):
    eye = BCOO._eye(2, 3, k)
    assert eye.nse == nse
    np.testing.assert_array_equal(eye.todense(), np.eye(2, 3, k))
