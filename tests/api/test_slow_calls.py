"""Functions that are traced too often, or copy their arguments in each call, are warned of once."""

import functools

import numpy as np
import pytest

import jitney as jax
from jitney.api.jit import slow_calls
from jitney.api.jit.jit_call import make_call
from jitney.core.settings import performance

CALL = make_call(lambda x, n: x, static_argnums=1)


@pytest.fixture
def warned(monkeypatch):
    texts = []
    monkeypatch.setattr(performance, "warn", lambda text, *_: texts.append(text))
    monkeypatch.setattr(performance, "warns", lambda: True)
    return texts


def key(x, n=2):
    return CALL.key((x, n), {})


def traced(fun):
    return jax.make_jaxpr(fun)(1.0).jaxpr


def test_the_code_that_a_function_finally_runs():
    def f(x):
        return x

    @functools.wraps(f)
    def wrapper(x):
        return f(x)

    for fun in (f, functools.partial(f, 1), wrapper, functools.partial(wrapper)):
        assert slow_calls._code_of(fun) is f.__code__
    assert slow_calls._code_of(len) is None


def test_one_function_traced_many_times_is_warned_of_once(warned):
    def f(x):
        return x + 1

    jaxpr = traced(f)
    for _ in range(slow_calls.MANY_TRACES + 5):
        slow_calls.watch_trace(f, jaxpr, lambda: (["another shape"], "pad it"))
    assert len(warned) == 1
    assert "  another shape" in warned[0] and warned[0].endswith("Instead: pad it.")


def test_functions_made_anew_in_a_loop_are_warned_of_if_they_compute_the_same(warned):
    def made(n):
        return lambda x: x + n

    jaxpr = traced(made(0))
    for n in range(slow_calls.MANY_TRACES + 5):
        fun = made(n)
        slow_calls.watch_trace(fun, jaxpr, lambda: None)
        del fun
    assert len(warned) == 1 and "as a new function object each time" in warned[0]


def test_functions_that_live_on_are_different_functions(warned):
    functions = [(lambda x: x * 3) for _ in range(slow_calls.MANY_TRACES + 5)]
    jaxpr = traced(functions[0])
    for fun in functions:
        slow_calls.watch_trace(fun, jaxpr, lambda: None)
    assert warned == []


@pytest.mark.parametrize(
    "now, before, cure",
    [
        (key(1.0, 2), key(1.0, 3), "as a non-static argument"),
        (key([1.0]), key((1.0,)), "the same structure in all calls"),
        (key(np.ones(3)), key(np.ones(4)), "pad arrays to one of a few sizes"),
        (key(1.0), key(1), "the same dtypes in all calls"),
    ],
)
def test_cures(now, before, cure):
    many = [before] * (slow_calls.MANY_TRACES - 1)
    differences, text = slow_calls.reasons(now, many, ["x"], str)
    assert cure in text and differences
    assert slow_calls.reasons(now, many[1:], ["x"], str) is None


def test_conversions_of_large_arrays(warned):
    call = make_call(lambda x: x, name="f")
    large, small = np.ones(slow_calls.LARGE_ARRAY // 8), np.ones(3)
    assert not slow_calls.narrows(call, [small, large.astype(np.float32)])
    looks = [slow_calls.narrows(call, [small, large]) for _ in range(slow_calls.MANY_COPIES + 1)]
    assert looks == [True] * (slow_calls.MANY_COPIES - 1) + [False, False]
    assert len(warned) == 1 and "jit(f)" in warned[0] and "1 MB" in warned[0]
