"""`jitney doctor` and `jitney cache`."""

import os

import pytest

from jitney.cli import cache, command, doctor
from jitney.core import config


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A directory of programs: one of this machine, one of another."""
    monkeypatch.setattr(config.enable_compilation_cache, "global_value", True)
    monkeypatch.setattr(config.compilation_cache_dir, "global_value", str(tmp_path))
    from jitney.runtime import disk_cache

    place = disk_cache.directory()
    for folder in (place, str(tmp_path / "jitney-0123456789abcdef")):
        os.mkdir(folder, 0o700)
        for name in ("a.program", "b.object"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(bytes(10_000))
    return tmp_path


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
    assert "Wrong: JAX_ENABLE_X46 is set, but there is no such setting; did you mean " in out
    assert "JAX_DEBUG_NANS=0" in out


def test_doctor_says_which_test_fails(capsys, monkeypatch):
    def broken(function, operand):
        raise MemoryError("no room")

    monkeypatch.setattr(doctor, "_timed", broken)
    assert doctor.main([]) == 1
    assert "Wrong: the test of a loop raises MemoryError: no room" in capsys.readouterr().out


def test_cache_is_listed_and_measured(kept, capsys):
    assert command.main(["cache"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{kept}\n")
    assert out.count("1 programs") == 2
    assert out.count("this machine") == out.count("another machine or version") == 1
    assert cache.main(["size"]) == 0
    assert capsys.readouterr().out == "49.2 kB of at most 1.07 GB\n"


def test_cache_is_cleared(kept, capsys):
    assert cache.main(["clear", "--others"]) == 0
    assert capsys.readouterr().out == "24.6 kB freed\n"
    assert len([x for x in kept.iterdir() if x.is_dir()]) == 1
    assert cache.main(["clear"]) == 0
    assert not [x for x in kept.iterdir() if x.is_dir()]
    assert cache.main(["list"]) == 0
    assert "empty" in capsys.readouterr().out


def test_cache_says_why_it_is_not_used(kept, capsys, monkeypatch):
    assert cache.main(["why"]) == 0
    kept.chmod(0o777)
    assert cache.main(["why"]) == 1
    assert "group or others may write to it" in capsys.readouterr().out
    monkeypatch.setattr(config.enable_compilation_cache, "global_value", False)
    assert cache.main(["why"]) == 1
    assert "jax_enable_compilation_cache is off" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["doctor", "cache"])
def test_help(name, capsys):
    assert command.main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: jitney {name}")
    assert command.main([name, "what"]) == 2
    assert f"usage: jitney {name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1234, "1.23 kB"),
        (10**9, "1 GB"),
        (5 * 10**12, "5e+03 GB"),
    ],
)
def test_sizes_have_three_digits(nbytes, text):
    assert cache.shown(nbytes) == text
