"""What `tools/bare_machine.py` runs, and where: no machine is made here."""

import subprocess
from pathlib import Path

import pytest
from tools import bare_machine

DEBIAN = """\
Types: deb
# http://snapshot.example.org/debian
URIs: http://mirror.example.org/debian
Suites: bookworm
"""
ONE_LINE = (
    "# deb http://old.example.org/debian x main\ndeb [trusted=yes] http://b.example.org/d x main"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DEBIAN, "http://mirror.example.org/debian"),
        (ONE_LINE, "http://b.example.org/d"),
        ("deb cdrom:[Debian]/ x main", bare_machine.MIRROR),
        ("", bare_machine.MIRROR),
        (None, bare_machine.MIRROR),
    ],
)
def test_mirror(monkeypatch, tmp_path, text, found):
    sources = tmp_path / "debian.sources"
    if text is not None:
        sources.write_text(text)
    monkeypatch.setattr(bare_machine, "SOURCES", (sources,))
    assert bare_machine.mirror() == found


@pytest.mark.parametrize(
    ("text", "is_debian"),
    [('PRETTY_NAME="Debian"\nID=debian\n', True), ("ID=ubuntu\nID_LIKE=debian\n", False),
     (None, False)],
)  # fmt: skip
def test_systems_made_from_debian_are_others(monkeypatch, tmp_path, text, is_debian):
    release = tmp_path / "os-release"
    if text is not None:
        release.write_text(text)
    monkeypatch.setattr(bare_machine, "OS_RELEASE", release)
    assert bare_machine._is_debian() == is_debian


def test_all_commands_run_whatever_the_first_says(monkeypatch):
    """The first failure decides the status, without keeping the tests from being run."""
    ran = []

    def run(*words):
        if words[0] == "sh":  # whether a compiler is there
            return 1
        ran.append(words)
        return {"packages-sample": 7, "last": 3}.get(words[-1], 0)

    monkeypatch.setattr(bare_machine, "run", run)
    for name in ("obstacle", "make_machine", "share_network", "copy_project"):
        monkeypatch.setattr(bare_machine, name, lambda: None)
    assert bare_machine.main(["tour", "packages-sample", "test -k jit", "last"]) == 7
    tails = [words[2:] for words in ran]
    assert tails == [("tour",), ("packages-sample",), ("test", "-k", "jit"), ("last",)]


@pytest.mark.parametrize(("variable", "status"), [("true", 1), ("", 4)])
def test_without_a_bare_machine(monkeypatch, capfd, variable, status):
    """The commands run on this machine; where a bare one must be, nothing does, which fails."""
    ran = []

    def run(command, **_):
        ran.append(command[1:])
        return subprocess.CompletedProcess(command, 4)

    monkeypatch.setenv("CI", variable)
    monkeypatch.setattr(bare_machine, "obstacle", lambda: "it takes root on Linux")
    monkeypatch.setattr(bare_machine.subprocess, "run", run)
    assert bare_machine.main(["tour", "test-live"]) == status
    said = capfd.readouterr().out
    assert "it takes root on Linux" in said
    assert ("NOT RUN" in said) == (variable == "true") == (not ran)
    if not variable:
        assert ran == [["tools/run.py", "tour"], ["tools/run.py", "test-live"]]


def test_environments_stay_and_files_are_those_of_git(monkeypatch, tmp_path):
    root, machine = tmp_path / "root", tmp_path / "machine"
    project = machine / "project"
    for folder in (".venv/bin", ".venv-packages/bin", "src"):
        (project / folder).mkdir(parents=True)
    for name in (
        ".venv/.test",
        ".venv/bin/python",
        ".venv-packages/bin/python",
        "src/old.py",
        "old",
    ):
        (project / name).touch()
    (root / "src").mkdir(parents=True)
    for name in ("src/new.py", "unknown", "new"):
        (root / name).touch()
    listed = "src/new.py\0new\0deleted\0"
    monkeypatch.setattr(bare_machine, "ROOT", root)
    monkeypatch.setattr(bare_machine, "MACHINE", machine)
    monkeypatch.setattr(
        bare_machine.subprocess, "run", lambda x, **_: subprocess.CompletedProcess(x, 0, listed)
    )
    bare_machine.copy_project()
    found = {path.relative_to(project) for path in project.rglob("*") if path.is_file()}
    kept = {".venv/bin/python", ".venv-packages/bin/python"}
    assert found == {*map(Path, kept), Path("src/new.py"), Path("new")}
