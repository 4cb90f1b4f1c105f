"""What `jitney simulate` says beside what is measured, for 1 to 8 processes.

    python -m benchmarks.simulated

For each number of processes the rates are measured first (`jitney measure`), all processes at work, so
that those that share cores count as slow ones; then the programs of `process_programs.py` are run, and
simulated by these rates. Processes have one thread each.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("process_programs.py")
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def _output(*command: str) -> str:
    environment = {
        **os.environ, "JITNEY_NUM_THREADS": "1", "JAX_NUM_CPU_DEVICES": "1",
        "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
    }  # fmt: skip
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "XLA_FLAGS"):
        environment.pop(name, None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _simulated(n: int, rates: list[str]) -> dict[str, float]:
    """Seconds of each program on n devices, as estimated."""
    command = ["simulate", "--mesh", str(n), *rates, str(PROGRAM), "lower"]
    text = _output(sys.executable, "-m", "jitney", *command)
    found = re.findall(r"^(\w+) over .*\n  time +([\d.e+-]+) (\w+):", text, flags=re.M)
    return {name: float(number) * _UNITS[unit] for name, number, unit in found}


def main() -> None:
    """Prints a table."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        raise SystemExit("MPI is not installed (pip install '.[mpi]')")
    print(f"{'program':15} {'processes':>9} {'measured':>10} {'simulated':>10} {'ratio':>6}")
    for n in (1, 2, 4, 8):
        processes = [mpiexec, "-n", str(n), sys.executable, "-m", "jitney"]
        rates = _output(*processes, "measure").split()
        simulated = _simulated(n, rates)
        for line in _output(*processes, str(PROGRAM), "run").splitlines():
            name, seconds = line.split()
            measured, estimate = float(seconds), simulated[name]
            print(
                f"{name:15} {n:9} {1e3 * measured:7.2f} ms {1e3 * estimate:7.2f} ms "
                f"{estimate / measured:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
