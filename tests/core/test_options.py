"""Options have a global value, overrides by context, and epochs that identify their values."""

import threading

import pytest

from jitney.core.settings import config, options
from jitney.core.settings.options import Overriding, State, boolean, integer, one_of, parser


def test_overrides_are_those_of_a_context_and_a_thread():
    state = State("jax_test_depth", 3, integer)
    seen = []
    with state(5):
        assert state.value == 5
        thread = threading.Thread(target=lambda: seen.append(state.value))
        thread.start()
        thread.join()
        with Overriding((state, 6)):
            assert state.value == 6
        state.set_global(4)
        assert (state.value, state.get_global()) == (5, 4)
    assert state.value == 4
    assert seen == [3]
    assert options.local.values is None


def test_listeners_hear_every_value():
    state = State("jax_test_heard", False, boolean)
    heard = []
    state.listen(heard.append)
    state.set_global(1)
    with state(0):
        pass
    assert heard == [False, True, False]


def test_options_have_no_truth_value_and_may_be_frozen():
    state = State("jax_test_frozen", 3, integer)
    with pytest.raises(TypeError, match="has no truth value"):
        bool(state)
    state.frozen = "too late"
    with pytest.raises(RuntimeError, match="too late"):
        state.set_global(4)


@pytest.mark.parametrize(
    "default, text, value",
    [
        (True, "off", False),
        (False, "Yes", True),
        (True, "", False),
        (3, "17", 17),
        (0.5, "2", 2.0),
        ("a", "b", "b"),
    ],
)
def test_the_environment_sets_the_first_value(default, text, value, monkeypatch):
    monkeypatch.setenv("JAX_TEST_GIVEN", "other")
    monkeypatch.setenv("JITNEY_TEST_GIVEN", text)  # comes first
    state = State("jax_test_given", default, lambda x: x)
    assert state.value == value
    assert type(state.value) is type(value)


def test_wrong_values_in_the_environment_are_noted(monkeypatch):
    monkeypatch.setenv("JAX_TEST_WRONG", "maybe")
    monkeypatch.setattr(options, "refused", {})
    assert State("jax_test_wrong", True, boolean).value is True
    assert "'maybe' is not a boolean" in options.refused["JAX_TEST_WRONG"]
    assert State("jax_test_wrong", 3, integer).value == 3
    assert options.refused["JAX_TEST_WRONG"] == "'maybe' is not an integer."


def test_equal_settings_have_equal_epochs():
    outside = options.trace_epoch()
    with config.option("jax_enable_x64")(True):
        inside = options.trace_epoch()
        assert inside != outside
        with config.option("jax_enable_x64")(False):
            assert options.trace_epoch() == outside
    assert options.trace_epoch() == outside
    with config.option("jax_enable_x64")(True):
        assert options.trace_epoch() == inside
        assert options.settings_of_epoch(inside)["jax_enable_x64"] is True


@pytest.mark.parametrize(
    "parse, value, message",
    [
        (integer, True, "must be an int, got True"),
        (integer, 2.0, "must be an int"),
        (one_of("a", "b"), "c", r"takes one of \['a', 'b'\], but got 'c'"),
        (parser(str), 3, "takes None or a str"),
        (parser((1, 2)), 3, "takes one of"),
    ],
)
def test_values_that_do_not_fit_are_refused(parse, value, message):
    with pytest.raises(ValueError, match=message):
        parse(value)


def test_values_that_fit_are_kept():
    assert parser(float)(3) == 3
    assert parser(str)(None) is None
    assert parser(bool)("x") is True
    assert parser(object)([1]) == [1]
