"""Primitives of a function of arrays have rules that follow from the function."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.types.avals import shaped_array
from jitney.experimental.sparse.composed import composed, is_nonzero
from jitney.transforms.zero import Zero


@pytest.fixture(scope="module")
def product():
    """n x y, linear in both operands."""
    return composed(
        "test_composed_product",
        lambda x, y, *, n: n * x * y,
        lambda x, y, *, n: shaped_array(x.shape, x.dtype),
        linear_in=(0, 1),
    )


@pytest.fixture(scope="module")
def pair():
    """(2 x, positions of x); only the first is linear."""
    return composed(
        "test_composed_pair",
        lambda x: [2 * x, jnp.argsort(x)],
        lambda x: [x, shaped_array(x.shape, np.dtype("int32"))],
        linear_in=(0,),
        multiple_results=True,
    )


X, Y = np.array([1, 2, 3], np.float32), np.array([5, 7, 11], np.float32)


def test_the_function_is_computed_as_one_equation(product):
    assert product.bind(X, Y, n=2).tolist() == [10, 28, 66]
    closed = jax.make_jaxpr(lambda x: product.bind(x, Y, n=2))(X)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["test_composed_product"]


def test_tangents_of_all_linear_operands_are_added(product):
    out, dot = jax.jvp(lambda x, y: product.bind(x, y, n=2), (X, Y), (Y, X))
    assert out.tolist() == [10, 28, 66] and dot.tolist() == (2 * (Y * Y + X * X)).tolist()
    _, dot = jax.jvp(lambda y: product.bind(X, y, n=2), (Y,), (X,))
    assert dot.tolist() == (2 * X * X).tolist()


def test_cotangents_come_from_the_transpose(product):
    of_x, of_y = jax.grad(lambda x, y: product.bind(x, y, n=3).sum(), (0, 1))(X, Y)
    assert of_x.tolist() == (3 * Y).tolist() and of_y.tolist() == (3 * X).tolist()


def test_batches_are_mapped(product, pair):
    out = jax.vmap(lambda x: product.bind(x, Y, n=1))(np.stack([X, Y]))
    assert out.tolist() == [(X * Y).tolist(), (Y * Y).tolist()]
    out, order = jax.vmap(pair.bind, in_axes=1)(np.stack([X, X[::-1]], 1))
    assert out.tolist() == [[2, 4, 6], [6, 4, 2]] and order.tolist() == [[0, 1, 2], [2, 1, 0]]


def test_only_the_first_of_several_results_has_a_derivative(pair):
    (out, order), (dot, none) = jax.jvp(pair.bind, (X,), (Y,))
    assert out.tolist() == [2, 4, 6] and order.tolist() == [0, 1, 2]
    assert dot.tolist() == (2 * Y).tolist() and none.dtype == jax.dtypes.float0
    assert jax.grad(lambda x: pair.bind(x)[0] @ Y)(X).tolist() == (2 * Y).tolist()


def test_symbolic_zeros_and_float0_are_no_tangents():
    assert is_nonzero(jnp.zeros(2))
    assert not is_nonzero(Zero(shaped_array((2,), np.dtype("float32"))))
    assert not is_nonzero(np.zeros(2, jax.dtypes.float0))
