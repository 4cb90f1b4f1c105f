"""Rematerialized programs save what the policy wants, and compute the rest again."""

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.experimental import io_callback
from jitney.primitives.call.remat import _flags, _picked, bind_program, name_p

X = np.float32(0.5)
PARAMS = {"prevent_cse": True, "differentiated": False, "policy": None}


def f(x):
    return lax.sin(lax.sin(lax.sin(x)))


def bound(x, policy=None):
    closed = jitney.make_jaxpr(f)(x)
    return bind_program(closed, [x], {**PARAMS, "policy": policy})[0]


def count(policy=None):
    text = str(jitney.make_jaxpr(jitney.grad(lambda x: bound(x, policy)))(X))
    return [text.count(f"{name} ") for name in ("sin", "cos")]


def test_values_and_derivatives():
    s, t = np.sin(X), np.sin(np.sin(X))
    for of in (lambda g: g, jitney.jit):
        np.testing.assert_allclose(of(bound)(X), np.sin(t), rtol=1e-6)
        want = np.cos(X) * np.cos(s) * np.cos(t)
        np.testing.assert_allclose(of(jitney.grad(bound))(X), want, rtol=1e-6)


def test_the_policy_says_what_is_computed_again():
    assert count() == [5, 3]  # three forward, two again
    assert count(lambda *_, **__: True) == [3, 3]


def test_names_keep_values():
    named = name_p.bind(X, name="here")
    assert named == X
    assert jitney.grad(lambda x: name_p.bind(x * x, name="here"))(X) == 1
    np.testing.assert_array_equal(jitney.vmap(lambda x: name_p.bind(x, name="a"))(X[None]), [X])


def test_effects_that_would_happen_twice_are_refused():
    def effectful(x):
        io_callback(print, None)
        return x * x

    closed = jitney.make_jaxpr(effectful)(X)
    with pytest.raises(NotImplementedError, match="cannot be recomputed in the backward pass"):
        jitney.grad(lambda x: bind_program(closed, [x], PARAMS)[0])(X)


def test_flags_of_operands():
    assert _flags(True, 3) == [True] * 3
    assert _flags((True, False), 2) == [True, False]
    assert _picked(PARAMS, [False]) is PARAMS
    assert _picked({"prevent_cse": (True,)}, [False, True])["prevent_cse"] == (False, True)
