"""Interceptors observe calls of programs while they are on, each around the others."""

import numpy as np
import pytest

import jitney as jax
from jitney.runtime.execution import call_interceptors, dispatch


class Logging:
    def __init__(self, log, name, on=True):
        self.log, self.name, self.on = log, name, on

    def is_on(self):
        return self.on

    def intercept(self, call, proceed):
        self.log.append(f"{self.name} {call.name}")
        results = proceed()
        self.log.append(f"/{self.name}")
        return results


@pytest.fixture
def install():
    added = []

    def add(*features):
        for feature in features:
            added.append(feature)
            call_interceptors.features.install(feature)

    yield add
    for feature in added:
        call_interceptors.features.remove(feature)


def test_those_that_are_on_are_around_the_call(install):
    log = []
    install(Logging(log, "a"), Logging(log, "b", on=False), Logging(log, "c"))
    call = call_interceptors.ProgramCall(None, [], None, "f")
    assert call_interceptors.intercepted(call, lambda: log.append("call") or ["result"]) == [
        "result"
    ]
    assert sorted(log[:2]) == ["a f", "c f"] and log[2] == "call" and len(log) == 5


def test_programs_are_observed(install):
    log = []
    feature = Logging(log, "a")
    assert not call_interceptors.any_on()
    install(feature)
    assert call_interceptors.any_on()
    closed = jax.make_jaxpr(lambda x: x + 1)(np.float32(1))
    assert dispatch.run(closed, [np.float32(2)], name="f") == [3.0]
    feature.on = False
    dispatch.run(closed, [np.float32(2)], name="g")
    assert log == ["a f", "/a"] and not call_interceptors.any_on()
