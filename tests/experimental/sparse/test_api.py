"""Functions for all formats: dense arrays, zeros and diagonals."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.sparse.api import empty, eye, todense

FORMATS = ["bcoo", "bcsr", "coo", "csr", "csc"]


@pytest.mark.parametrize("name", FORMATS)
def test_diagonals_of_every_format_are_those_of_numpy(name):
    for n, m, k in (2, 3, 1), (3, None, 0):
        mat = eye(n, m, k, dtype="int16", sparse_format=name)
        assert type(mat).__name__ == name.upper() and mat.dtype == np.int16
        np.testing.assert_array_equal(todense(mat), np.eye(n, m, k))


@pytest.mark.parametrize("name", FORMATS)
def test_empty_arrays_of_every_format_are_zero(name):
    mat = empty((2, 3), "float32", sparse_format=name)
    assert mat.nse == 0 and mat.dtype == np.float32
    np.testing.assert_array_equal(todense(mat), np.zeros((2, 3)))


def test_batch_and_dense_axes_are_options_of_some_formats():
    mat = empty((2, 3, 4), n_batch=1, n_dense=1, nse=2)
    assert (mat.n_batch, mat.n_sparse, mat.n_dense, mat.nse) == (1, 1, 1, 2)
    rows = eye(3, 4, -1, n_batch=1)
    assert rows.n_batch == 1 and rows.nse == 1
    np.testing.assert_array_equal(todense(rows), np.eye(3, 4, -1))
    with pytest.raises(ValueError, match="BCSR arrays have two sparse axes"):
        empty((2, 3), sparse_format="bcsr", n_batch=1)
    with pytest.raises(ValueError, match="rank, but got n_batch=2, n_dense=1"):
        empty((2, 3), n_batch=2, n_dense=1)


def test_formats_have_names():
    with pytest.raises(ValueError, match=r"must be in \['bcoo', .*, but got 'dok'"):
        eye(2, sparse_format="dok")


def test_dense_arrays_stay_and_sparse_ones_are_differentiated_by_their_data():
    x = jnp.arange(3.0)
    assert todense(x).tolist() == [0, 1, 2]
    gradient = jax.grad(lambda m: jnp.sum(todense(m) ** 2), allow_int=True)(eye(2))
    assert gradient.data.tolist() == [2, 2]
