"""Passes are registered under names; functions are compiled in an environment that is restored."""

import os

import pytest

from jitney.experimental.source_mapper import common, jaxpr
from jitney.experimental.source_mapper.common import (
    Pass,
    all_passes,
    compile_with_env,
    filter_passes,
    register_pass,
)

assert jaxpr  # it registers a pass


def test_passes_are_found_by_the_beginning_of_their_names(monkeypatch):
    monkeypatch.setattr(common, "_passes", dict(common._passes))
    for name in "own:first", "own:second":
        register_pass(Pass(name, None, None))
    assert [p.name for p in filter_passes("own:f")] == ["own:first"]
    assert [p.name for p in filter_passes(".*second|jaxpr")] == ["jaxpr", "own:second"]
    assert filter_passes("first") == []
    assert [p.name for p in all_passes()][-2:] == ["own:first", "own:second"]
    with pytest.raises(ValueError, match="pass 'own:first' is already registered"):
        register_pass(Pass("own:first", None, None))


def test_variables_are_set_while_a_function_is_compiled(monkeypatch):
    monkeypatch.setenv("JITNEY_TEST_OLD", "before")
    monkeypatch.delenv("JITNEY_TEST_NEW", raising=False)
    seen = []

    def f(x, *, y):
        seen.append((os.environ["JITNEY_TEST_OLD"], os.environ["JITNEY_TEST_NEW"]))
        return x + y

    variables = {"JITNEY_TEST_OLD": "1", "JITNEY_TEST_NEW": "2"}
    compile_with_env(f, (1.0,), {"y": 2.0}, variables, {})
    assert seen == [("1", "2")]
    assert os.environ["JITNEY_TEST_OLD"] == "before" and "JITNEY_TEST_NEW" not in os.environ


def test_variables_are_restored_after_an_error():
    with pytest.raises(ZeroDivisionError), common._environment({"JITNEY_TEST_NEW": "1"}):
        raise ZeroDivisionError
    assert "JITNEY_TEST_NEW" not in os.environ
