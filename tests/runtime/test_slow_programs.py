"""Programs with unrolled loops, large constants or many calls of Python are warned of."""

import math

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.settings import performance
from jitney.runtime.execution import slow_programs


@pytest.fixture
def warned(monkeypatch):
    texts = []
    monkeypatch.setattr(performance, "warn", lambda text, *_: texts.append(text))
    monkeypatch.setattr(performance, "warns", lambda: True)
    return texts


def looped(n, inner=lambda x: x):
    return lambda x: jax.lax.fori_loop(0, n, lambda _, x: inner(x), x)


def calling(x):
    return jax.pure_callback(np.sin, x, x)


def test_surveys_count_equations_and_runs_of_inner_programs():
    closed = jax.make_jaxpr(looped(7, lambda x: jnp.cos(x) + 1))(1.0)
    survey = slow_programs._survey(closed)
    (loop,) = closed.eqns
    assert slow_programs._times(loop, 3) == (21 if loop.primitive.name == "scan" else math.inf)
    inner = len(jax.make_jaxpr(lambda x: jnp.cos(x) + 1)(1.0).eqns)
    assert survey.operations >= 1 + inner and survey.longest is not closed.jaxpr


@pytest.mark.parametrize("n, count", [(200, 1), (3, 0)])
def test_calls_of_python_in_long_loops(warned, n, count):
    slow_programs.warn_of(jax.make_jaxpr(looped(n, calling))(jnp.float32(1)), "f")
    assert len(warned) == count
    assert all(["jit(f): the pure_callback" in text for text in warned])


def test_rare_branches_may_call_python(warned):
    def f(x):
        return jax.lax.cond(x > 0, calling, lambda x: x, x)

    slow_programs.warn_of(jax.make_jaxpr(looped(200, f))(jnp.float32(1)), "f")
    assert warned == []


def test_unrolled_loops(warned, monkeypatch):
    monkeypatch.setattr(slow_programs, "LONG_PROGRAM", 200)

    def unrolled(x):
        for _ in range(110):
            x = jnp.sin(x) * 2
        return x

    slow_programs.warn_of(jax.make_jaxpr(unrolled)(1.0), "f")
    assert len(warned) == 1
    assert "jit(f) has 220 operations, most of them from 110 iterations of this Python" in warned[0]
    slow_programs.warn_of(jax.make_jaxpr(looped(110, jnp.sin))(1.0), "f")
    assert len(warned) == 1


def test_large_constants_are_counted_once(warned, monkeypatch):
    monkeypatch.setattr(slow_programs, "LARGE_CONSTANTS", 5000)
    c = np.ones(1000, np.float32)
    slow_programs.warn_of(jax.make_jaxpr(lambda x: x + c + c)(1.0), "f")
    assert warned == []
    d = np.ones(1000, np.float32)
    slow_programs.warn_of(jax.make_jaxpr(lambda x: x + c + d)(1.0), "f")
    assert len(warned) == 1 and "2 arrays of 0.008 MB" in warned[0]
