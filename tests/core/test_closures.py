"""Programs of functions that close over tracers are shared within one trace."""

import jitney
from jitney.core.recording import closures


def make(x):
    return lambda y: x + y


def within_a_trace(body):
    jitney.make_jaxpr(body)(1.0)


def test_closures_hold_the_objects_of_their_cells():
    assert closures.held_by(make(3)) == [3]
    assert closures.held_by(len) is None
    assert closures.held_by(lambda: 1) is None

    def empty():
        return later

    assert closures.held_by(empty) is None
    later = 1
    assert closures.held_by(empty) == [later]


def test_programs_are_known_by_function_and_key():
    def body(x):
        fun = make(x)
        assert closures.known(fun, "f32") is None
        closures.keep(fun, "f32", "program", [x])
        assert closures.known(fun, "f32") == "program"
        assert closures.known(fun, "i32") is None
        assert closures.known(make(x), "f32") is None
        return x

    within_a_trace(body)


def test_programs_are_stale_once_the_closure_holds_other_objects():
    def body(x):
        held = x

        def fun():
            return held

        closures.keep(fun, None, "program", [x])
        assert closures.known(fun, None) == "program"
        held = x + 1
        assert closures.known(fun, None) is None
        return x

    within_a_trace(body)


def test_programs_with_tracers_from_elsewhere_are_not_kept():
    def body(x):
        fun = make(x)
        closures.keep(fun, None, "program", [x, x + 1])
        assert closures.known(fun, None) is None
        closures.keep(fun, None, "program", [x, 2.0])  # no tracer
        assert closures.known(fun, None) is None
        return x

    within_a_trace(body)


def test_nothing_is_kept_outside_of_a_trace():
    fun = make(1)
    closures.keep(fun, None, "program", [])
    assert closures.known(fun, None) is None
