"""Values of `sparsify` are references to arrays, and programs are evaluated on them by rules."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.sparse import sparse_rules
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.bcsr import BCSR
from jitney.experimental.sparse.coo import COO
from jitney.experimental.sparse.spvalues import (
    SparsifyEnv,
    arrays_to_spvalues,
    evaluate,
    spvalues_to_arrays,
    spvalues_to_avals,
    to_array,
    to_spvalue,
)

assert sparse_rules  # it registers the rules
DENSE = np.array([[0, 2, 0], [3, 0, 4]], np.float32)


@pytest.mark.parametrize("kind", [BCOO, BCSR])
def test_sparse_arrays_keep_their_parts_and_flags(kind):
    spenv, mat = SparsifyEnv(), kind.fromdense(jnp.asarray(DENSE))
    value = to_spvalue(spenv, mat)
    assert value.is_sparse() and not value.is_dense() and value.ndim == 2
    assert value.is_bcsr() == (kind is BCSR) and value.is_bcoo() == (kind is BCOO)
    again = to_array(spenv, value)
    assert type(again) is kind and again.info == mat.info and again.data is mat.data
    assert len(spenv.buffers) == (3 if kind is BCSR else 2)


def test_trees_of_values_have_the_types_of_dense_arrays():
    spenv, mat = SparsifyEnv(), BCOO.fromdense(jnp.asarray(DENSE))
    values = arrays_to_spvalues(spenv, {"a": mat, "b": [jnp.arange(4)]})
    avals = spvalues_to_avals(spenv, values)
    assert avals["a"].shape == (2, 3) and avals["a"].dtype == np.float32
    assert avals["b"][0].shape == (4,) and values["b"][0].is_dense()
    arrays = spvalues_to_arrays(spenv, values)
    assert isinstance(arrays["a"], BCOO) and arrays["b"][0].tolist() == [0, 1, 2, 3]


def test_parts_are_given_once():
    spenv = SparsifyEnv([jnp.ones(1)])
    value = spenv.sparse((3,), indices=jnp.array([[2]]), data_ref=0)
    assert to_array(spenv, value).todense().tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="either as `data` or as `data_ref`"):
        spenv.sparse((3,), jnp.ones(1), jnp.array([[2]]), data_ref=0)
    with pytest.raises(ValueError, match="either as `data` or as `data_ref`"):
        spenv.sparse((3,), jnp.ones(1))
    with pytest.raises(RuntimeError, match="the sparse value has no indptr"):
        spenv.indptr(value)


def test_other_formats_are_refused():
    with pytest.raises(TypeError, match="must be BCOO or BCSR arrays, but got COO"):
        to_spvalue(SparsifyEnv(), COO.fromdense(jnp.asarray(DENSE)))


def test_programs_are_evaluated_on_both_kinds_of_arrays():
    closed = jax.make_jaxpr(lambda m, v: (m * 2, v + 1, jnp.float32(7)))(DENSE, jnp.ones(2))
    mat, v, seven = evaluate(
        closed.jaxpr, closed.consts, [BCOO.fromdense(jnp.asarray(DENSE)), jnp.ones(2)]
    )
    assert isinstance(mat, BCOO) and v.tolist() == [2, 2] and seven == 7
    np.testing.assert_array_equal(mat.todense(), 2 * DENSE)


@pytest.mark.parametrize(
    ("f", "kind", "message"),
    [
        (jnp.cos, BCOO, "cos of a sparse array would be dense"),
        (jnp.sort, BCOO, "no rule for sort of BCOO"),
        (lambda m: m.T, BCSR, "no rule for transpose of BCSR"),
    ],
)
def test_operations_without_a_rule_are_named(f, kind, message):
    closed = jax.make_jaxpr(f)(DENSE)
    with pytest.raises(NotImplementedError, match=message):
        evaluate(closed.jaxpr, closed.consts, [kind.fromdense(jnp.asarray(DENSE))])
