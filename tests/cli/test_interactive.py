"""After a program has ended, well or not, the prompt knows its names."""

import code
import sys
from types import ModuleType

import pytest

from jitney.cli import interactive


@pytest.fixture
def prompts(monkeypatch):
    """The names that each prompt knows; the program's module is one of its own."""
    seen = []
    monkeypatch.setattr(code, "interact", lambda **options: seen.append(options))
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    return seen


def test_the_prompt_has_the_names_of_the_program(prompts):
    def program():
        sys.modules["__main__"].answer = 42
        return 3

    assert interactive.after(program) == 0
    (options,) = prompts
    assert options["local"]["answer"] == 42
    assert options["banner"] == options["exitmsg"] == ""


@pytest.mark.parametrize("error", [ValueError("wrong"), KeyboardInterrupt(), SystemExit(4)])
def test_errors_are_shown_before_the_prompt(prompts, capsys, error):
    def program():
        raise error

    assert interactive.after(program) == 0 and len(prompts) == 1
    assert (sys.last_value, sys.last_type) == (error, type(error))
    assert type(error).__name__ in capsys.readouterr().err
