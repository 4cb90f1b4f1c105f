"""Calls with derivatives of the user: rules see dense or symbolic tangents, and batches."""

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.core.types.avals import shaped_array
from jitney.interpreters import partial_eval as pe
from jitney.primitives.call.custom import FlatRule, visible_tangent, with_axis, without_axis
from jitney.transforms.zero import SymbolicZero, Zero

X = np.float32([1, 2, 3])
ZERO = Zero(shaped_array((2, 3), np.float32))


def test_symbolic_zeros_gain_and_lose_an_axis():
    assert with_axis(ZERO, 5).aval.shape == (5, 2, 3)
    assert without_axis(with_axis(ZERO, 5)).aval == ZERO.aval
    assert type(with_axis(SymbolicZero(ZERO.aval), 2)) is SymbolicZero


def test_tangents_that_rules_see():
    assert visible_tangent(X, True) is X
    assert type(visible_tangent(ZERO, True)) is SymbolicZero
    np.testing.assert_array_equal(visible_tangent(ZERO, False), np.zeros((2, 3)))


def test_flat_rules_have_the_name_of_the_users_function():
    rule = FlatRule(lambda *xs: xs[::-1], "reverse")
    assert repr(rule) == "reverse"
    assert rule(1, 2) == (2, 1)


@jitney.custom_jvp
def scaled(x, y):
    return x * y, lax.sin(x)


@scaled.defjvp
def scaled_jvp(primals, tangents):
    (x, y), (t, u) = primals, tangents
    out = scaled(x, y)
    return out, (100 * (t * y + x * u), t)


def test_the_rule_is_used_and_batched():
    _, (d, e) = jitney.jvp(scaled, (X, 2 * X), (np.ones_like(X), 0 * X))
    np.testing.assert_array_equal(d, 200 * X)
    np.testing.assert_array_equal(e, np.ones(3))
    mapped = jitney.vmap(jitney.grad(lambda x, y: scaled(x, y)[0]), in_axes=(0, None))
    np.testing.assert_array_equal(mapped(X, np.float32(5)), [500] * 3)


def test_unused_results_are_dropped_but_no_operand():
    closed = jitney.make_jaxpr(lambda x, y: scaled(x, y)[1])(X, X)
    pruned, used = pe.dce_jaxpr(closed.jaxpr, [True])
    (eqn,) = pruned.eqns
    assert eqn.primitive.name == "custom_jvp_call"
    assert len(eqn.outvars) == 1
    assert used == [True, True]


@jitney.custom_vjp
def cube(x, y):
    return x**3 + y


cube.defvjp(lambda x, y: (cube(x, y), x), lambda x, ct: (10 * x * ct, None))


def test_backward_rules_with_batches_along_other_axes():
    def loss(x, y):
        return cube(x, y).sum()

    np.testing.assert_array_equal(jitney.grad(loss)(X, X), 10 * X)
    rows = np.stack([X, 2 * X], 1)
    got = jitney.vmap(jitney.grad(loss, (0, 1)), in_axes=(1, None))(rows, X)
    np.testing.assert_array_equal(got[0], 10 * rows.T)
    np.testing.assert_array_equal(got[1], np.zeros((2, 3)))


def test_rules_must_return_the_value_of_the_function():
    @jitney.custom_jvp
    def f(x):
        return x

    f.defjvp(lambda primals, tangents: (np.float32(0), np.float32(0)))
    with pytest.raises(TypeError, match=r"float32\[3\].*float32\[\]"):
        jitney.jvp(jitney.jit(f), (X,), (X,))
    with pytest.raises(TypeError, match="custom_vjp"):
        jitney.jvp(cube, (X, X), (X, X))
