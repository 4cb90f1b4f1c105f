"""Pages of `jitney.explore`: what they link, that they need nothing else, that a browser draws them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.cli import command
from jitney.inspection import texts

CHROMIUM = next((c for c in ("chromium", "google-chrome") if shutil.which(c)), None)


def layer(x, w):
    z = x @ w
    y = jnp.tanh(z)
    return y - y.mean(0)


FIRST = layer.__code__.co_firstlineno
X, W = np.ones((400, 300), np.float32), np.ones((300, 200), np.float32)


@pytest.fixture(scope="module")
def page() -> str:
    return jax.explore(layer, X, W).html()


@pytest.fixture(scope="module")
def function(page: str) -> dict[str, Any]:
    text = re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.S)
    assert text is not None
    (found,) = json.loads(text[1])
    return found


def _lines(function: dict[str, Any], title: str, line: int) -> list[str]:
    """The lines of a column that come from a line of `layer`."""
    place = function["places"].index(f"test_page.py:{FIRST + line}")
    (column,) = [c for c in function["columns"] if c["title"] == title]
    return [x[0] for block in column["blocks"] for x in block["lines"] if place in x[1:]]


def test_lines_are_linked_through_all_columns(function):
    assert [line.split(maxsplit=1)[1] for line in _lines(function, "source", 2)] == [
        "y = jnp.tanh(z)"
    ]
    assert [line.split()[2] for line in _lines(function, "jaxpr", 2)] == ["tanh"]
    assert any(" = tanh %" in line for line in _lines(function, "tensor IR", 2))
    kernels = [line for line in _lines(function, "kernels", 2) if not line.startswith("kernel ")]
    assert any(" = tanh %" in line for line in kernels)
    assert not any("reduce add" in line for line in kernels)
    assert any("reduce add" in line for line in _lines(function, "kernels", 3))
    assert any("dot_general" in line for line in _lines(function, "jaxpr", 1))
    assert not _lines(function, "kernels", 1)  # BLAS computes it


@pytest.mark.parametrize("column", ["LLVM", "assembly"])
def test_instructions_belong_to_one_line(function, column):
    (found,) = [c for c in function["columns"] if c["title"] == column]
    assert all(len(block["lines"][0]) > 1 for block in found["blocks"])  # heads
    inside = [line for block in found["blocks"] for line in block["lines"][1:]]
    assert {len(line) for line in inside} == {1, 2}
    tanh, mean = [_lines(function, column, line) for line in (2, 3)]
    assert len(tanh) > 10
    assert len(mean) > 3
    assert not any("!dbg" in line or ".loc" in line for line in tanh)


def test_steps_edges_and_memory(function):
    steps, edges = function["steps"], function["edges"]
    assert steps[0]["what"] == "400x300 @ 300x200 by BLAS"
    assert [0, 1, "320 kB"] in edges
    assert all(i < j < len(steps) for i, j, _ in edges)
    memory = function["memory"]
    assert len(memory["live"]) == len(memory["texts"]) == len(steps)
    assert memory["live"][memory["peak"]] == max(memory["live"]) >= 400 * 200 * 4
    assert any("`x @ w`" in value["text"] for value in memory["held"])
    (place,) = memory["held"][0]["places"]
    assert function["places"][place].startswith("test_page.py:")


def test_times_of_steps(function):
    times = function["times"]
    assert "calls with the arguments of the first call" in times
    assert "This machine: " in times
    assert times.count("<tr") == 1 + len(function["steps"])
    assert '<svg class="roofline" role="img" aria-label="Roofline: ' in times
    assert "400x300 @ 300x200 by BLAS" in times


def test_types_are_not_run():
    page = jax.explore(layer, jax.ShapeDtypeStruct(X.shape, X.dtype), W).html()
    assert "Not measured: no call has finished, and there are no arguments" in page
    assert "<table" not in page


def test_functions_that_call_python_are_not_run_again():
    calls = []

    def fun(x):
        jax.debug.callback(lambda v: calls.append(1), x.sum())
        return x * 2

    page = jax.explore(fun, X).html()
    assert not calls
    assert "Not measured" in page


def test_a_page_refers_to_nothing_else(page):
    assert not re.search(r"https?://|src=|@import|url\((?!#)", page)
    assert page.count("</script>") == 2


def test_text_of_programs_cannot_end_the_data():
    def fun(x):
        return jnp.sin(x) + len('</script><b>&"')

    text = jax.explore(fun, X).html()
    assert text.count("</script>") == 2
    assert "\\u003c/script>" in text


def test_functions_of_assembly_are_told_apart():
    text = """\
\t.text
k0:
.Lfunc_begin0:
\t.file\t1 "/" "nodes"
\t.loc\t1 1 0
\t.cfi_startproc
\tmovl\t$1, %eax
.LBB0_1:
.Ltmp3:
\t.loc\t1 12 0 is_stmt 0               # nodes:12:0
\tretq                                  # encoding
.Lfunc_end0:
\t.size\tk0, .Lfunc_end0-k0
k1:
\tretq
.Lfunc_end1:
"""
    assert texts.functions_of(text) == {
        "k0": [("\tmovl\t$1, %eax", 1), (".LBB0_1:", 0), ("\tretq", 12)],
        "k1": [("\tretq", 0)],
    }


def test_what_notebooks_show(page):
    shown = jax.explore(layer, X, W)._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "&lt;html" in shown


def test_command(tmp_path: Path, jitney_command):
    program = tmp_path / "program.py"
    program.write_text(
        "import jax, jax.numpy as jnp\n"
        "@jax.jit\ndef f(x):\n    return jnp.sin(x).sum()\n"
        "@jax.jit\ndef g(x):\n    return x * 2\n"
        "print(f(jnp.ones(10)).shape, g(jnp.ones(3)))\n"
    )
    out = tmp_path / "page.html"
    status, printed, _ = jitney_command("explore", "-o", str(out), str(program))
    assert status == 0
    assert printed.endswith(f"{out}: f, g\n")
    assert '"name":"f"' in out.read_text()
    assert out.read_text().count("calls with the arguments of the first call") == 2
    assert jitney_command("explore", "--function", "g", "-o", str(out), str(program))[0] == 0
    assert '"name":"f"' not in out.read_text()
    assert command.main(["explore", "--function"]) == 2
    assert command.main(["explore", "--help"]) == 0


ACTIONS = """
<script>
const said = [{shown: document.querySelectorAll(".column:not([hidden])").length}];
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const columns = () => all(".column").map(column => all(".lit", column).length);
const line = all("#column0 [data-p]").find(element => element.textContent.includes("tanh"));
line.click();
const byId = id => document.getElementById(id);
const status = byId("status").textContent;
said.push({clicked: columns(), at: byId("code").scrollLeft, status});
document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true}));
said.push({escaped: columns()});
line.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowUp", bubbles: true}));
said.push({above: document.activeElement.textContent});
document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
said.push({beside: document.activeElement.closest(".column").getAttribute("aria-label")});
document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true}));
const rows = () => all("#times tbody tr").map(row => Number(row.cells[0].dataset.v));
document.querySelector("#times [data-sort='0']").click();
const falling = rows();
document.querySelector("#times [data-sort='0']").click();
said.push({falling, rising: rows(), sorted: document.querySelector("#times th").ariaSort});
document.querySelector("#times tbody tr").click();
said.push({lit: columns(), dots: all("#times .dot").length});
document.querySelector("[data-view=fusion]").click();
setTimeout(() => {
  said.push({boxes: document.querySelectorAll("#fusion .step").length,
             hidden: document.getElementById("code").hidden});
  const element = document.createElement("pre");
  element.id = "said";
  element.textContent = JSON.stringify(said);
  document.body.append(element);
}, 50);
</script></body>
"""


LABELS = """
<script>
location.hash = "view=fusion";
current.steps = Array(5).fill(current.steps[0]);
current.edges = [[0, 3, "4.10 kB"], [1, 2, "62.0 kB"], [0, 4, "262 kB"],
                 [1, 3, "262 kB"], [0, 2, "1.00 MB"]];
choose("fusion");
drawFusion();
const texts = [...document.querySelectorAll("#fusion > .pictures > svg > text")];
const boxes = texts.map(text => text.getBBox());
const overlap = (a, b) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y + 2 < b.y + b.height && b.y + 2 < a.y + a.height;
const pairs = boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => overlap(a, b)));
document.title = `${boxes.length} labels, ${pairs.length} overlap`;
</script></body>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="a browser draws the page")
def test_labels_of_arrows_do_not_overlap(page: str, tmp_path: Path):
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", LABELS))
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000",
         "--dump-dom", file.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "<title>5 labels, 0 overlap</title>" in done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="a browser draws the page")
def test_a_browser_draws_the_page(page: str, function, tmp_path: Path):
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", ACTIONS))
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         "--virtual-time-budget=2000", "--window-size=2000,900", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr  # no errors, no warnings
    text = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.S)
    assert text is not None
    shown, clicked, escaped, above, beside, sorted_, row, fusion = json.loads(
        text[1].replace("&gt;", ">")
    )
    assert shown == {"shown": 6}
    assert all(n > 0 for n in clicked["clicked"])
    assert clicked["at"] == 0  # columns have been scrolled to what is lit, the page has not
    assert clicked["clicked"][0] == 1
    assert f"test_page.py:{FIRST + 2}: 1 line of source" in clicked["status"]
    assert escaped["escaped"] == [0] * 6
    assert "z = x @ w" in above["above"]
    assert beside["beside"] == "jaxpr"
    steps = list(range(len(function["steps"])))
    assert sorted_ == {"falling": steps[::-1], "rising": steps, "sorted": "ascending"}
    assert row["lit"][0] == 1  # the product's line
    assert row["dots"] > 0
    assert fusion == {"boxes": len(function["steps"]), "hidden": True}
