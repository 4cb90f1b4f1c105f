"""`print` of what is traced is noted on a terminal, once for each line."""

import io
import types

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.messages import print_notes


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    found = Terminal()
    monkeypatch.setattr(print_notes, "sys", types.SimpleNamespace(stderr=found))
    monkeypatch.setattr(print_notes, "_told", set())
    return found


def loss(x):
    for _ in range(3):
        print(x)
    return x


def test_once_for_each_line(terminal, capsys):
    jax.jit(loss)(1.0)
    jax.jit(lambda x: loss(x))(1.0)
    [note] = terminal.getvalue().splitlines()
    assert note.startswith("test_print_notes.py:")
    assert 'x printed while loss is traced; for values, jax.debug.print("x = {x}", x=x)' in note
    assert capsys.readouterr().out == "JitTracer(~float32[])\n" * 6


def test_setting(terminal):
    jax.config.update("jitney_print_notes", False)
    try:
        jax.jit(loss)(1.0)
    finally:
        jax.config.update("jitney_print_notes", True)
    assert not terminal.getvalue()


def test_other_texts_and_known_values(terminal):
    def texts(x):
        return x, repr(x), f"{x}", str(x)

    jax.eval_shape(lambda x: texts(x)[0], 1.0)
    print(jnp.ones(2))
    assert not terminal.getvalue()


def test_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(print_notes, "_told", set())
    jax.jit(loss)(1.0)
    assert not capsys.readouterr().err
