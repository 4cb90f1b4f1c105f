"""`shard_map`, `pmap` and collectives over several devices, which processes of their own have."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def _started(program, *arguments):
    return subprocess.Popen(
        [sys.executable, str(HERE / program), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _printed(process):
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out.splitlines()


@pytest.mark.parametrize("program", ["on_meshes.py", "sums_on_meshes.py", "placements_on_meshes.py"])
def test_like_jax(program):
    both = [_started(program, package) for package in ("jitney", "jax")]
    ours, theirs = [_printed(process) for process in both]
    wrong = [f"{a}\n  {b}" for a, b in zip(ours, theirs, strict=True) if a != b]
    assert not wrong, "\n".join(wrong)


def test_collectives():
    assert _printed(_started("collectives_on_meshes.py")) == ["done"]
