"""`shard_map`, `pmap` and collectives over several devices, which processes of their own have."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def _printed(program, *arguments):
    done = subprocess.run(
        [sys.executable, str(HERE / program), *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_like_jax():
    ours, theirs = _printed("on_meshes.py", "jitney"), _printed("on_meshes.py", "jax")
    wrong = [f"{a}\n  {b}" for a, b in zip(ours, theirs, strict=True) if a != b]
    assert not wrong, "\n".join(wrong)


def test_collectives():
    assert _printed("collectives_on_meshes.py") == ["done"]
