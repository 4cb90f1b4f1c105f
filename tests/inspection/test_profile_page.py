"""Pages of profiles show the time, the memory and the source of what ran, also of nothing."""

import re

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.inspection import facts, machine, memory, profile_page
from jitney.inspection.figures import Figures, Function
from jitney.inspection.machine import Rates
from jitney.inspection.profile_page import page
from jitney.inspection.timing import Timed

X = np.ones((50, 40), np.float32)


@pytest.fixture(autouse=True)
def rates(monkeypatch):
    """Measured rates, which take a second to measure."""
    monkeypatch.setattr(machine, "rates", lambda: Rates(1e9, 1e8))


def layer(x):
    z = jnp.tanh(x @ x.T)
    return z - z.mean(0)


def figures(seconds=4.0, each=0.25):
    program = facts.of_module(jax.jit(layer).lower(X)._lowering.module)
    steps = [Timed(program, work, each, 2) for work in program.everything()]
    functions = [Function(program, 2, memory.of_program(program))]
    return Figures(seconds, 0.1, 0.2, 0.3, steps, functions, peak_bytes=3_000_000)


def text_of(html):
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_times_steps_and_lines():
    html = page(figures())
    text = text_of(html)
    assert "4 s in all, and 3.00 MB of memory at its peak" in text
    line = layer.__code__.co_firstlineno + 1
    row = re.search(
        rf"<tr[^>]*>(?:<td[^>]*>[^<]*</td>){{3}}<td class=number>{line}</td>.*?</tr>", html
    )
    assert (
        "z = jnp.tanh(x @ x.T)" in text_of(row[0]) and "data-p=" in row[0] and "--part:" in row[0]
    )
    assert "{{" not in html and __file__ in html


def test_memory_of_functions():
    own = figures()
    assert own.functions[0].memory.held
    assert "temporary values in memory at the peak of a function: " in page(own)
    own.functions = []
    own.steps = []
    assert "No compiled function needs temporary memory." in page(own)


def test_profiles_of_nothing():
    text = text_of(page(Figures()))
    for hint in ("No compiled function ran.", "No source line is known.", "0 ns in all"):
        assert hint in text
    assert "of memory at its peak" not in text


def test_long_tables_are_cut(monkeypatch):
    monkeypatch.setattr(profile_page, "_MOST_STEPS", 1)
    own = figures()
    assert f"the longest 1 of {len(own.steps)}" in page(own) and len(own.steps) > 1
