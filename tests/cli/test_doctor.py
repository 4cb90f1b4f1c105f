"""`jitney doctor`: what is wrong, if anything is."""

import os

from jitney import install
from jitney.cli import as_jax, command, doctor


def test_doctor_finds_nothing_wrong(capsys, monkeypatch):
    for name in [x for x in os.environ if x.startswith(("JAX_", "JITNEY_"))]:
        monkeypatch.delenv(name)
    assert command.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("\nNothing is wrong.\n")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line)
    assert lines["compiler"].startswith("LLVM ")
    assert out.count("test: ") == 6


def test_doctor_names_settings_that_there_are_not(capsys, monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X46", "1")
    monkeypatch.setenv("JAX_DEBUG_NANS", "0")
    assert command.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "Wrong: JAX_ENABLE_X46 is set, but is not a known setting; did you mean " in out
    assert "JAX_DEBUG_NANS=0" in out


def test_doctor_knows_jitney_by_the_name_of_jax(capsys, monkeypatch):
    monkeypatch.setattr(install, "is_installed", lambda: False)
    monkeypatch.setattr(as_jax, "installed", lambda name: ("0.10.2", True))
    assert dict(doctor._import_of_jax([]))["import jax"].startswith("jitney, by `jitney as-jax")


def test_doctor_says_which_test_fails(capsys, monkeypatch):
    def broken(function, operand):
        raise MemoryError("no room")

    monkeypatch.setattr(doctor, "_timed", broken)
    assert doctor.main([]) == 1
    assert "Wrong: the test of a loop raises MemoryError: no room" in capsys.readouterr().out


def test_help(capsys):
    assert command.main(["doctor", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: jitney doctor")
    assert command.main(["doctor", "what"]) == 2
    assert "usage: jitney doctor" in capsys.readouterr().err
