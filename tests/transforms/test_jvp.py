"""Values have tangents as far as operands do, and programs of derivatives say which."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.tracing.primitive import Primitive
from jitney.transforms.jvp import jvp_flat, jvp_jaxpr
from jitney.transforms.zero import Zero

X, Y = np.float32(3), np.float32(5)


def product_and_constant(x, y):
    return [x * y, y + 1, 2.0]


def test_tangents_of_a_product():
    outs, tangents = jvp_flat(product_and_constant, [X, Y], [np.float32(1), np.float32(10)])
    assert outs[:2] == [15, 6]
    assert tangents[:2] == [5 + 30, 10]
    assert isinstance(tangents[2], Zero)


def test_zero_tangents_stay_symbolic():
    zero = Zero(jitney.typeof(X))
    outs, tangents = jvp_flat(product_and_constant, [X, Y], [np.float32(1), zero])
    assert tangents[0] == 5
    assert isinstance(tangents[1], Zero)
    assert outs[1] == 6


@pytest.mark.parametrize(
    "instantiated, nonzero",
    [
        (False, (True, False, False)),
        (True, (True, True, True)),
        ((False, True, False), (True, True, False)),
    ],
)
def test_programs_have_tangents_where_there_are_any(instantiated, nonzero):
    closed = jitney.make_jaxpr(product_and_constant)(X, Y)
    derived, found = jvp_jaxpr(closed, (True, False), instantiated)
    assert found == nonzero
    assert len(derived.in_avals) == 3
    values = eval_jaxpr(derived.jaxpr, derived.consts, X, Y, np.float32(2))
    assert values[:4] == [15, 6, 2, 10]
    assert [float(x) for x in values[4:]] == [0] * (sum(nonzero) - 1)
    assert derived.debug_info.arg_names == ("x", "y", "the tangent of x")


def test_primitives_without_a_rule_are_refused_unless_tangents_are_zero():
    p = Primitive("test_p")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    assert jvp_flat(lambda x: [p.bind(x)], [X], [Zero(jitney.typeof(X))])[0] == [3]
    with pytest.raises(NotImplementedError, match="'test_p' has no derivative rule, so jvp"):
        jvp_flat(lambda x: [p.bind(x)], [X], [np.float32(1)])


def test_tracers_do_not_outlive_the_function():
    held = []
    jvp_flat(lambda x: [held.append(x) or x], [X], [np.float32(1)])
    with pytest.raises(jitney.errors.UnexpectedTracerError):
        held[0] + 1
