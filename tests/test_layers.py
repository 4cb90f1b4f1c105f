"""Imports run downward only: the contracts of pyproject.toml, checked by import-linter."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "jitney"
# Loaded at first use only: importing the package must stay fast.
HEAVY = ("scipy", "llvmlite", "opt_einsum", "jax")


def test_contracts():
    pytest.importorskip("importlinter")
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as f; f()",
            "--no-cache",
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def top_level_imports(tree):
    """Names of modules that a module loads when it is loaded."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.inside = (
                getattr(node, "inside", False)
                or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
            )
        if getattr(node, "inside", False):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_heavy_packages_are_imported_within_functions():
    found = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in top_level_imports(ast.parse(path.read_text()))
        if name.split(".")[0] in HEAVY
    ]
    assert not found


def test_importing_loads_neither_compiler_nor_scipy():
    script = "import sys, jitney, jitney.numpy; print(*sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not [m for m in out if m.split(".")[0] in HEAVY]
    assert "jitney.compiler.llvm.engine" not in out


STUBS = sorted(SOURCE.rglob("__init__.pyi"))
IMPORT = re.compile(r"^from jitney\S* import (\w+) as (\w+)", re.M)


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_no_module_bears_the_name_of_a_function(stub: Path):
    """Loading such a module would put it in the function's place, as an attribute of the package."""
    taken = re.findall(r"^from jitney\.[\w.]+ import \w+ as (\w+)", stub.read_text(), re.M)
    parts = [
        *stub.parent.glob("*.py"),
        *(path.parent for path in stub.parent.glob("*/__init__.py")),
    ]
    own = stub.parent.relative_to(SOURCE.parent).as_posix().replace("/", ".")
    modules = re.findall(rf"^from {own} import \w+ as (\w+)", stub.read_text(), re.M)
    assert not (set(taken) - set(modules)) & {path.stem for path in parts}


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_checkers_see_public_names(stub: Path):
    """A name that a stub imports under another one is private to checkers; it has to be assigned."""
    found = IMPORT.findall(stub.read_text())
    assert [new for old, new in found if old != new and not new.startswith("_")] == []


def test_rules_name_no_operation_by_a_string():
    """They call `primitives.calculus`, whose functions have types and can be searched for."""
    by_string = re.compile(r"registry\[\"|\bop\(\"")
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if by_string.search(path.read_text())
    }
    assert not found
