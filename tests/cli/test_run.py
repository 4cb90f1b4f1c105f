"""`python -m jitney` runs programs as `python` does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import importlib
import sys
import jax
import jax.tree_util as tree_util
from jax.tree_util import Partial
import jitney.tree_util

assert tree_util is jitney.tree_util is jax.tree_util
assert tree_util.__spec__.name == "jitney.tree_util"
assert jax.__version__ == "0.12.0.1" and sys.modules["__main__"].__dict__ is globals()
for name in ("compiler", "primitives", "runtime", "transforms", "api"):
    try:
        importlib.import_module("jax." + name)
    except ModuleNotFoundError as error:
        assert error.name == "jax." + name
    else:
        raise AssertionError(name)
    assert not hasattr(jax, name) and name not in dir(jax)
assert jax._src.core.Tracer is jax.core.Tracer and not jax.lib.__all__
print(__name__, sys.argv, sys.path[0], __file__)
if len(sys.argv) > 1:
    sys.exit(int(sys.argv[1]))
def fail():
    raise ValueError("on purpose")
fail()
"""


def run(
    folder: Path, *words: str, command: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    src = str(Path(__file__).parents[2] / "src")
    env = {**os.environ, "PYTHONPATH": src}
    return subprocess.run(
        [sys.executable, *command, *words], cwd=folder, env=env, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text("x = (\n")
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import sys; print(sys.argv[1:], __package__, __name__); 1/0"
    )
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("program.py", "3"), ("program.py",), ("wrong.py",), ("-c", "print(__name__); 1/0"),
        ("-c", "import sys; print(sys.argv, sys.path[0] == ''); sys.exit('bye')", "a"),
        ("package", "x"), ("-m", "package", "x"), ("-m", "program", "0"), ("-m", "nowhere"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_like_python(folder: Path, words: tuple[str, ...]) -> None:
    ours = run(folder, *words, command=("-m", "jitney"))
    # Plain python with the hook installed before the program is the standard.
    (folder / "sitecustomize.py").write_text(
        "from jitney.install import install_as_jax; install_as_jax()"
    )
    src = str(Path(__file__).parents[2] / "src")
    theirs = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), src])},
    )  # fmt: skip
    assert ours.returncode == theirs.returncode
    assert ours.stdout == theirs.stdout
    lines = [x for x in theirs.stderr.splitlines() if "<frozen runpy>" not in x]
    assert ours.stderr.splitlines() == lines


@pytest.mark.parametrize("word", ["-c", "-"])
def test_messages_name_expressions_of_texts(folder: Path, word: str) -> None:
    program = "import jax.numpy as jnp\nrows = jnp.ones((2, 3))\n" + "rows @ rows\n"
    command = [sys.executable, "-m", "jitney", word, *[program] * (word == "-c")]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, input=program, timeout=60
    )
    assert "TypeError: rows @ rows: axis 1 of the left operand" in done.stderr


def test_code_of_exec_is_no_part_of_the_text(folder: Path) -> None:
    inner = "import jax.numpy as jnp\njnp.ones((2, 3)) @ jnp.ones((2, 3))"
    program = f"code = {inner!r}\nfirst = second = third = (1, 2, 3, 4)\nexec(code)"
    done = run(folder, "-c", program, command=("-m", "jitney"))
    assert "TypeError: dot_general: axis 1 of the left operand" in done.stderr


def test_command(folder: Path) -> None:
    command = ("-m", "jitney")
    assert run(folder, "--version", command=command).stdout.startswith("jitney ")
    assert "usage: jitney" in run(folder, "--help", command=command).stdout
    assert run(folder, "-m", command=command).returncode == 2
    assert run(folder, "nowhere.py", command=command).returncode == 2
    assert run(folder, "--nonsense", command=command).returncode == 2


def test_refuses_a_second_jax(folder: Path) -> None:
    (folder / "jax.py").write_text("")
    code = "import jax\nfrom jitney.install import install_as_jax\ninstall_as_jax()"
    out = run(folder, "-c", code)
    assert "RuntimeError: install_as_jax: another jax has already been imported" in out.stderr


def test_submodules_are_imported_when_they_are_used(folder: Path) -> None:
    code = "import jax, sys; jax.tree_util; print('jax.tree_util' in sys.modules)"
    assert run(folder, "-c", code, command=("-m", "jitney")).stdout == "True\n"


def test_the_garbage_collector_looks_less_often(folder: Path) -> None:
    program = "import gc; print(gc.get_threshold(), gc.isenabled())"
    default = run(folder, "-c", program).stdout
    young = int(default[1:].split(",")[0])
    done = run(folder, "-m", "jitney", "-c", program)
    assert done.stdout == default.replace(f"({young},", f"({max(young, 2000)},"), done.stderr
