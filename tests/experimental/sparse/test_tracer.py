"""Functions are called with tracers of sparse values, and each operation is evaluated at once."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.recording.linear_util import wrap_init
from jitney.experimental.sparse import sparse_rules
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.tracer import SparseTracer, sparsify_fun

assert sparse_rules  # it registers the rules
DENSE = np.array([[0, 2, 0], [3, 0, 4]], np.float32)


def run(f, *args):
    return sparsify_fun(wrap_init(f, debug_info=DebugInfo("sparsify", "f")), args)


def matrix():
    return BCOO.fromdense(jnp.asarray(DENSE))


def test_tracers_have_the_types_of_dense_arrays():
    def f(x, y):
        assert type(x) is SparseTracer and x.shape == (2, 3) and x.dtype == np.float32
        assert not x.is_concrete() and y.is_concrete() and y.to_concrete_value() == 3
        return [x * y, y]

    product, same = run(f, matrix(), jnp.float32(3))
    assert isinstance(product, BCOO) and product.nse == 3 and same == 3
    np.testing.assert_array_equal(product.todense(), 3 * DENSE)


def test_results_that_are_no_tracers_are_dense():
    (five,) = run(lambda x: [jnp.float32(5)], matrix())
    assert five == 5


def test_called_functions_are_evaluated_one_by_one():
    @jax.custom_jvp
    def twice(x):
        return x * 2

    twice.defjvp(lambda primals, tangents: (twice(*primals), tangents[0]))
    (out,) = run(lambda x: [twice(jax.jit(jnp.negative)(x))], matrix())
    np.testing.assert_array_equal(out.todense(), -2 * DENSE)


def test_calls_within_each_other_keep_their_values_apart():
    mat = matrix()

    def outer(x):
        (twice,) = run(lambda y: [x + y], BCOO((mat.data, mat.indices), shape=mat.shape))
        return [x * twice]

    (out,) = run(outer, mat)
    np.testing.assert_array_equal(out.todense(), 2 * DENSE**2)


def test_operations_without_a_rule_raise():
    with pytest.raises(NotImplementedError, match="exp of a sparse array would be dense"):
        run(lambda x: [jnp.exp(x)], matrix())
