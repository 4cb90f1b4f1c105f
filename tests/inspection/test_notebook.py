"""`%load_ext jitney` in a notebook that nbclient executes; skipped where that is not installed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.inspection import notebook

CELLS = [
    "%load_ext jitney\nimport jax, jax.numpy as jnp\nimport numpy as np\nprint(jax.__file__)",
    "%%jitney time\nf = jax.jit(lambda x: jnp.tanh(x).sum())\nprint(f(np.ones(10, 'float32')))",
    "%%jitney explain\ng = jax.jit(lambda x: jnp.tanh(x) + 1)\ng(np.ones((30, 20), 'float32'))",
    "%%jitney explore\ng(np.ones((31, 20), 'float32'))",
    "%%jitney profile\nf(np.ones(5, 'float32'))",
    "%%jitney explore\n1 + 1",
    "%%jitney\n1 + 1",
    "jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)",
    "jax.jit(lambda x: x @ x).lower(np.ones((9, 9), 'float32'))",
    "jax.jit(lambda x: x @ x).lower(np.ones((9, 9), 'float32')).compile()",
    "%%jitney time\n1 / 0",
]


@pytest.fixture(scope="module")
def outputs() -> list[list[dict[str, Any]]]:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    nbclient.NotebookClient(book, timeout=120, allow_errors=True, kernel_name="python3").execute()
    return [json.loads(json.dumps(cell["outputs"])) for cell in book.cells]


def _text(outputs: list[dict[str, Any]]) -> str:
    return "".join(out.get("text", "") for out in outputs)


def _html(outputs: list[dict[str, Any]]) -> str:
    return "".join(out.get("data", {}).get("text/html", "") for out in outputs)


def test_import_gives_jitney(outputs):
    assert "jitney" in _text(outputs[0])


def test_time(outputs):
    text = _text(outputs[1])
    assert text.startswith("7.61594")
    assert "ms; tracing " in text
    assert "of 1 function\n" in text


def test_explain(outputs):
    text = _text(outputs[2])
    assert "line 1: one pass over 30x20 (" in text
    assert "tanh" in text


def test_explore(outputs):
    assert "<iframe srcdoc=" in _html(outputs[3])
    assert "The cell compiled no function" in _text(outputs[5])


def test_profile(outputs):
    *_, shown = [out["data"] for out in outputs[4] if "data" in out]  # after the cell's value
    assert "compiled functions" in shown["text/plain"]
    assert "one pass" in shown["text/plain"] or "reduces 5" in shown["text/plain"]
    assert shown["text/html"].startswith("<iframe srcdoc=")


def test_usage(outputs):
    assert _text(outputs[6]).startswith("usage: %%jitney time")


def test_values_are_html(outputs):
    assert "jaxpr of 2 equations: 4 B in, 4 B out" in _html(outputs[7])
    assert "lowered &lt;lambda&gt;" in _html(outputs[8])
    assert "compiled &lt;lambda&gt;: arguments 324 B" in _html(outputs[9])


def test_an_error_is_shown_once(outputs):
    assert sum("ZeroDivisionError" in str(out) for out in outputs[10]) == 1


def test_html_of_values():
    closed = jax.make_jaxpr(lambda x: x < 1)(jnp.ones(3))
    assert notebook.jaxpr_html(closed).startswith(
        "<details open><summary>jaxpr of 1 equation: 12 B in"
    )
    assert "lt a 1.0" in notebook.jaxpr_html(closed)
    assert notebook.array_html(jnp.ones(3)) is None
    lowered = jax.jit(lambda x: x + 1).lower(np.ones(3, np.float32))
    assert "one pass over 3 (add)" in notebook.lowered_html(lowered)
    assert "kernel k0" in notebook.compiled_html(lowered.compile())
