"""`jitney as-jax`: environments in which `import jax` gives jitney."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import jitney
from jitney.cli import as_jax
from jitney.version import __version__ as jax_version

SOURCE = Path(jitney.__file__).parent.parent
PROGRAM = """\
import importlib.metadata
import jax, jaxlib
import jax.numpy as jnp
from jax.experimental import ode
import jitney
print(jax.__version__, jaxlib.__version__, importlib.metadata.version("jax"))
print(jnp is jitney.numpy, jax.jit(lambda x: x + 1)(jnp.ones(2)))
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A folder with the files of both wheels, as pip unpacks them."""
    for wheel in as_jax.make_wheels(tmp_path):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path / "site")
    return tmp_path / "site"


def _run(environment: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(environment), str(SOURCE)])
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_programs_need_no_launcher(environment: Path):
    done = _run(environment, "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{jax_version} {jax_version} {jax_version}\nTrue [2. 2.]\n"


def test_the_launcher_works_as_well(environment: Path, tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = _run(environment, "-m", "jitney", str(tmp_path / "program.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("True [2. 2.]\n")


def test_stubs_lead_to_modules_that_there_are(environment: Path):
    stubs = sorted((environment / "jax").rglob("*.pyi"))
    modules = [stub.read_text().split()[1] for stub in stubs if stub.read_text()]
    assert {"jitney", "jitney.numpy", "jitney.scipy.stats", "jitney.experimental.ode"} <= {*modules}
    assert not [
        name for name in modules if name.split(".")[1:2] in (["core"], ["compiler"], ["_src"])
    ]
    for name in modules:
        assert importlib.util.find_spec(name) is not None, name


def test_records_are_complete(tmp_path: Path):
    for wheel in as_jax.make_wheels(tmp_path):
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            (record,) = [name for name in names if name.endswith("/RECORD")]
            lines = archive.read(record).decode().splitlines()
        assert sorted(line.split(",")[0] for line in lines) == sorted(names)


class _Other:
    """Real jax, as its metadata tell."""

    version = "0.9.9"

    def read_text(self, name: str) -> str | None:
        return None


def test_real_jax_stays(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: _Other())
    monkeypatch.setattr(as_jax, "_pip", lambda *words: pytest.fail("pip was called"))
    assert as_jax.main(["install"]) == 1
    assert "jax 0.9.9 is installed in this environment" in capsys.readouterr().err
    assert as_jax.main(["remove"]) == 1
    assert as_jax.main([]) == 0
    assert capsys.readouterr().out == "jax: 0.9.9\njaxlib: 0.9.9\n"


def test_usage(capsys: pytest.CaptureFixture[str]):
    assert as_jax.main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: jitney as-jax")
    assert as_jax.main(["replace"]) == 2


def test_without_jitney_the_stub_says_what_to_do(tmp_path):
    (tmp_path / "jax.py").write_text(as_jax._JAX)
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import jax"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "Run: pip uninstall jax jaxlib; then, for real JAX: pip install jax" in done.stderr


@pytest.fixture
def pip(monkeypatch):
    """The calls of pip, with the names of the wheels that exist; they have the exit code `pip.code`."""

    def call(*words: str) -> int:
        wheels = [
            Path(word).name for word in words if word.endswith(".whl") and Path(word).exists()
        ]
        call.calls.append((words[0], *(wheels or words[1:])))
        return call.code

    call.calls, call.code = [], 0
    monkeypatch.setattr(as_jax, "_pip", call)
    return call


def test_installed_and_removed(pip, monkeypatch, capsys):
    monkeypatch.setattr(as_jax, "installed", lambda name: (None, False))
    assert as_jax.main(["install"]) == 0
    command, *wheels = pip.calls.pop()
    assert command == "install"
    assert [wheel.split("-")[0] for wheel in wheels] == ["jax", "jaxlib"]
    assert "`import jax` imports jitney" in capsys.readouterr().out
    assert as_jax.main(["remove"]) == 1
    assert "jitney is not installed under the name jax" in capsys.readouterr().err

    monkeypatch.setattr(as_jax, "installed", lambda name: (jax_version, True))
    assert as_jax.main(["status"]) == 0
    assert capsys.readouterr().out.count("of jitney") == 2
    assert as_jax.main(["remove"]) == 0
    assert pip.calls == [("uninstall", "--yes", "jax", "jaxlib")]
    assert "no longer imports jitney" in capsys.readouterr().out


def test_failures_of_pip_are_exit_codes(pip, monkeypatch, capsys):
    pip.code = 3
    monkeypatch.setattr(as_jax, "installed", lambda name: (jax_version, True))
    assert as_jax.main(["install"]) == 3
    assert as_jax.main(["remove"]) == 3
    assert capsys.readouterr().out == ""


def test_real_jax_is_left_alone(pip, monkeypatch, capsys):
    monkeypatch.setattr(as_jax, "installed", lambda name: ("0.10.2", False))
    assert as_jax.main(["install"]) == 1
    assert pip.calls == []
    assert "jax 0.10.2 is installed in this environment" in capsys.readouterr().err


def test_environments_without_pip(monkeypatch, capsys):
    monkeypatch.setattr(as_jax.importlib.util, "find_spec", lambda name: None)
    assert as_jax._pip("install") == 1
    assert "python -m ensurepip" in capsys.readouterr().err
