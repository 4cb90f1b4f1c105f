"""The `jit` primitive: results that are operands are taken out, cotangents keep weak types."""

import numpy as np

import jitney
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.core.types.avals import shaped_array
from jitney.interpreters import partial_eval as pe
from jitney.primitives.call.call import (
    call_params,
    transposed_program,
    weakness_of,
    with_weakness,
    without_forwarded,
)
from jitney.transforms.zero import Zero

F32 = shaped_array((), np.float32)
WEAK = shaped_array((), np.float32, True)
X = np.float32(3)


def test_results_that_are_operands_are_dropped():
    closed = jitney.make_jaxpr(lambda x, y: (y, x * y, x, 1.0))(X, X)
    rest, places = without_forwarded(closed)
    assert places == (1, None, 0, None)
    assert [float(r) for r in jaxpr_as_fun(rest)(X, X)] == [9, 1]
    assert without_forwarded(closed)[0] is rest
    computed = jitney.make_jaxpr(lambda x: x * x)(X)
    assert without_forwarded(computed)[0] is computed


def test_parameters_fit_another_program():
    closed = jitney.make_jaxpr(jitney.jit(lambda x: x * x))(X)
    params = closed.eqns[0].params
    wider = jitney.make_jaxpr(lambda x, y: (x, y, x))(X, X)
    changed = call_params(params, wider)
    assert len(changed["in_shardings"]) == len(changed["donated_invars"]) == 2
    assert len(changed["out_layouts"]) == 3
    assert changed["name"] == params["name"]
    placed = call_params(params, wider, in_shardings=["a", "b"])
    assert placed["in_shardings"] == ("a", "b")


def test_weak_types_of_cotangents():
    assert weakness_of([2.0, Zero(F32), X]) == (True, False)
    assert with_weakness([F32, WEAK, F32], (True, False, False)) == [WEAK, F32, F32]


def test_transposed_programs():
    closed = jitney.make_jaxpr(lambda k, x, y: (k * x, 2.0 * y, x))(X, X, X)
    back = transposed_program(closed, (False, True, True), (True, False, True))
    (ct,) = jaxpr_as_fun(back.closed)(np.float32(5), np.float32(7), np.float32(100))
    assert ct == 5 * 7 + 100
    assert back.has_ct == (True, False)  # the second result has no cotangent


def test_unused_results_and_operands_are_dropped():
    def f(x, y):
        return jitney.jit(lambda x, y: (x * 2, y * 3))(x, y)[1]

    closed = jitney.make_jaxpr(f)(X, X)
    pruned, used = pe.dce_jaxpr(closed.jaxpr, [True])
    assert used == [False, True]
    assert len(pruned.eqns[0].outvars) == 1
    assert len(pruned.eqns[0].params["jaxpr"].eqns) == 1


def test_known_parts_of_calls_are_computed_at_once():
    f = jitney.jit(lambda x, y: (jitney.lax.sin(x) * y, x * 2))
    _, linear = jitney.linearize(lambda y: f(X, y), X)
    text = str(jitney.make_jaxpr(linear)(X))
    assert "sin" not in text
    assert linear(np.float32(2))[1] == 0
    np.testing.assert_allclose(linear(np.float32(2))[0], 2 * np.sin(3), rtol=1e-6)
