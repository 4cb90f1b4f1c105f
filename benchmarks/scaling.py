"""The heat equation over one and two devices, and over two processes, in turns.

    python -m benchmarks.scaling

Devices have one thread each, and so have processes. Ratios are those of neighbouring runs, for the
machine does not stay as fast as it is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("heat.py")
# Two devices over one, and two processes over two devices.
SPEEDUP_GOAL, PROCESSES_GOAL = 1.8, 1.15


def _milliseconds(command: list[str], devices: int, *counts: int) -> list[float]:
    """Of a step over each number of devices, by processes that have so many."""
    environment = {
        **os.environ, "JITNEY_NUM_THREADS": str(devices), "JAX_NUM_CPU_DEVICES": str(devices),
        "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
    }  # fmt: skip
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "XLA_FLAGS"):
        environment.pop(name, None)
    command = [*command, "-m", "jitney", str(PROGRAM), *map(str, counts)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return [float(line.split()[1]) for line in done.stdout.splitlines()]


def main() -> None:
    """Prints a line for each round, and the medians."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling")
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if mpiexec is None:
        raise SystemExit("MPI is not installed (pip install '.[mpi]')")
    speedups, over_devices = [], []
    print("milliseconds of a step: 1 device, 2 devices, 2 processes")
    for _ in range(rounds):
        one, two = _milliseconds([sys.executable], 2, 1, 2)
        (processes,) = _milliseconds([mpiexec, "-n", "2", sys.executable], 1, 2)
        speedups.append(one / two)
        over_devices.append(processes / two)
        print(f"{one:.2f} {two:.2f} {processes:.2f}", flush=True)
    speedup, over = statistics.median(speedups), statistics.median(over_devices)
    print(f"two devices: {speedup:.2f} times as fast as one (at least {SPEEDUP_GOAL})")
    print(f"two processes: {over:.2f} of the time of two devices (at most {PROCESSES_GOAL})")


if __name__ == "__main__":
    main()
