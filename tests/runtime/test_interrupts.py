"""Ctrl-C and other signals end programs that run, however they are compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("interrupted.py")
LATEST = 10.0  # seconds: a tenth of one on a quiet machine; not interrupted, they take minutes


@pytest.mark.slow  # runs programs that are interrupted at many times
@pytest.mark.parametrize("threads", [1, 3])
def test_programs_are_stopped(threads, tmp_path):
    """Compiled, and then as they are found on disk."""
    environment = {
        **os.environ,
        "JITNEY_NUM_THREADS": str(threads),
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JITNEY_ENABLE_COMPILATION_CACHE": "1",
        "JAX_ENABLE_COMPILATION_CACHE": "1",
    }
    for _ in range(2 if threads > 1 else 1):
        done = subprocess.run(
            [sys.executable, str(SCRIPT)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        late = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
        assert len(late) == 15, done.stdout
        slow = {name: x for name, x in late.items() if x == "finished" or float(x) > LATEST}
        assert not slow, done.stdout
