"""Products of sparse arrays, in all layouts, against products of whole ones; and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.experimental import sparse
from jitney.test_util import check_grads

SHAPE = (3, 4, 2)
LAYOUTS = [(b, d) for b in range(4) for d in range(4 - b)]


def draw(*shape, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal(shape) * (rng.random(shape) < density)
    return jnp.asarray(whole.astype(np.float32))


def agree(found, wanted):
    found = found.todense() if isinstance(found, sparse.JAXSparse) else found
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)
def test_contraction_of_any_axes(n_batch, n_dense):
    whole, rhs = draw(*SHAPE), draw(4, 5, 3, seed=1, density=1)
    mat = sparse.BCOO.fromdense(whole, n_batch=n_batch, n_dense=n_dense)
    cases = [(((1,), (0,)), ((), ())), (((0, 1), (2, 0)), ((), ())), (((), ()), ((), ()))]
    cases += [(((1,), (0,)), ((0,), (2,)))] if n_batch else []
    for numbers in cases:
        wanted = lax.dot_general(whole, rhs, numbers)
        agree(sparse.bcoo_dot_general(mat, rhs, dimension_numbers=numbers), wanted)
        (a, b), (c, d) = numbers
        turned = ((b, a), (d, c))
        wanted = lax.dot_general(rhs, whole, turned)
        agree(sparse.bcoo_dot_general(rhs, mat, dimension_numbers=turned), wanted)


@pytest.mark.parametrize(("n_batch", "n_dense"), LAYOUTS)
def test_elements_of_a_product(n_batch, n_dense):
    a, b = draw(3, 4, 6, density=1), draw(3, 6, 2, seed=1, density=1)
    numbers = (((2,), (1,)), ((0,), (0,)))
    mat = sparse.BCOO.fromdense(draw(*SHAPE), n_batch=n_batch, n_dense=n_dense)
    found = sparse.bcoo_dot_general_sampled(a, b, mat.indices, dimension_numbers=numbers)
    wanted = sparse.bcoo_extract(mat, lax.dot_general(a, b, numbers)).data
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("n_batch", [0, 1])
def test_products_of_two_sparse_arrays(n_batch):
    a, b = draw(2, 3, 4), draw(2, 4, 5, seed=1)
    x, y = (sparse.BCOO.fromdense(m, n_batch=n_batch) for m in (a, b))
    numbers = (((2,), (1,)), ((0,), (0,))) if n_batch else (((0, 2), (0, 1)), ((), ()))
    agree(sparse.bcoo_dot_general(x, y, dimension_numbers=numbers), lax.dot_general(a, b, numbers))


def test_derivatives_by_both_operands():
    mat = sparse.BCOO.fromdense(draw(*SHAPE), n_batch=1)
    numbers = (((2,), (0,)), ((), ()))

    def product(data, v):
        given = sparse.BCOO((data, mat.indices), shape=mat.shape)
        return sparse.bcoo_dot_general(given, v, dimension_numbers=numbers)

    check_grads(product, (mat.data, draw(2, 3, density=1)), 2, atol=1e-2, rtol=1e-2)


def test_padding_does_not_count():
    indices = jnp.array([[0, 1], [2, 3], [1, 0]])
    mat = sparse.BCOO((jnp.array([2.0, 7.0, 3.0]), indices), shape=(2, 3))
    agree(mat @ jnp.ones(3), jnp.array([2.0, 3.0]))
    agree(mat.T @ jnp.ones(2), jnp.array([3.0, 2.0, 0.0]))
    agree(mat.sum_duplicates(), jnp.array([[0.0, 2.0, 0.0], [3.0, 0.0, 0.0]]))


@pytest.mark.parametrize("kind", ["BCOO", "BCSR", "COO", "CSR", "CSC"])
def test_formats(kind):
    whole = draw(4, 5)
    make = getattr(sparse, kind)
    mat = make.fromdense(whole, nse=15)
    agree(mat, whole)
    agree(make.fromdense(whole), whole)
    v, w = draw(5, density=1), draw(5, 3, density=1)
    agree(jax.jit(lambda m, v: m @ v)(mat, v), whole @ v)
    agree(mat @ w, whole @ w)
    if kind != "BCSR":
        agree(mat.T @ whole, whole.T @ whole)
    gradient = jax.grad(lambda data, v: jnp.sum((_with(mat, data) @ v) ** 2), argnums=(0, 1))
    by_data, by_v = gradient(mat.data, v)
    stored = make.fromdense(whole, nse=15)
    rows = jnp.outer(2 * (whole @ v), v) * (whole != 0)
    agree(_with(stored, by_data), rows)
    np.testing.assert_allclose(by_v, 2 * whole.T @ (whole @ v), rtol=1e-5)
    agree(jax.vmap(lambda v: mat @ v)(jnp.stack([v, 2 * v])), jnp.stack([whole @ v, 2 * whole @ v]))
    agree(
        jax.jvp(lambda x: make.fromdense(x, nse=15).todense(), (whole,), (2 * whole,))[1], 2 * whole
    )


def _with(mat, data):
    arrays, description = mat.tree_flatten()
    nonzero = jnp.where(mat.data != 0, data, 0)
    return type(mat).tree_unflatten(description, (nonzero, *arrays[1:]))


def test_products_of_truth_values_are_whether_there_is_one():
    whole = jnp.array([[True, False, True], [False, True, False]])
    mat = sparse.BCOO.fromdense(whole)
    for v in (jnp.array([True, False, True]), whole.T):
        agree(mat @ v, whole @ v)
        agree(sparse.CSR.fromdense(whole) @ v, whole @ v)
    agree(mat @ mat.T, whole @ whole.T)
    twice = sparse.BCOO((jnp.ones(2, bool), jnp.array([[1], [1]])), shape=(2,))
    agree(twice.sum_duplicates(), jnp.array([False, True]))


def test_large_sums_are_made_in_parts():
    rng = np.random.default_rng(0)
    shape, n = (1000, 900), (1 << 18) + 3
    at = np.stack([rng.integers(0, k + 1, n) for k in shape], axis=1)  # some are padding
    data = rng.integers(-4, 5, n).astype(np.float32)
    mat = sparse.BCOO((jnp.asarray(data), jnp.asarray(at, dtype=jnp.int32)), shape=shape)
    v = rng.integers(-4, 5, shape[1]).astype(np.float32)
    inside = (at < shape).all(axis=1)
    wanted = np.zeros(shape[0])
    np.add.at(wanted, at[inside, 0], data[inside] * v[at[inside, 1]])
    np.testing.assert_array_equal(mat @ v, wanted)
    np.testing.assert_array_equal(jax.jit(lambda m, v: m @ v)(mat, v), wanted)
    by_data = jax.grad(lambda d: (sparse.BCOO((d, mat.indices), shape=shape) @ v).sum())(mat.data)
    np.testing.assert_array_equal(by_data, np.where(inside, v[np.minimum(at[:, 1], 899)], 0))


def test_products_are_one_kernel():
    mat = sparse.BCOO.fromdense(draw(6, 5))
    text = jax.jit(lambda m, v: m @ v).lower(mat, jnp.ones(5)).as_text("kernels")
    assert "library_call" not in text and "call" not in text.replace("library_call", "")


def test_errors_name_the_operation():
    mat = sparse.eye(3)
    with pytest.raises(TypeError, match="bcoo_dot_general: contracting axes must have equal"):
        sparse.bcoo_dot_general(mat, jnp.ones(4), dimension_numbers=(((1,), (0,)), ((), ())))
    with pytest.raises(TypeError, match="coo_matvec"):
        sparse.coo_matvec(sparse.eye(3, sparse_format="coo"), jnp.ones(4))
    with pytest.raises(ValueError, match="BCOO: data must be"):
        sparse.BCOO((jnp.ones(3), jnp.zeros((2, 2), int)), shape=(3, 3))
    with pytest.raises(NotImplementedError, match="permuted among themselves"):
        sparse.BCOO.fromdense(jnp.eye(3), n_batch=1).T  # noqa: B018
    with pytest.raises(sparse.SparseEfficiencyError):
        mat.update_layout(n_batch=1)
    with pytest.raises(ValueError, match=r"bcoo_sum_duplicates: .* as `nse`"):
        jax.jit(lambda m: m.sum_duplicates().data)(mat)


def test_products_of_coo_arrays():
    """Real JAX compiles them for GPUs only."""
    from jitney.experimental.sparse import bcoo

    dense = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], np.float32)
    row, col = np.nonzero(dense)
    data = jnp.asarray(dense[row, col])
    at = [jnp.asarray(k.astype(np.int32)) for k in (row, col)]

    def product(prim, x, transpose=False):
        return prim.bind(data, *at, x, transpose=transpose, shape=(2, 3))

    v, w = jnp.arange(3.0), jnp.arange(2.0) + 1
    many = jnp.arange(6.0).reshape(3, 2)
    cases = [
        (bcoo.coo_spmv_p, v, False, dense @ v), (bcoo.coo_spmv_p, w, True, dense.T @ w),
        (bcoo.coo_spmm_p, many, False, dense @ many),
        (bcoo.coo_spmm_p, many.T, True, dense.T @ np.asarray(many.T)),
    ]  # fmt: skip
    for prim, x, transpose, expected in cases:
        found = jax.jit(lambda x, p=prim, t=transpose: product(p, x, t))(x)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(product(prim, x, transpose), expected)
    gradient = jax.grad(lambda v: product(bcoo.coo_spmv_p, v).sum())(v)
    np.testing.assert_array_equal(gradient, dense.sum(0))
    rows = jax.vmap(lambda v: product(bcoo.coo_spmv_p, v))(many.T)
    np.testing.assert_array_equal(rows, np.asarray(many.T) @ dense.T)
    for wrong in ((data[1:], *at, v), (data, at[0].astype(np.int16), at[1], v), (data, *at, w)):
        with pytest.raises(TypeError, match="coo_spmv"):
            bcoo.coo_spmv_p.bind(*wrong, transpose=False, shape=(2, 3))
