"""Batched programs have the requested axes, and helpers move and add axes as NumPy does."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import ShapedArray
from jitney.interpreters import batching
from jitney.transforms.batch import AxisData

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def batched(fun, args, in_axes, out_axes, size=2):
    def without(x, axis):
        shape = np.shape(x)
        return ShapedArray(shape if axis is None else tuple(np.delete(shape, axis)), X.dtype)

    avals = [without(x, axis) for x, axis in zip(args, in_axes, strict=True)]
    closed = jax.make_jaxpr(fun)(*avals)
    program, mapped = batching.batch_jaxpr_axes(closed, AxisData("i", size), in_axes, out_axes)
    return eval_jaxpr(program.jaxpr, program.consts, *args), mapped


def test_results_have_the_requested_axes():
    y = np.float32([10, 20, 30])
    (total, moved, same, whole), mapped = batched(
        lambda x, y: (x.sum(), x + y, y, y), [X, y], [0, None],
        [0, 1, None, batching.zero_if_mapped],
    )  # fmt: skip
    np.testing.assert_array_equal(total, X.sum(1))
    np.testing.assert_array_equal(moved, (X + y).T)
    np.testing.assert_array_equal(same, y)
    assert mapped == [True, True, False, False] and whole.shape == (3,)


def test_results_that_are_not_mapped_are_broadcast():
    ((out,), mapped) = batched(lambda x, y: y, [X, np.float32(5)], [0, None], [0])
    np.testing.assert_array_equal(out, [5, 5])
    assert mapped == [True]
    with pytest.raises(ValueError, match="a result is mapped, but its entry"):
        batched(lambda x: x, [X], [0], [None])
    ((out,), _) = batched(lambda x: x, [X], [1], [batching.zero_if_mapped], size=3)
    np.testing.assert_array_equal(out, X.T)


def test_axes_are_moved_and_added():
    np.testing.assert_array_equal(batching.moveaxis(jnp.asarray(X), 1, 0), X.T)
    assert batching.moveaxis(X, None, 0) is X
    np.testing.assert_array_equal(batching.bdim_at_front(jnp.asarray(X), 1, 3), X.T)
    np.testing.assert_array_equal(batching.bdim_at_front(jnp.asarray(X), None, 4), [X] * 4)
    np.testing.assert_array_equal(
        batching.broadcast(jnp.asarray(X), 4, 1, None), np.repeat(X[:, None], 4, 1)
    )


@pytest.fixture
def negate():
    prim = Primitive("negate of the tests of batching")
    prim.def_impl(np.negative)
    prim.def_abstract_eval(lambda x: x)
    return prim


def test_elementwise_rules_replace_one_another(negate):
    batching.defvectorized(negate)
    batching.defvectorized(negate)
    out = jax.vmap(lambda x: negate.bind(x), in_axes=1, out_axes=1)(X)
    np.testing.assert_array_equal(out, -X)


def test_rules_that_know_the_axis_are_called_without_mapped_operands(negate):
    seen = []

    def rule(size, name, main, args, dims):
        seen.append((size, name, main, tuple(dims)))
        return negate.bind(*args), dims[0]

    batching.axis_primitive_batchers[negate] = rule
    assert negate not in batching.primitive_batchers
    jax.vmap(lambda x: negate.bind(x) + negate.bind(np.float32(1)), axis_name="i")(X)
    assert seen == [(2, "i", None, (0,)), (2, "i", None, (None,))]
