"""Running scripts in several processes, by `mpiexec` on this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "tests" / "runtime" / "process_scripts"
MPIEXEC = shutil.which(
    "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
)
NEEDS_MPI = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None,
    reason="MPI is not installed (pip install .[mpi])",
)


def run(
    n: int,
    *command: str,
    devices: int = 1,
    options: Sequence[str] = (),
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """What `python *command` writes in `n` processes of `devices` each, by mpiexec with `options`."""
    assert MPIEXEC is not None
    environment = dict(
        os.environ, PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{ROOT}", JAX_NUM_CPU_DEVICES=str(devices),
        JITNEY_NUM_THREADS="1", **variables,
    )  # fmt: skip
    environment.pop("XLA_FLAGS", None)
    return subprocess.run(
        [MPIEXEC, *options, "-n", str(n), sys.executable, *command],
        env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
