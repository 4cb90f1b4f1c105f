"""Interceptors change result types in turn, and see what the ones before them returned."""

import types

import numpy as np
import pytest

import jitney
from jitney.core.recording.recording_interceptors import (
    RecordingInterceptor,
    features,
    recorded_types,
)

ONE = types.SimpleNamespace(multiple_results=False)
MANY = types.SimpleNamespace(multiple_results=True)


class Appending(RecordingInterceptor):
    def __init__(self, suffix):
        self.suffix = suffix
        self.seen = []

    def result_types(self, primitive, out):
        return [x + self.suffix for x in out] if primitive.multiple_results else out + self.suffix

    def check_equation(self, primitive, avals, params, outs):
        self.seen.append((avals, params, outs))


def test_types_pass_through_all_interceptors():
    first, second = Appending("a"), Appending("b")
    assert recorded_types([first, second], ONE, ["x"], {"n": 1}, "r") == "rab"
    assert first.seen == [(["x"], {"n": 1}, ["ra"])]
    assert second.seen == [(["x"], {"n": 1}, ["rab"])]
    assert recorded_types([first], MANY, [], {}, ["r", "s"]) == ["ra", "sa"]
    assert recorded_types([], ONE, [], {}, "r") == "r"
    assert recorded_types([RecordingInterceptor()], ONE, [], {}, "r") == "r"


def test_installed_interceptors_refuse_operations_that_are_recorded():
    class NoSines(RecordingInterceptor):
        def check(self, primitive, avals):
            if primitive.name == "sin":
                raise ValueError("no sines")

    refuses = NoSines()
    features.install(refuses)
    try:
        with pytest.raises(ValueError, match="no sines"):
            jitney.make_jaxpr(jitney.lax.sin)(np.float32(1))
        assert len(jitney.make_jaxpr(jitney.lax.cos)(np.float32(1)).eqns) == 1
    finally:
        features.remove(refuses)
    assert len(jitney.make_jaxpr(jitney.lax.sin)(np.float32(1)).eqns) == 1
