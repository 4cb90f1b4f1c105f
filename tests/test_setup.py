"""How the package is built and its environments are made: `tools/build_backend.py`, `tools/run.py`."""

import importlib.util
import os
import re
import runpy
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"


def _load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("LDSHARED", raising=False)
    pytest.importorskip("setuptools")
    module = _load("build_backend")
    # What setuptools asks for takes setup.py, which takes what is there when the package is built.
    for name in ("get_requires_for_build_wheel", "get_requires_for_build_editable"):
        monkeypatch.setattr(module.setuptools_backend, name, lambda *_: ["Cython"])
    return module


def test_a_compiler_is_asked_for_where_there_is_none(backend, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert backend.compiler() is None
    assert backend.get_requires_for_build_wheel()[-1] == backend.ZIG
    assert backend.get_requires_for_build_editable()[-1] == backend.ZIG
    # monkeypatch puts back what is set here.
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("LDSHARED", "")
    monkeypatch.delenv("LDSHARED")
    backend._choose_compiler()
    for variable in ("CC", "LDSHARED"):
        assert f"{sys.executable} -m ziglang cc" in backend.os.environ[variable]


@pytest.mark.parametrize("name", ["cc", "gcc", "clang", "that-built-python"])
def test_the_compiler_of_the_machine_is_taken(backend, monkeypatch, tmp_path, name):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: "that-built-python -pthread")
    (tmp_path / name).write_text("")
    (tmp_path / name).chmod(0o755)
    assert backend.compiler().split()[0] == name
    assert backend.ZIG not in backend.get_requires_for_build_wheel()
    monkeypatch.setenv("CC", "mine -x")
    assert backend.compiler() == "mine -x"


@pytest.fixture
def tree_with_modules(monkeypatch, tmp_path):
    """A source tree with empty files for native code and for the modules that it is compiled to."""
    monkeypatch.chdir(tmp_path)
    folders = ("src/jitney/runtime/native", "src/jitney/core/pytree", "src/jitney/core")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    names = ("_native", "_factorize", "_fourier", "_convolve", "_loader", "_multiply")
    places = dict.fromkeys(names, folders[0]) | {"_walks": folders[1], "_contexts": folders[2]}
    for folder in folders:
        Path(folder).mkdir(parents=True, exist_ok=True)
    sources = [Path(folder) / f"{name}.pyx" for name, folder in places.items()]
    for source in [*sources, Path("setup.py"), Path("pyproject.toml"), Path(folders[0]) / "a.h"]:
        source.touch()
        os.utime(source, (1000, 1000))
    for source in sources:
        source.with_suffix(suffix).touch()
    return tmp_path


def test_environments_share_what_is_compiled(tree_with_modules, monkeypatch):
    setuptools = pytest.importorskip("setuptools")
    installed = []
    monkeypatch.setattr(setuptools, "setup", lambda **options: installed.append(options))
    monkeypatch.setattr(sys, "argv", ["setup.py", "editable_wheel"])
    script = runpy.run_path(str(TOOLS.parent / "setup.py"))
    assert installed[0]["ext_modules"] == []
    assert script["is_built"]()
    header = Path("src/jitney/runtime/native/a.h")
    os.utime(header, (4e9, 4e9))
    assert not script["is_built"]()
    os.utime(header, (1000, 1000))
    next(Path("src/jitney/core/pytree").glob("_walks*.so")).unlink()
    assert not script["is_built"]()


def test_oldest_versions_are_those_of_the_metadata():
    bounds = _load("run").lower_bounds()
    assert [b for b in bounds if not re.fullmatch(r"\w+==[\d.]+", b)] == []
    assert "numpy==2.0" in bounds


@pytest.mark.parametrize(
    ("arguments", "venv", "program"),
    [
        (["wheels", "--help"], ".venv", ["python", "-m", "tools.wheels", "--help"]),
        (["fuzz", "--help"], ".venv", ["python", "-m", "tests.fuzz.differential", "run", "--help"]),
        (["packages", "quax", "pgx"], ".venv", ["python", "tools/package_programs.py", "quax", "pgx"]),
        (["--oldest", "pictures", "--venv", "x"], ".venv-oldest",
         ["python", "-m", "tools.pictures", "--venv", "x"]),
        (["--venv", "mine", "tour"], "mine", ["jitney", "tour"]),
    ],
)  # fmt: skip
def test_what_follows_a_command_is_its_programs(monkeypatch, tmp_path, arguments, venv, program):
    run, ran = _load("run"), []
    monkeypatch.setattr(run, "prepare", lambda folder, *_: tmp_path / folder.name)

    def record(command, **_):
        ran.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(run.subprocess, "run", record)
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    assert run.main() == 0
    assert ran == [[str(tmp_path / venv / program[0]), *program[1:]]]


def test_help_before_a_command_is_of_all(monkeypatch, capsys):
    run = _load("run")
    monkeypatch.setattr(sys, "argv", ["run.py", "--help"])
    with pytest.raises(SystemExit, match="0"):
        run.main()
    told = capsys.readouterr().out
    assert all(f"tools/run.py {name} " in told for name in run.COMMANDS)
