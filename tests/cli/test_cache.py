"""`jitney cache`: what the folder of compiled programs holds, and why programs are not in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jitney.cli import cache, command
from jitney.core.settings import config
from jitney.runtime.native import _loader


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A directory of programs: one of this machine, one of another."""
    if not _loader.can_load_code():
        pytest.skip("no loader for this system")
    monkeypatch.setattr(config.enable_compilation_cache, "global_value", True)
    monkeypatch.setattr(config.compilation_cache_dir, "global_value", str(tmp_path))
    from jitney.runtime.cache import disk_cache

    place = disk_cache.directory()
    for folder in (place, str(tmp_path / "jitney-0123456789abcdef")):
        os.mkdir(folder, 0o700)
        for name in ("a.program", "b.object"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(bytes(10_000))
    return tmp_path


def test_cache_is_listed_and_measured(kept, capsys):
    assert command.main(["cache"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{kept}\n")
    assert out.count("1 program ") == 2
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


WHY = """
import jax, jax.numpy as jnp, numpy as np
shape = jax.ShapeDtypeStruct((), jnp.float32)
plain = jax.jit(lambda x: jnp.sin(x) + 1)
calling = jax.jit(lambda x: jax.pure_callback(np.sin, shape, x))
plain(1.0), calling(1.0), jax.jit(jnp.cosh)(1.0), jnp.sort(jnp.ones(3))
"""


def test_cache_says_why_programs_are_not_found(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(WHY)
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "JAX_ENABLE_COMPILATION_CACHE": "1"}
    environment["JITNEY_ENABLE_COMPILATION_CACHE"] = "1"
    environment["JAX_COMPILATION_CACHE_DIR"] = str(tmp_path / "cache")
    said = [
        subprocess.run(
            [sys.executable, "-m", "jitney", "cache", "why", str(program)], env=environment,
            capture_output=True, text=True, check=True,
        ).stdout.strip().splitlines()
        for _ in range(2)
    ]  # fmt: skip
    calls = "<lambda>: compiled, but not stored: it calls Python"
    new, old = "not found: compiled and stored", "found in the cache"
    assert said[0] == [f"<lambda>: {new}", calls, f"cosh: {new}"]
    assert said[1] == [f"<lambda>: {old}", calls, f"cosh: {old}"]


def test_cache_says_that_this_system_has_none(capsys, monkeypatch):
    monkeypatch.setattr(config.enable_compilation_cache, "global_value", True)
    monkeypatch.setattr(_loader, "can_load_code", lambda: False)
    assert cache.main(["why"]) == 1
    assert "only on Linux on x86-64" in capsys.readouterr().out


@pytest.mark.skipif(not _loader.can_load_code(), reason="no loader for this system")
def test_cache_says_that_its_folder_cannot_be_made(capsys, monkeypatch):
    monkeypatch.setattr(config.enable_compilation_cache, "global_value", True)
    monkeypatch.setattr(config.compilation_cache_dir, "global_value", "/proc/none")
    assert cache.main(["why"]) == 1
    assert "/proc: not writable" in capsys.readouterr().out


def test_help(capsys):
    assert command.main(["cache", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: jitney cache")
    assert command.main(["cache", "what"]) == 2
    assert "usage: jitney cache" in capsys.readouterr().err


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
