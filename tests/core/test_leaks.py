"""Tracers that outlive their trace are found, with what holds them."""

import numpy as np
import pytest

import jitney
from jitney.core.tracing import leaks


def trace_of(x):
    return x._trace


def test_tracers_that_are_gone_are_no_leak():
    traces = []
    jitney.make_jaxpr(lambda x: traces.append(trace_of(x)) or x * 2)(np.float32(1))
    leaks.check(traces[0], set())


@pytest.mark.parametrize(
    "hold, take, message",
    [
        (lambda x: [0, x], lambda held: held[1], r"is referred to by <list \d+>\[1\]"),
        (lambda x: {"k": x}, lambda held: held["k"], r"is referred to by <dict \d+>\['k'\]"),
        (lambda x: lambda: x, lambda held: held(), r"\(<lambda>\) closed-over variable x"),
    ],
)
def test_holders_of_leaked_tracers_are_named(hold, take, message):
    kept = []

    def f(x):
        kept.append(hold(x))
        kept.append(trace_of(x))
        return x

    jitney.make_jaxpr(f)(np.float32(1))
    with pytest.raises(Exception, match="Leaked trace") as raised:
        leaks.check(kept[1], set())
    assert raised.match(message)
    leaks.check(kept[1], {id(take(kept[0]))})  # held by the trace itself


def test_global_variables_are_named():
    # A namespace of its own, as pytest hides that of this module from the garbage collector.
    namespace = {"__name__": "model"}
    exec("def hold(x):\n    global held\n    held = x\n    return x", namespace)
    jitney.make_jaxpr(namespace["hold"])(np.float32(1))
    with pytest.raises(
        Exception, match="is referred to by the global variable held of module model"
    ):
        leaks.check(trace_of(namespace["held"]), set())
