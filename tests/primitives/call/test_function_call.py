"""Primitives that call a program: results, derivatives and batches are those of the program."""

import functools

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.core.tracing.primitive import Primitive
from jitney.primitives.call.function_call import (
    create_call_primitive,
    eval_jaxpr_transpose,
    register_call_primitive_rules,
)

X = np.float32([1, 2, 3])
marked = create_call_primitive("marked_of_test")
PROGRAM = jitney.make_jaxpr(lambda x, y: [x * x * y, x + y])(X[0], X[0])


def call(x, y):
    return marked.bind(x, y, call_jaxpr=PROGRAM)


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit])
def test_calls(wrap):
    product, total = wrap(call)(X[1], X[2])
    assert (float(product), float(total)) == (12, 5)
    assert [float(g) for g in wrap(jitney.grad(lambda x, y: call(x, y)[0], (0, 1)))(*X[1:])] == [
        12, 4,
    ]  # fmt: skip
    product, _ = wrap(jitney.vmap(call, in_axes=(0, None)))(X, X[1])
    np.testing.assert_array_equal(product, 2 * X**2)


def test_programs_show_the_call_and_are_evaluated_again():
    closed = jitney.make_jaxpr(lambda x, y: call(x, y)[0])(*X[1:])
    assert "marked_of_test[" in str(closed)
    assert jaxpr_as_fun(closed)(*X[1:]) == [12]
    derivative = jitney.make_jaxpr(jitney.grad(lambda x: call(x, x)[0]))(X[1])
    assert str(derivative).count("marked_of_test[") >= 2


def test_transpose_rules_of_users_add_to_accumulators():
    seen = []
    own = Primitive("own_of_test")
    own.multiple_results = True

    def rule(cts, *operands, call_jaxpr, **params):
        seen.append([hasattr(x, "accum") for x in operands])
        return eval_jaxpr_transpose(own, cts, *operands, call_jaxpr=call_jaxpr, **params)

    register_call_primitive_rules(own, transpose_rule=rule)
    scaled = jitney.make_jaxpr(lambda k, x: [k * x])(X[0], X[0])
    f = functools.partial(own.bind, X[2], call_jaxpr=scaled)
    ct = jitney.linear_transpose(lambda x: f(x)[0], X[0])(X[1])
    assert float(ct[0]) == 6
    assert seen == [[False, True]]
