"""Dense arrays are taken apart into blocks and indices, and put together again."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.sparse.bcoo.conversion import bcoo_fromdense_p, dense, extract
from jitney.experimental.sparse.util import SparseInfo

AT = jnp.array([[0, 1], [1, 2], [2, 3]])  # the last is padding of a shape (2, 3)


def test_blocks_at_equal_indices_are_summed():
    data, indices = jnp.array([1.0, 2, 4, 8]), jnp.array([[1], [0], [1], [3]])
    assert dense(data, indices, SparseInfo((3,))).tolist() == [2, 5, 0]


def test_padding_reads_zeros():
    mat = jnp.arange(10.0, 16.0).reshape(2, 3)
    assert extract(AT, mat).tolist() == [11, 15, 0]


def test_an_array_without_sparse_axes_is_one_block():
    found = extract(jnp.zeros((2, 0), int), jnp.array([3.0, 4.0]))
    assert found.tolist() == [[3, 4], [0, 0]]


def test_indices_need_their_axes():
    with pytest.raises(ValueError, match="require an array of at least"):
        extract(AT, jnp.zeros(3))
    with pytest.raises(ValueError, match="batch axes of indices"):
        extract(AT[None].repeat(2, 0), jnp.zeros((3, 3, 4)))


def test_missing_elements_are_filled_with_padding():
    mat = jnp.array([[0.0, 2, 0], [0, 0, 4]])
    params = {"n_batch": 0, "n_dense": 0, "index_dtype": np.dtype(np.int32)}
    data, indices = bcoo_fromdense_p.bind(mat, nse=3, **params)
    assert data.tolist() == [2, 4, 0] and indices.tolist() == AT.tolist()
    assert dense(data, indices, SparseInfo((2, 3))).tolist() == mat.tolist()


def test_tangents_are_read_where_elements_are_stored():
    info = SparseInfo((2, 3))
    data, t = jnp.array([1.0, 2, 3]), jnp.array([5.0, 7, 9])
    out, dot = jax.jvp(lambda d: dense(d, AT, info), (data,), (t,))
    assert out.tolist() == [[0, 1, 0], [0, 0, 2]] and dot.tolist() == [[0, 5, 0], [0, 0, 7]]
    (ct,) = jax.vjp(lambda d: dense(d, AT, info), data)[1](jnp.ones((2, 3)))
    assert ct.tolist() == [1, 1, 0]
