"""`jitney explore` writes a page about the functions that a program compiled."""

import numpy as np
import pytest

import jitney as jax
from jitney.cli import explore, run
from jitney.cli.run import Ended
from jitney.inspection import documents, machine
from jitney.inspection.machine import Rates


@pytest.fixture
def words(monkeypatch):
    """The words of the programs that were run; each compiles one function."""
    seen = []

    def run_to_end(words):
        seen.append(words)
        jax.jit(lambda x: x + 13.5)(np.float32(1))
        return Ended(0, None)

    monkeypatch.setattr(run, "run_to_end", run_to_end)
    monkeypatch.setattr(machine, "rates", lambda: Rates(1e9, 1e8))  # to measure them takes a second
    return seen


def test_the_page_has_the_functions(words, tmp_path, capsys):
    file = tmp_path / "page.html"
    assert explore.main(["-o", str(file), "p.py", "--", "--open"]) == 0
    assert words == [["p.py", "--open"]]
    assert capsys.readouterr().out == f"\n{file}: <lambda>\n"
    assert "13.5" in file.read_text(encoding="utf-8")


def test_the_page_may_be_opened(words, tmp_path, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(documents.webbrowser, "open", opened.append)
    monkeypatch.chdir(tmp_path)
    assert explore.main(["--open", "p.py"]) == 0
    assert opened == [(tmp_path / "explore.html").as_uri()]


def test_no_page_without_a_function(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert explore.main(["--function", "other", "p.py"]) == 1
    assert "no function named other" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_wrong_words(capsys):
    assert explore.main([]) == 2 and explore.main(["--opne", "p.py"]) == 2
    text = capsys.readouterr().err
    assert text.startswith("usage: jitney explore") and "--open" in text
