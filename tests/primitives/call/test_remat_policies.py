"""A policy splits programs into what runs forward, what runs again, and what is kept."""

import numpy as np

import jitney
from jitney import lax
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.primitives.call.remat_policies import divide, without_calls

X = np.float32(0.5)
XS = np.float32([0.5, 1.0])


def names(eqns):
    return [eqn.primitive.name for eqn in eqns]


def save_sin(prim, *_, **__):
    return prim.name == "sin"


def parts_of(f, policy, *args):
    return divide(jitney.make_jaxpr(f)(*args).eqns, policy)


def test_saved_results_are_not_computed_again():
    def f(x):
        return lax.cos(lax.sin(lax.exp(x)))

    parts = parts_of(f, save_sin, X)
    assert names(parts.forward) == ["exp", "sin", "cos"]
    assert names(parts.again) == ["exp", "cos"]
    assert parts.kept == list(parts.forward[1].outvars)
    assert names(parts_of(f, None, X).again) == ["exp", "sin", "cos"]
    assert not parts_of(f, None, X).kept


def test_values_within_loops_are_stacked():
    def f(xs):
        return lax.scan(lambda c, x: (c + lax.sin(x), lax.cos(c)), X, xs)

    parts = parts_of(f, save_sin, XS)
    (loop,) = [e for e in parts.forward if e.primitive.name == "scan"]
    (later,) = [e for e in parts.again if e.primitive.name == "scan"]
    assert [v.aval.shape for v in parts.kept] == [(2,)]
    assert loop.outvars[-1] is parts.kept[0]
    assert later.invars[-1] is parts.kept[0]
    assert "sin" not in names(later.params["jaxpr"].eqns)
    assert "cos" in names(later.params["jaxpr"].eqns)


def test_values_within_branches_are_those_of_all_branches():
    def f(p, x):
        return lax.cond(p, lambda x: lax.cos(lax.sin(x)), lambda x: lax.exp(lax.sin(2 * x)), x)

    closed = jitney.make_jaxpr(f)(True, X)
    parts = divide(closed.eqns, save_sin)
    assert len(parts.kept) == 2
    forward = parts.forward[-1].params["branches"]
    again = parts.again[-1].params["branches"]
    for k, want in enumerate([np.exp(np.sin(2 * X)), np.cos(np.sin(X))]):
        out, *kept = jaxpr_as_fun(forward[k])(X)
        np.testing.assert_allclose(out, want, rtol=1e-6)
        assert [float(x) != 0 for x in kept] == [k == 0, k == 1]
        np.testing.assert_allclose(jaxpr_as_fun(again[k])(X, *kept)[0], want, rtol=1e-6)
        assert "sin" not in names(again[k].eqns)


def test_calls_are_inlined_for_the_policy():
    inner = jitney.jit(lambda x: jitney.jit(lax.sin)(x) * 2)
    closed = jitney.make_jaxpr(lambda x: inner(x) + 1)(X)
    flat = without_calls(closed)
    assert names(flat.eqns) == ["sin", "mul", "add"]
    np.testing.assert_allclose(jaxpr_as_fun(flat)(X)[0], np.sin(X) * 2 + 1, rtol=1e-6)
    assert without_calls(flat) is flat
