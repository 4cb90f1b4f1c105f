"""Helpers of the sparse formats: shapes under `vmap`, sums at positions, pointers of rows."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.sparse import util
from jitney.experimental.sparse.util import (
    broadcasting_vmap,
    check_permutation,
    count_stored,
    fitted_shape,
    nfold_vmap,
    row_pointers,
    rows_of,
    scatter_sum,
)


@pytest.mark.parametrize(
    ("shape", "batches", "n_rest", "wanted"),
    [
        ((3, 4), [(5,), (5,)], 2, (5, 3, 4)),
        ((3, 4), [(1, 6), (5, 1)], 2, (5, 6, 3, 4)),
        ((5, 3, 4), [(), ()], 2, (3, 4)),
        ((5, 6, 4), [(6,), (1,)], 1, (6, 4)),
        ((5, 6, 4), [(5,), (5,)], 1, (5, 4)),
        ((5, 6, 4), [(5, 6), (1, 6)], 1, (5, 6, 4)),
    ],
)
def test_shapes_follow_the_batch_axes(shape, batches, n_rest, wanted):
    assert fitted_shape(shape, batches, n_rest) == wanted


def test_mapped_axes_of_size_one_are_broadcast():
    add = broadcasting_vmap(jnp.add)
    assert add(jnp.array([[1.0, 2]]), jnp.array([[10.0, 20], [30, 40]])).tolist() == [
        [11, 22],
        [31, 42],
    ]
    assert add(jnp.ones(1), jnp.ones(1)).tolist() == [2]
    partly = broadcasting_vmap(jnp.add, in_axes=(0, None))
    assert partly(jnp.arange(2.0), jnp.ones(3)).shape == (2, 3)
    with pytest.raises(ValueError, match="equal sizes, or size 1"):
        add(jnp.ones(2), jnp.ones(3))
    assert nfold_vmap(jnp.sum, 2)(jnp.ones((2, 3, 4))).tolist() == [[4] * 3] * 2


def test_the_largest_batch_decides_how_many_are_stored():
    mat = np.array([[[0, 1], [0, 0]], [[2, 3], [0, 4]]])
    assert [count_stored(mat, n, 0, "f") for n in (0, 1, 2)] == [4, 3, 2]
    assert count_stored(mat, 0, 1, "f") == 3
    assert count_stored(np.zeros((0, 3)), 1, 0, "f") == 0
    with pytest.raises(jax.errors.ConcretizationTypeError, match="f: nse must be given"):
        jax.make_jaxpr(lambda m: count_stored(m, 0, 0, "f"))(jnp.ones(2))


def test_elements_are_counted_where_only_derivatives_are_traced():
    counts = []
    f = jax.grad(lambda m: counts.append(count_stored(m, 0, 0, "f")) or m.sum())
    jax.jvp(f, (jnp.array([0.0, 2, 3]),), (jnp.ones(3),))
    assert counts == [2]


@pytest.mark.parametrize("n", [5, 100, 101, 1003])
def test_sums_at_positions_do_not_depend_on_their_parts(n, monkeypatch):
    monkeypatch.setattr(util, "_MANY", 16)
    rng = np.random.default_rng(n)
    at, values = rng.integers(0, 5, n), rng.integers(-9, 9, n)
    wanted = np.bincount(at, values, minlength=5)[:4]  # the last is beyond the shape
    np.testing.assert_array_equal(
        scatter_sum((4,), (jnp.asarray(at),), jnp.asarray(values)), wanted
    )
    flags = scatter_sum((4,), (jnp.asarray(at),), jnp.asarray(values > 7))
    wanted = [bool(np.any(values[at == k] > 7)) for k in range(4)]
    assert flags.dtype == bool and flags.tolist() == wanted


def test_pointers_of_rows_and_rows_of_pointers_are_inverses():
    pointers = row_pointers(jnp.array([0, 0, 2, 4, 4]), 4, "int32")  # two are padding
    assert pointers.tolist() == [0, 2, 2, 3, 3]
    assert rows_of(pointers, 5).tolist() == [0, 0, 2, 4, 4]
    assert row_pointers(jnp.zeros(0, int), 2, "int32").tolist() == [0, 0, 0]


def test_permutations_have_each_axis_once():
    assert check_permutation("f", np.array([2, 0, 1]), 3) == (2, 0, 1)
    for axes in (0, 0, 1), (0, 1), (1, 2, 3):
        with pytest.raises(ValueError, match="f: expected a permutation of 3 axes"):
            check_permutation("f", axes, 3)
