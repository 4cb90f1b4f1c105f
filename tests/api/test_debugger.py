"""`jax.debug.breakpoint`: what it shows of a program, beside real jax."""

import io
import re
import runpy
import sys

import pytest
from tests.helpers.both import of_both

import jitney


def session(jax, commands, **options):
    """(what a debugger shows of a jitted function, its result). Lines count from that of `session`."""
    shown = io.StringIO()

    def inner(x):
        y = x * 2
        name = "static"
        jax.debug.breakpoint(stdin=io.StringIO(commands), stdout=shown, backend="cli", **options)
        return y, name

    def outer(q):
        w = q + 1
        return jax.jit(lambda w: inner(w)[0])(w)

    result = outer(jax.numpy.arange(2.0))
    jax.effects_barrier()
    first = sys._getframe().f_code.co_firstlineno
    place = lambda m: f"{m[1]}({int(m[2]) - first})"  # noqa: E731
    text = re.sub(r"\S+/(\w+\.py)\((\d+)\)", place, shown.getvalue())
    lines = [line.rstrip() for line in text.splitlines()]
    return [line for line in lines if line], result.tolist()


@pytest.mark.parametrize(
    "commands",
    [
        "p x\np y\nc\n", "pp (y, name)\nc\n", "y + 1\nc\n", "p nothing\ncont\n", "u\nu\np q\nd\nc\n",
        "l\nc\n", "list\ncontinue\n",
    ],
)  # fmt: skip
def test_shows_what_jax_does(commands):
    ours, theirs = of_both(lambda library: session(library, commands, num_frames=3))
    assert ours == theirs


def test_shows_the_frames():
    lines, _ = session(jitney, "bt\nd\nc\n", num_frames=3)
    text = "\n".join(lines)
    assert text.index("in outer") < text.index("in inner")
    assert "jax.debug.breakpoint(" in text
    assert "*** Newest frame" in text


def test_a_module_is_shown_around_its_line(tmp_path):
    program = ["import jitney", "def f(x):", "    jitney.debug.breakpoint(**files)", "    return x"]
    program += [f"n{i} = {i}" for i in range(20)] + ["f(1)"] + [f"m{i} = {i}" for i in range(20)]
    (tmp_path / "program.py").write_text("\n".join(program))
    shown = io.StringIO()
    files = {"stdin": io.StringIO("bt\nu\nc\n"), "stdout": shown}
    runpy.run_path(str(tmp_path / "program.py"), {"files": files})
    assert "<frozen runpy>" not in shown.getvalue()  # it runs the program, and is no part of it
    lines = [line.strip() for line in shown.getvalue().splitlines()]
    assert lines[-12:-1] == [*program[19:24], "->  f(1)", *program[25:30]]


def test_each_run_has_its_values():
    shown = io.StringIO()

    @jitney.jit
    def f(x):
        jitney.debug.breakpoint(stdin=io.StringIO("p x\nc\n" * 2), stdout=shown, ordered=True)
        return x

    f(1)
    f(2)
    assert "Array(1," in shown.getvalue()
    assert "Array(2," in shown.getvalue()


@pytest.mark.parametrize("commands", ["q\n", "exit\n", ""])
def test_leaving_ends_the_program(commands):
    def f(x):
        jitney.debug.breakpoint(stdin=io.StringIO(commands), stdout=io.StringIO())
        return x

    with pytest.raises(jitney.errors.JaxRuntimeError, match="ended in the debugger"):
        jitney.jit(f)(1.0)


def test_token_and_backend():
    options = {"stdin": io.StringIO("c\n"), "stdout": io.StringIO()}
    x = jitney.numpy.ones(2)
    assert jitney.debug.breakpoint(token=x, **options) is x
    with pytest.raises(ValueError, match="only backend"):
        jitney.debug.breakpoint(backend="window")
