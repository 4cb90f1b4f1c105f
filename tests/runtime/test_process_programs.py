"""Programs over several processes, by `mpiexec` on this machine."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "process_scripts"
MPIEXEC = shutil.which(
    "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        MPIEXEC is None or importlib.util.find_spec("mpi4py") is None,
        reason="MPI is not installed (pip install .[mpi])",
    ),
]


@pytest.mark.parametrize(
    ("script", "n", "devices"),
    [("collectives", 2, 1), ("collectives", 3, 1), ("collectives", 4, 1), ("programs", 2, 2),
     ("programs", 3, 1), ("programs", 4, 2), ("utilities", 2, 2), ("utilities", 3, 1)],
)  # fmt: skip
def test_processes(script, n, devices):
    assert MPIEXEC is not None
    environment = dict(
        os.environ, PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{ROOT}", JAX_NUM_CPU_DEVICES=str(devices),
        JITNEY_NUM_THREADS="1",
    )  # fmt: skip
    environment.pop("XLA_FLAGS", None)
    run = subprocess.run(
        [MPIEXEC, "-n", str(n), sys.executable, str(SCRIPTS / f"{script}.py")],
        env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout == "ok\n"
