"""Common forms of rules: axes move, broadcasts are undone, and primitives get their derivatives."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import shaped_array
from jitney.primitives import rules
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_constants_have_the_type_of_an_operand():
    weak = rules.const(jnp.full((), 1.0), 3)
    assert type(weak) is float
    strong = rules.const(X, 0.1)
    assert type(strong) is np.float32
    assert rules.const(np.int8(0), 300) == 44
    assert type(rules.factor(jnp.full((2,), 1.0), 3)) is np.float32


@pytest.mark.parametrize(
    ("shape", "want"),
    [((), 24), ((1, 3, 1), (1, 3, 1)), ((2, 3, 4), (2, 3, 4)), ((2, 1, 4), (2, 1, 4))],
)
def test_broadcasts_are_undone_by_sums(shape, want):
    ct = np.ones((2, 3, 4), np.float32)
    got = rules.unbroadcast(UndefinedPrimal(shaped_array(shape, np.float32)), ct)
    assert rules.shape_of(got) == shape
    assert float(jnp.sum(got)) == 24
    zero = rules.unbroadcast(np.zeros(shape, np.float32), Zero(shaped_array(ct.shape, ct.dtype)))
    assert type(zero) is Zero and zero.aval.shape == shape


def test_axes_are_moved_inserted_and_shifted():
    for source, destination in [(0, 2), (2, 0), (-1, 1), (1, 1)]:
        got = rules.move_axis(X, source, destination)
        np.testing.assert_array_equal(got, np.moveaxis(X, source, destination))
    np.testing.assert_array_equal(rules.insert_axes(X[0], (0, 2)), X[0][None, :, None])
    assert rules.shifted_axes((0, 1, 2), 1) == (0, 2, 3)


def test_batch_axes_go_to_the_front():
    np.testing.assert_array_equal(rules.to_front(X, 1, 3), np.moveaxis(X, 1, 0))
    np.testing.assert_array_equal(rules.to_front(X[0], None, 5), np.stack([X[0]] * 5))
    assert rules.batch_size([X, X], [None, 2]) == 4


def test_operands_of_unlike_ranks_are_aligned():
    same, dim = rules.align([X, X, np.float32(2)], [1, 1, None])
    assert dim == 1 and same[0] is X
    (a, b, c), dim = rules.align([X, X[:, 0, 0], np.float32(2)], [2, 0, None])
    assert dim == 0
    assert [rules.shape_of(x) for x in (a, b, c)] == [(4, 2, 3), (2, 1, 1), ()]


def test_a_primitive_that_is_linear_in_each_of_two_operands():
    prim = Primitive("product_of_test")
    prim.abstract(lambda x, y: x)
    prim.eager(lambda x, y: x * y)
    rules.defbilinear(prim, lambda ct, x, y: prim.bind(ct, y), lambda ct, x, y: prim.bind(x, ct))
    rules.broadcasting(prim)
    x, y = X[0, 0], X[1, 0]
    assert_equal = np.testing.assert_array_equal
    assert_equal(jitney.jvp(prim.bind, (x, y), (y, x))[1], y * y + x * x)
    assert_equal(jitney.vjp(prim.bind, x, y)[1](np.ones_like(x)), [y, x])
    assert_equal(jitney.vmap(prim.bind, (0, None))(X[0], y), X[0] * y)
    with pytest.raises(TypeError, match="a product of two linear values is not linear"):
        jitney.linear_transpose(lambda x: prim.bind(x, x), x)(x)


def test_primitives_that_are_linear_or_constant():
    double, step = Primitive("double_of_test"), Primitive("step_of_test")
    for prim, of in ((double, lambda x: 2 * x), (step, np.floor)):
        prim.abstract(lambda x: x)
        prim.eager(of)
        rules.vectorized(prim)
    rules.deflinear(double, lambda ct, x: double.bind(ct))
    rules.def_zero_derivative(step)
    x = X[0, 0]
    np.testing.assert_array_equal(jitney.vjp(double.bind, x)[1](x)[0], 2 * x)
    np.testing.assert_array_equal(jitney.jvp(step.bind, (x + 0.5,), (x,)), [x, 0 * x])
