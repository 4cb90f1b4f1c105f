"""Programs are split into what is known and the rest, and dead code is eliminated."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.types.avals import shaped_array
from jitney.transforms.partial import (
    dce_closed,
    dce_jaxpr,
    partial_eval_jaxpr,
    trace_partially,
    trace_unknowns,
    with_own_variables,
    without_known_debug_effects,
)

X, Y = np.float32(3), np.float32(5)


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def program(f, *args):
    return jitney.make_jaxpr(f)(*(args or (X, Y)))


def f(x, y):
    return jitney.lax.sin(x) * y, jitney.lax.cos(x), y


@pytest.mark.parametrize(
    "unknown, wanted, known_names, late_names, out_unknown, n_residuals",
    [
        ((False, True), (False,) * 3, ["sin", "cos"], ["mul"], (True, False, True), 1),
        ((False, True), (False, True, False), ["sin", "cos"], ["mul"], (True,) * 3, 2),
        ((True, False), (False,) * 3, [], ["sin", "mul", "cos"], (True, True, False), 1),
        ((False, False), (False,) * 3, ["sin", "mul", "cos"], [], (False,) * 3, 0),
    ],
)
def test_known_and_unknown_parts_give_the_results(
    unknown, wanted, known_names, late_names, out_unknown, n_residuals
):
    closed = program(f)
    known, late, found, count = partial_eval_jaxpr(closed, unknown, wanted)
    assert (names(known), names(late)) == (known_names, late_names)
    assert (found, count) == (out_unknown, n_residuals)
    args = list(zip((X, Y), unknown, strict=True))
    early = eval_jaxpr(known.jaxpr, known.consts, *[x for x, u in args if not u])
    n = len(early) - count
    rest = eval_jaxpr(late.jaxpr, late.consts, *early[n:], *[x for x, u in args if u])
    first, second = iter(early[:n]), iter(rest)
    outs = [next(second) if u else next(first) for u in found]
    np.testing.assert_allclose(outs, [np.sin(X) * Y, np.cos(X), Y], rtol=1e-6)


def test_one_flag_serves_all_results():
    closed = program(f)
    assert trace_partially(closed, [False, False], True)[2] == (True,) * 3
    assert trace_partially(closed, [False, False], False)[2] == (False,) * 3


def test_dead_code_is_eliminated():
    jaxpr = program(f).jaxpr
    pruned, needed = dce_jaxpr(jaxpr, [False, True, False])
    assert names(pruned) == ["cos"]
    assert needed == [True, False]
    assert pruned.invars == jaxpr.invars
    closed, kept = dce_closed(program(f), (False, False, True), False)
    assert (names(closed), kept, closed.debug_info.arg_names) == ([], (False, True), ("y",))
    assert dce_closed(program(f), (False, False, True), (True, False))[1] == (True, True)


def test_effects_are_not_dead():
    def shown(x):
        jitney.debug.print("{}", x + 1)
        return x * 2

    jaxpr = program(shown, X).jaxpr
    pruned, needed = dce_jaxpr(jaxpr, [False])
    assert "mul" in names(jaxpr)
    assert names(pruned) == [name for name in names(jaxpr) if name != "mul"]
    assert pruned.effects == jaxpr.effects
    assert needed == [True]


def test_prints_of_known_values_are_left_out():
    def shown(x, y):
        jitney.debug.print("{}", x * 2)
        jitney.debug.print("{}", y * 3)
        return x

    closed = program(shown)
    assert names(closed) == ["mul", "debug_print"] * 2
    left = without_known_debug_effects(closed, [False, True])
    assert names(left) == ["mul", "mul", "debug_print"]
    assert left.eqns[-1].invars == left.eqns[-2].outvars
    pure = program(f)
    assert without_known_debug_effects(pure, [False, False]) is pure


def test_what_depends_on_no_argument_is_computed_at_once():
    aval = shaped_array((), np.dtype(np.float32))
    jaxpr, avals, consts = trace_unknowns(
        lambda x: [x * jitney.lax.sin(X), jitney.lax.cos(X)], [aval], DebugInfo("jit", "f")
    )
    assert names(jaxpr) == ["mul"]
    assert avals == [aval, aval]
    np.testing.assert_allclose(
        eval_jaxpr(jaxpr, consts, np.float32(2)), [2 * np.sin(X), np.cos(X)], rtol=1e-6
    )


def test_copies_have_variables_of_their_own():
    jaxpr = program(f).jaxpr
    copied = with_own_variables(jaxpr)
    assert str(copied) == str(jaxpr)
    assert not {*copied.invars, *copied.outvars} & {*jaxpr.invars, *jaxpr.outvars}
