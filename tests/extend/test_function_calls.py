"""`call` and `closed_call`: functions whose calls stay in programs, against real jax."""

import importlib

import numpy as np
import pytest
from tests.helpers.both import of_both

import jitney

NAMES = ("call_p", "closed_call_p")


def make(lib, name):
    """A function that calls another one by the primitive."""
    extend = importlib.import_module(f"{lib.__name__}.extend")
    lu = importlib.import_module(f"{lib.__name__}.extend.linear_util")
    api_util = importlib.import_module(f"{lib.__name__}.api_util")
    primitive = getattr(importlib.import_module(f"{lib.__name__}.extend.core.primitives"), name)
    assert isinstance(primitive, extend.core.CallPrimitive)

    def called(x, y):
        return [x * y, lib.numpy.sin(x) + 1.0]

    def f(x, y):
        info = api_util.debug_info("test", called, (x, y), {})
        params = {}
        if name == "closed_call_p":
            params["call_jaxpr"] = lib.make_jaxpr(called)(x, y)
        return primitive.bind(x, y, subfuns=(lu.wrap_init(called, debug_info=info),), **params)

    return f


@pytest.mark.parametrize("name", NAMES)
def test_like_jax(name):
    def results(lib):
        f = make(lib, name)
        x = lib.numpy.arange(3.0)
        return [
            *f(2.0, 3.0),
            *lib.jit(f)(2.0, 3.0),
            *lib.vmap(f, (0, None))(x, 2.0),
            *lib.jvp(f, (x, x), (x + 1, x))[1],
            lib.grad(lambda x: f(x, x)[0])(3.0),
            lib.grad(lib.jit(lambda x: sum(f(x, 2.0))))(3.0),
            # Values of traces around the call.
            lib.jit(lambda a: lib.jacfwd(lambda b: f(b, a)[0])(1.0))(5.0),
        ]

    for found, expected in zip(*of_both(results, last="0.10.2"), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("name", NAMES)
def test_calls_of_programs(name):
    """What is called may be a program; its constants come first unless it is closed."""
    lib = jitney
    primitive = getattr(importlib.import_module("jitney.extend.core.primitives"), name)
    scale = np.arange(1.0, 4.0, dtype=np.float32)
    closed = lib.make_jaxpr(lambda x: [x * scale, lib.numpy.sin(x)])(np.ones(3, np.float32))
    x = lib.numpy.arange(3.0)
    for program, consts in ((closed, []), (closed.jaxpr, closed.consts)):

        def f(x, program=program, consts=consts):
            return primitive.bind(*consts, x, call_jaxpr=program)

        for outs in (f(x), lib.jit(f)(x), lib.jit(lib.vmap(f))(x[None])):
            np.testing.assert_allclose(np.squeeze(outs[0]), x * scale)
            np.testing.assert_allclose(np.squeeze(outs[1]), np.sin(np.arange(3.0)), rtol=1e-6)
        slope = lib.grad(lambda x, f=f: sum(f(x)).sum())(x)
        np.testing.assert_allclose(slope, scale + np.cos(np.arange(3.0)), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_programs(name):
    ours, theirs = of_both(
        lambda lib: str(lib.make_jaxpr(make(lib, name))(1.0, 2.0)),
        last="0.10.2",
    )
    assert ours == theirs


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_used_is_left_out(name):
    f = make(jitney, name)
    closed = jitney.make_jaxpr(lambda x, y: f(x, y)[1])(1.0, 2.0)
    from jitney.interpreters import partial_eval as pe

    pruned, used = pe.dce_jaxpr(closed.jaxpr, [True])
    assert used == [True, False]
    assert len(pruned.eqns[0].params["call_jaxpr"].jaxpr.eqns) == 2


@pytest.mark.parametrize("name", NAMES)
def test_known_operands_are_used_when_a_function_is_linearized(name):
    f = make(jitney, name)
    x = jitney.numpy.arange(3.0)
    (y, _), linear = jitney.linearize(lambda x: f(x, 2.0), x)
    np.testing.assert_allclose(y, x * 2)
    tangents = linear(jitney.numpy.ones(3))
    np.testing.assert_allclose(tangents[1], np.cos(np.arange(3.0)), rtol=1e-6)
    (back,) = jitney.linear_transpose(linear, x)(tangents)
    np.testing.assert_allclose(back, 4 + np.cos(np.arange(3.0)) ** 2, rtol=1e-6)
