"""`sparsify`, derivatives by what is stored, linear systems: against whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.experimental import sparse
from jitney.experimental.sparse.linalg import lobpcg_standard, spsolve

WHOLE = np.array([[1, 0, 2], [0, 3, 0]], np.float32)
V = np.arange(3, dtype=np.float32)


def matrix():
    return sparse.BCOO.fromdense(jnp.asarray(WHOLE))


def whole(tree):
    def is_sparse(x):
        return isinstance(x, sparse.JAXSparse)

    return jax.tree.map(
        lambda x: np.asarray(x.todense() if is_sparse(x) else x), tree, is_leaf=is_sparse
    )


FUNCTIONS = {
    "sum": lambda m, v: (m.sum(), m.sum(0)),
    "arithmetic": lambda m, v: (2 * m, m / 2, -m, m + m, m - 2 * m, m * v, m / (v + 1)),
    "whole": lambda m, v: m + jnp.ones((2, 3)),
    "products": lambda m, v: (m @ v, m.T @ m @ v, jnp.einsum("ij,j->i", m, v)),
    "functions": lambda m, v: (jnp.sin(m), jnp.sqrt(m), m**2, jnp.abs(m), jnp.expm1(m)),
    "joining": lambda m, v: (jnp.concatenate([m, m], 1), jnp.stack([m, m]), jnp.hstack([m, m])),
    "cond": lambda m, v: lax.cond(v.sum() > 0, lambda m: m * 2, lambda m: m, m),
    "while": lambda m, v: lax.fori_loop(0, 3, lambda _, m: m * 2, m),
    "jit": lambda m, v: jax.jit(lambda m: jnp.sum(m * 2, 0))(m),
    "means": lambda m, v: jnp.mean(m),
}  # fmt: skip


@pytest.mark.parametrize("use_tracer", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sparsify(name, use_tracer):
    f = FUNCTIONS[name]
    sparsified = sparse.sparsify(f, use_tracer=use_tracer)
    found, wanted = whole(sparsified(matrix(), V)), whole(f(jnp.asarray(WHOLE), V))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, wanted)


def test_scan_over_batches():
    mat = sparse.BCOO.fromdense(jnp.asarray(WHOLE), n_batch=1)

    def steps(m, v):
        return lax.scan(lambda c, row: (c + row @ v, row * 2), 0.0, m)

    total, rows = sparse.sparsify(steps)(mat, V)
    assert float(total) == (WHOLE @ V).sum()
    np.testing.assert_array_equal(rows.todense(), 2 * WHOLE)


@pytest.mark.parametrize("f", [jnp.cos, jnp.max, lambda m: 1 / m, lambda m: m + 1, lambda m: m > 0])
def test_sparsify_refuses_whole_results(f):
    with pytest.raises(NotImplementedError):
        sparse.sparsify(f)(matrix())


def test_derivatives_have_the_positions_of_arguments():
    mat, v = matrix(), jnp.asarray(V)
    value, gradient = sparse.value_and_grad(lambda m: ((m @ v) ** 2).sum())(mat)
    product = WHOLE @ V
    assert float(value) == (product**2).sum()
    np.testing.assert_allclose(gradient.todense(), np.outer(2 * product, V) * (WHOLE != 0))
    by_m, by_v = sparse.grad(lambda m, v: (m @ v).sum(), argnums=(0, 1))(mat, v)
    np.testing.assert_allclose(by_m.todense(), np.tile(V, (2, 1)) * (WHOLE != 0))
    np.testing.assert_allclose(by_v, WHOLE.sum(0))
    wanted = np.einsum("ik,j->ikj", np.eye(2), V) * (WHOLE != 0)
    for transformation in (sparse.jacfwd, sparse.jacrev):
        jacobian = transformation(lambda m: m @ v)(mat)
        assert repr(jacobian) == "BCOO(float32[2, 2, 3], nse=3, n_batch=1)"
        np.testing.assert_allclose(jacobian.todense(), wanted)
    aux = sparse.grad(lambda m: ((m @ v).sum(), 7), has_aux=True)(mat)[1]
    assert aux == 7


def test_random_arrays_are_those_of_jax():
    """The numbers are those of JAX 0.10.2."""
    mat = sparse.random_bcoo(jax.random.key(0), (3, 4), nse=0.5, dtype=np.float32)
    positions = [[0, 0], [0, 3], [2, 1], [1, 1], [0, 1], [2, 0]]
    np.testing.assert_array_equal(mat.indices, positions)
    data = [0.8423141, 0.18237865, 0.2271781, 0.12072563, 0.19181347, 0.722015]
    np.testing.assert_allclose(mat.data, data, rtol=1e-6)
    with pytest.raises(ValueError, match="nse must be in"):
        sparse.random_bcoo(jax.random.key(0), (3, 4), nse=12)


def test_spsolve_and_its_derivatives():
    dense = np.array([[2, 1, 0], [0, 4, 1], [1, 0, 5]], np.float32)
    mat = sparse.CSR.fromdense(jnp.asarray(dense))
    b = jnp.array([1.0, 2.0, 3.0])

    def solved(data, b):
        return spsolve(data, mat.indices, mat.indptr, b)

    def by_whole(data, b):
        rows = jnp.array([0, 0, 1, 1, 2, 2])
        return jnp.linalg.solve(jnp.zeros((3, 3)).at[rows, mat.indices].set(data), b)

    for f in (lambda g: g, jax.jit):
        np.testing.assert_allclose(f(solved)(mat.data, b), by_whole(mat.data, b), rtol=1e-5)
        found, wanted = (
            f(jax.grad(lambda d, b, g=g: jnp.sum(g(d, b) ** 2), argnums=(0, 1)))(mat.data, b)
            for g in (solved, by_whole)
        )
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4)
    rows = jax.vmap(solved, (None, 0))(mat.data, jnp.stack([b, 2 * b]))
    np.testing.assert_allclose(rows[1], 2 * rows[0], rtol=1e-5)


def test_largest_eigenvalues():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((40, 40)).astype(np.float32)
    symmetric = factor @ factor.T
    start = rng.standard_normal((40, 3)).astype(np.float32)
    theta, vectors, _ = lobpcg_standard(jnp.asarray(symmetric), start)
    np.testing.assert_allclose(theta, np.linalg.eigvalsh(symmetric)[::-1][:3], rtol=1e-4)
    np.testing.assert_allclose(symmetric @ vectors, vectors * theta, atol=0.05)
    with pytest.raises(ValueError, match="search dim"):
        lobpcg_standard(jnp.asarray(symmetric), jnp.ones((40, 8)))


def test_convolution():
    x = sparse.BCOO.fromdense(jnp.array([[[1.0, 0.0, 2.0, 3.0]]]))
    w = sparse.BCOO.fromdense(jnp.array([[[1.0, 4.0]]]))
    found = sparse.bcoo_conv_general_dilated(x, w, window_strides=(1,), padding=[(1, 1)])
    wanted = lax.conv_general_dilated(x.todense(), w.todense(), (1,), [(1, 1)])
    np.testing.assert_array_equal(found.todense(), wanted)


def test_text():
    assert repr(matrix()) == "BCOO(float32[2, 3], nse=3)"
    assert repr(sparse.BCOO.fromdense(jnp.asarray(WHOLE), n_batch=1)) == (
        "BCOO(float32[2, 3], nse=2, n_batch=1)"
    )
