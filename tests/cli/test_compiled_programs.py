"""Functions that a program compiles are collected by their name, and their absence is reported."""

import numpy as np
import pytest

import jitney as jax
from jitney.cli import compiled_programs, run
from jitney.cli.run import Ended

WELL = Ended(0, None)


@pytest.fixture
def running(monkeypatch):
    """Sets what a program does, and how it ends, in place of a file's code."""

    def runs(program=lambda: None, ended=WELL):
        def run_to_end(words):
            program()
            return ended

        monkeypatch.setattr(run, "run_to_end", run_to_end)

    return runs


def two_functions():
    @jax.jit
    def first(x):
        return x + 11.5

    @jax.jit
    def second(x):
        return x - 12.5

    first(np.float32(1)), second(np.float32(1))


def test_all_functions_or_those_of_a_name(running):
    running(two_functions)
    ended, modules = compiled_programs.run_and_collect("explain", ["p.py"], None)
    assert ended.leave() == 0 and [module.name for module in modules] == ["first", "second"]
    _, modules = compiled_programs.run_and_collect("explain", ["p.py"], "second")
    assert [module.name for module in modules] == ["second"]
    _, runs = compiled_programs.run_with_clocks("explore", ["p.py"], "first")
    assert [(each.module.name, each.clocked.calls) for each in runs] == [("first", 1)]


@pytest.mark.parametrize("function, what", [(None, "no function"), ("g", "no function named g")])
def test_programs_without_such_a_function(running, capsys, function, what):
    running()
    ended, modules = compiled_programs.run_and_collect("explain", ["dir/p.py"], function)
    assert (ended.status, modules) == (1, [])
    assert capsys.readouterr().err == f"jitney explain: dir/p.py compiled {what}\n"


def test_errors_of_the_program_come_before_the_report(running, capsys):
    error = ZeroDivisionError("wrong")
    running(ended=Ended(1, error))
    ended, _ = compiled_programs.run_and_collect("explain", ["p.py"], None)
    assert ended.error is error and "compiled no function" in capsys.readouterr().err
    running(ended=Ended(2, None))  # the file cannot be opened, which was reported
    ended, _ = compiled_programs.run_and_collect("explain", ["p.py"], None)
    assert ended.status == 2 and capsys.readouterr().err == ""
