"""Ten thousand programs over eight devices, from four threads: none hangs, errors are heard."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "stress_on_devices.py"


@pytest.mark.slow  # starts a process that runs ten thousand programs
def test_ten_thousand_runs_without_a_hang():
    environment = dict(os.environ, JITNEY_NUM_THREADS="2")
    environment.pop("JAX_NUM_CPU_DEVICES", None)
    run = subprocess.run(
        [sys.executable, str(PROGRAM), "10000"],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout == "ok\n"
