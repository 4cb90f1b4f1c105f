"""Programs of partial sums: the first device holds a whole value, and the sums are the results."""

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.primitives.parallel.terms import _held_by_first, _summed, concerns, program_of
from jitney.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

MESH = AbstractMesh((2, 3), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
X = np.arange(24, dtype=np.float32).reshape(4, 6)


def traced(f, *specs):
    """The program of `f` for operands like X with shardings on the mesh."""
    with jitney.sharding.use_abstract_mesh(MESH):
        operands = [
            jitney.ShapeDtypeStruct(X.shape, X.dtype, sharding=NamedSharding(MESH, spec))
            for spec in specs
        ]
        return jitney.make_jaxpr(f)(*operands)


def summed_rows(x):
    return lax.reduce_sum(x, (0,), out_sharding=P(None, unreduced={"x"}))


def product(x, y):
    return jnp.einsum("ij,ik->jk", x, y, out_sharding=P(None, None, unreduced={"x"}))


def test_the_first_device_holds_a_whole_value():
    terms = _held_by_first(X, ("x", "y"), MESH)
    assert terms.value.shape == (2, 3, 4, 6)
    np.testing.assert_array_equal(terms.value[0, 0], X)
    assert np.count_nonzero(terms.value) == np.count_nonzero(X)
    np.testing.assert_array_equal(_summed(terms), X)
    assert _summed(X) is X


def test_programs_with_unreduced_values():
    assert concerns(traced(summed_rows, P("x")))
    assert not concerns(traced(lambda x: 2 * x, P("x")))


def test_partial_sums_of_rows():
    program, has = program_of(traced(summed_rows, P("x")), (False,), ())
    assert has == (True,)
    whole, parts = jaxpr_as_fun(program)(X)
    np.testing.assert_array_equal(whole, X.sum(0))
    np.testing.assert_array_equal(parts, [X[:2].sum(0), X[2:].sum(0)])


def test_partial_products():
    program, _ = program_of(traced(product, P("x"), P("x")), (False, False), ())
    whole, parts = jaxpr_as_fun(program)(X, 2 * X)
    np.testing.assert_array_equal(whole, X.T @ (2 * X))
    np.testing.assert_array_equal(parts, [2 * X[:2].T @ X[:2], 2 * X[2:].T @ X[2:]])


def test_linear_operations_act_on_the_partial_sums():
    closed = traced(lambda x: -summed_rows(x), P("x"))
    whole, parts = jaxpr_as_fun(program_of(closed, (False,), ())[0])(X)
    np.testing.assert_array_equal(whole, -X.sum(0))
    np.testing.assert_array_equal(parts, [-X[:2].sum(0), -X[2:].sum(0)])


def test_operands_that_are_given_as_partial_sums():
    closed = traced(lambda x: -x, P(None, None, unreduced={"x"}))
    program, has = program_of(closed, (True,), ())
    assert program.in_avals[0].shape == (2, 4, 6)
    assert has == (True,)
    whole, parts = jaxpr_as_fun(program)(np.stack([X, 3 * X]))
    np.testing.assert_array_equal(whole, -4 * X)
    np.testing.assert_array_equal(parts, [-X, -3 * X])
