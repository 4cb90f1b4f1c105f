"""Modules whose execution was interrupted can be imported again, and declare what they did before."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jitney.core.tracing.primitive import declare
from jitney.core.util.declarations import Table

SCRIPT = Path(__file__).with_name("interrupted_imports.py")

table: Table[int] = Table("number")

SOURCE = """
import math

from jitney.core.tracing import primitive
from jitney.core.pytree import registry
from {module} import table

table.declare("once", len(table.tries))
primitive.registry["sin"].set_rule("{slot}", lambda *_: None)
registry.register_pytree_node(type(math), lambda x: ((), x), lambda x, _: x)
table.tries.append(0)
if len(table.tries) < 3:
    raise KeyboardInterrupt
{again}
"""


@pytest.mark.parametrize("again", ["", "table.declare('once', 5)"])
def test_a_module_replaces_its_own_entries(again: str, tmp_path: Path, monkeypatch: Any) -> None:
    """But those of its present execution are declared once."""
    from jitney.core.pytree import registry
    from jitney.core.tracing import primitive

    tables: Any = type(sys)("tables_of_test")
    tables.table = Table("number")
    tables.table.tries = []
    monkeypatch.setitem(sys.modules, "tables_of_test", tables)
    sin = primitive.registry["sin"]
    kinds = dict(registry.KINDS)
    monkeypatch.setattr(sin, "rules", {k: v for k, v in sin.rules.items() if k != "dce"})
    (tmp_path / "declares.py").write_text(
        SOURCE.format(module="tables_of_test", slot="dce", again=again)
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                importlib.import_module("declares")
        if again:
            with pytest.raises(ValueError, match="number 'once' is already declared"):
                importlib.import_module("declares")
        else:
            importlib.import_module("declares")
        assert tables.table["once"] == 2
    finally:
        sys.modules.pop("declares", None)
        for kind in registry.KINDS.keys() - kinds.keys():
            del registry.KINDS[kind]
        sin._executions.pop("dce", None)


def test_names_are_declared_once() -> None:
    table.declare("first", 1)
    with pytest.raises(ValueError, match="number 'first' is already declared"):
        table.declare("first", 2)
    with pytest.raises(ValueError, match="primitive 'sin' is already declared"):
        declare("sin")


@pytest.mark.slow  # loads each module of the package twice
def test_every_module_can_be_interrupted() -> None:
    """Each is at its last line, when all that it declares is declared, and is imported again."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "last"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 600, done.stdout
