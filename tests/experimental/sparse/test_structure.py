"""What moves, cuts and joins sparse arrays, in all layouts, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental import sparse

SHAPE = (3, 4, 2)
LAYOUTS = [(b, d) for b in range(4) for d in range(4 - b)]


def draw(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * (rng.random(shape) < 0.5)).astype(np.float32)


def agree(found, wanted):
    found = found.todense()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def of(whole, n_batch=0, n_dense=0):
    return sparse.BCOO.fromdense(jnp.asarray(whole), n_batch=n_batch, n_dense=n_dense)


@pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)
def test_structure(n_batch, n_dense):
    whole, other = draw(*SHAPE), draw(*SHAPE, seed=1)
    a, b = (of(x, n_batch, n_dense) for x in (whole, other))
    agree(a, whole)
    for axes in [(1,), (0, 2), (0, 1, 2)]:
        agree(sparse.bcoo_reduce_sum(a, axes=axes), whole.sum(axes))
        agree(sparse.bcoo_rev(a, axes), np.flip(whole, axes))
    bounds = {"start_indices": (1, 0, 1), "limit_indices": (3, 4, 2), "strides": (1, 2, 1)}
    agree(sparse.bcoo_slice(a, **bounds), whole[1:3, 0:4:2, 1:2])
    agree(sparse.bcoo_dynamic_slice(a, (2, 1, 0), (2, 2, 1)), whole[1:3, 1:3, :1])
    for axis in range(3):
        joined = sparse.bcoo_concatenate([a, b], dimension=axis)
        agree(joined, np.concatenate([whole, other], axis))
    shape, dims = (2, 3, 5, 4, 2, 3), (1, 3, 4)
    spread = np.broadcast_to(whole[None, :, None, :, :, None], shape)
    agree(sparse.bcoo_broadcast_in_dim(a, shape=shape, broadcast_dimensions=dims), spread)
    agree(sparse.bcoo_multiply_sparse(a, b), whole * other)
    row = draw(3, 1, 2, seed=2)
    agree(sparse.BCOO((sparse.bcoo_multiply_dense(a, row), a.indices), shape=SHAPE), whole * row)
    agree(a.sort_indices(), whole)
    agree(a.sum_duplicates(), whole)


@pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS[::3])
def test_layouts(n_batch, n_dense):
    whole = draw(*SHAPE)
    mat = of(whole, n_batch, n_dense)
    for new in LAYOUTS:
        out = mat.update_layout(n_batch=new[0], n_dense=new[1], on_inefficient=None)
        assert (out.n_batch, out.n_dense) == new
        agree(out, whole)


def test_reshape():
    whole = draw(*SHAPE)
    for shape in [(12, 2), (3, 8), (24,), (3, 2, 2, 2), (1, 3, 4, 2)]:
        agree(of(whole).reshape(shape), whole.reshape(shape))
    agree(of(whole, 1, 1).reshape(3, 2, 2, 2), whole.reshape(3, 2, 2, 2))
    with pytest.raises(ValueError, match="would mix"):
        of(whole, 1).reshape(4, 3, 2)


def test_equal_positions_add_up():
    mat = sparse.BCOO((jnp.array([1.0, -3.0, 2.0]), jnp.array([[1], [1], [0]])), shape=(3,))
    agree(mat, np.array([2.0, -2.0, 0.0]))
    agree(abs(mat), np.array([2.0, 2.0, 0.0]))
    assert mat.sum_duplicates().nse == 2
    assert mat.sum_duplicates(nse=4).nse == 4
    kept = sparse.bcoo_extract(mat, jnp.arange(3.0))
    agree(kept, np.array([0.0, 1.0, 0.0]))


def test_indexing():
    whole = draw(4, 5)
    mat = of(whole)
    for index in itertools.chain([0, -1, (1, 2), (slice(None, None, -1),), (slice(1, 3), None)]):
        agree(mat[index], whole[index])
    agree(mat[jnp.array([2, 0])], whole[[2, 0]])
    agree(jax.jit(lambda m, k: m[k])(mat, 2), whole[2])


def test_vmap_takes_batch_axes():
    whole = draw(2, 4, 5)
    mat = of(whole, 1)
    v = jnp.arange(5.0)
    np.testing.assert_allclose(jax.vmap(lambda m: m @ v)(mat), whole @ np.arange(5.0), rtol=1e-5)
    agree(jax.vmap(lambda m: m * 2)(mat), 2 * whole)
    agree(jax.vmap(lambda x: sparse.BCOO.fromdense(x, nse=20))(jnp.asarray(whole)), whole)


def test_empty_arrays():
    none = sparse.empty((2, 3))
    agree(none, np.zeros((2, 3)))
    np.testing.assert_array_equal(none @ jnp.ones(3), np.zeros(2))
    agree(none @ sparse.empty((3, 2)), np.zeros((2, 2)))
    agree(sparse.BCOO.fromdense(jnp.zeros((0, 3))), np.zeros((0, 3)))


def test_duplicates_of_no_entries():
    for shape, batch in (((3, 4), ()), ((2, 4), (2,))):
        n_sparse = len(shape) - len(batch)
        data, places = jnp.zeros((*batch, 0)), jnp.zeros((*batch, 0, n_sparse), jnp.int32)
        empty = sparse.BCOO((data, places), shape=shape)
        for remove_zeros in (True, False):
            found = empty.sum_duplicates(remove_zeros=remove_zeros)
            assert (found.nse, found.data.shape) == (0, (*batch, 0))
            agree(found, np.zeros(shape, np.float32))
    assert sparse.BCOO.fromdense(jnp.zeros(SHAPE)).sum_duplicates().nse == 0
