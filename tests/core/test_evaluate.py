"""Jaxprs are evaluated equation by equation, and values are dropped after their last use."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import eval_jaxpr, evaluate_by, jaxpr_as_fun, last_uses, value_of
from jitney.core.program.jaxpr import Literal

TABLE = np.arange(3, dtype=np.float32)


@pytest.fixture
def program():
    def f(x, y):
        z = x * TABLE
        w = z + y
        return w - z, w, 2.0

    return jitney.make_jaxpr(f)(np.float32(1), np.ones(3, np.float32))


def test_results_are_those_of_the_function(program):
    args = np.float32(3), np.ones(3, np.float32)
    expected = [np.ones(3), 3 * TABLE + 1, 2.0]
    for found in (eval_jaxpr(program.jaxpr, program.consts, *args), jaxpr_as_fun(program)(*args)):
        for x, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, wanted)
    with pytest.raises(ValueError, match="zip"):
        eval_jaxpr(program.jaxpr, program.consts, *args[:1])


def test_variables_die_at_their_last_use(program):
    x, y = program.invars
    mul, _, sub = program.eqns
    first, second, third = last_uses(program)
    assert x in first
    assert y in second
    assert mul.outvars[0] in third
    assert sub.outvars[0] not in third  # a result
    assert {*first} & {*second} == set()


def test_equations_are_evaluated_by_another_function(program):
    seen = []

    def apply(eqn, operands):
        seen.append(eqn.primitive.name)
        return [sum(np.ndim(x) for x in operands)]

    assert evaluate_by(apply, program.jaxpr, program.consts, (1, [1])) == [0, 1, 2.0]
    assert seen == ["mul", "add", "sub"]


def test_weak_literals_stay_weak():
    (weak,) = [
        a for e in jitney.make_jaxpr(lambda x: x * 2)(1.0).eqns for a in e.invars
        if isinstance(a, Literal)
    ]  # fmt: skip
    assert type(value_of(weak, {})) is float
    strong = Literal(np.array(2, np.int8), jitney.typeof(np.int8(2)))
    assert value_of(strong, {}) is strong.val
