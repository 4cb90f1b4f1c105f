"""Rules of `sparsify`: zeros are kept, duplicates are summed, dense results refused."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.experimental.sparse import sparse_rules
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.bcsr import BCSR
from jitney.experimental.sparse.spvalues import evaluate

assert sparse_rules  # it registers the rules
DENSE = np.array([[0, 2, 0], [3, 0, 4]], np.float32)


def run(f, *args):
    shaped = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args]
    closed = jax.make_jaxpr(f)(*shaped)
    outs = evaluate(closed.jaxpr, closed.consts, args)
    return outs[0] if len(outs) == 1 else outs


def matrix(kind=BCOO):
    return kind.fromdense(jnp.asarray(DENSE))


def doubled():
    """A vector whose element 1 is stored as 1 + 3."""
    return BCOO((jnp.array([1.0, 3.0]), jnp.array([[1], [1]])), shape=(2,))


@pytest.mark.parametrize("kind", [BCOO, BCSR])
def test_functions_that_keep_zeros_keep_the_indices(kind):
    out = run(lambda m: jnp.square(jnp.negative(m)), matrix(kind))
    assert type(out) is kind and out.data.tolist() == [4, 9, 16]
    np.testing.assert_array_equal(out.indices, matrix(kind).indices)


def test_duplicates_are_summed_before_functions_that_are_not_linear():
    assert run(jnp.square, doubled()).todense().tolist() == [0, 16]
    assert run(jnp.negative, doubled()).data.tolist() == [-1, -3]


def test_sums_of_sparse_arrays_are_sparse_and_those_with_dense_ones_dense():
    mat = matrix()
    same = run(lambda m: m + m, mat)
    assert same.nse == 3 and same.data.tolist() == [4, 6, 8]
    other = BCOO.fromdense(jnp.asarray(np.flip(DENSE, 1).copy()), n_batch=1)
    out = run(lambda a, b: a - b, mat, other)
    np.testing.assert_array_equal(out.todense(), DENSE - np.flip(DENSE, 1))
    np.testing.assert_array_equal(run(lambda m: m + jnp.asarray(DENSE), mat), 2 * DENSE)


def test_products_with_dense_arrays_are_sparse():
    mat, factor = matrix(), jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run(lax.mul, mat, factor).todense(), DENSE * factor)
    np.testing.assert_array_equal(run(lax.mul, factor, mat).data, [2, 9, 20])
    np.testing.assert_array_equal(run(lax.div, mat, 2**factor).data, [1, 0.375, 0.125])
    np.testing.assert_array_equal(run(lax.mul, mat, matrix()).todense(), DENSE**2)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda m: jnp.ones((2, 3)) / m, "a division by a sparse array"),
        (lambda m: lax.integer_pow(m, -1), "integer_pow with y=-1"),
        (lambda m: lax.concatenate([m, jnp.ones((2, 3))], 0), "joining sparse and dense arrays"),
    ],
)
def test_dense_results_are_refused(f, message):
    with pytest.raises(NotImplementedError, match=message):
        run(f, matrix())


def test_loops_and_branches_carry_sparse_arrays():
    def f(m, n):
        m = lax.fori_loop(0, n, lambda _, x: x * 2, m)
        return lax.cond(n > 1, lambda x: -x, lambda x: x, m)

    np.testing.assert_array_equal(run(f, matrix(), jnp.int32(2)).todense(), -4 * DENSE)
    np.testing.assert_array_equal(run(f, matrix(), jnp.int32(1)).todense(), 2 * DENSE)


def test_joined_arrays_are_brought_to_one_layout():
    batched = BCOO.fromdense(jnp.asarray(DENSE), n_batch=1)
    out = run(lambda a, b: jnp.concatenate([a, b], 1), matrix(), batched)
    assert out.n_batch == 0
    np.testing.assert_array_equal(out.todense(), np.concatenate([DENSE, DENSE], 1))
