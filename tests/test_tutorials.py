"""The tutorials run: their cells, in order, raise what they announce and nothing else.

The site shows what they print (`make docs`). Where matplotlib is not installed, what they draw is not
drawn; pages that need another package are skipped without it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.M | re.S)
OPTIONS = re.compile(r"\A(?:---\n.*?---\n|(?::[^\n]*\n)*)", re.S)
NEEDED = {"optax": "optax", "sklearn": "scikit-learn"}

RUNNER = """
import importlib.util, json, linecache, sys, unittest.mock
import jitney
jitney.install_as_jax()
if importlib.util.find_spec("matplotlib") is None:
    for name in ("matplotlib", "matplotlib.pyplot"):
        sys.modules[name] = unittest.mock.MagicMock()
names, raised = {"__name__": "__main__"}, []
for i, code in enumerate(json.load(sys.stdin)):
    file = f"<cell {i}>"
    linecache.cache[file] = len(code), None, code.splitlines(keepends=True), file
    try:
        exec(compile(code, file, "exec", dont_inherit=True), names)
        raised.append("")
    except Exception as error:
        raised.append(f"{type(error).__name__}: {error}")
json.dump(raised, sys.__stderr__)
"""


def cells(text: str) -> list[tuple[str, bool]]:
    """The cells of a page without magic commands: (code, whether it announces an error)."""
    found: list[tuple[str, bool]] = []
    for cell in CELL.finditer(text):
        options = OPTIONS.match(cell[1])
        assert options is not None
        code = re.sub(r"^%.*$", "", cell[1][options.end() :], flags=re.M)
        found.append((code, "raises-exception" in options[0]))
    return found


@pytest.mark.parametrize("path", [p for p in TUTORIALS if p.stem != "index"], ids=lambda p: p.stem)
def test_cells_run(path: Path) -> None:
    text = path.read_text()
    for module, package in NEEDED.items():
        is_used = re.search(rf"^\s*(import|from) {module}\b", text, re.M)
        if is_used and importlib.util.find_spec(module) is None:
            pytest.skip(f"{package} is not installed")
    found = cells(text)
    assert found
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], input=json.dumps([code for code, _ in found]),
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    raised = json.loads(done.stderr.splitlines()[-1])
    for (code, announces), error in zip(found, raised, strict=True):
        assert bool(error) == announces, f"{error}\n{code}"


def test_every_tutorial_is_in_the_index() -> None:
    index = (ROOT / "docs" / "tutorials" / "index.md").read_text()
    for path in TUTORIALS:
        if path.stem != "index":
            assert f"]({path.name})" in index and f"\n{path.stem}\n" in index
