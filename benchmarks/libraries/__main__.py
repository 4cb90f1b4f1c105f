"""`python -m benchmarks.libraries [names...]`: programs with libraries, whole processes in turns.

Real jax and this package run the same files. Times to the first result are those of processes, imports
and compilation included, this package's cache on disk empty and full; later ones of calls in a process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# What JAX takes over what this package takes, at least: later calls.
GOALS = {
    "lorenz": 1.5,
    "lorenz_gradient": 3.0,
    "eight_schools": 1.5,
    "hmc": 3.0,
    "mlp": 2.0,
    "nnx_mlp": 1.5,
    "least_squares": 3.0,
    "cnn": 1.2,
}
FIRST_GOAL = 2.0


def _run(command: list[str], environment: dict[str, str]) -> dict[str, Any]:
    started = {**environment, "PROCESS_STARTED": repr(time.time())}
    started.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their bytecode
    done = subprocess.run(command, env=started, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else "no message")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def _measured(name: str, rounds: int) -> str:
    """A row of the table."""
    script = str(HERE / f"{name}.py")
    root = str(HERE.parents[1])
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    kept = tempfile.mkdtemp()
    environment = {**os.environ, "PYTHONPATH": path}
    own = {
        **environment,
        "JITNEY_ENABLE_COMPILATION_CACHE": "1",
        "JAX_ENABLE_COMPILATION_CACHE": "1",
        "JAX_COMPILATION_CACHE_DIR": kept,
    }
    peers, fresh, again = [], [], []
    try:
        for _ in range(rounds):
            peers.append(_run([sys.executable, script], environment))
            shutil.rmtree(kept, ignore_errors=True)  # not there if nothing was kept
            fresh.append(_run([sys.executable, "-m", "jitney", script], own))
            again.append(_run([sys.executable, "-m", "jitney", script], own))
    finally:
        shutil.rmtree(kept, ignore_errors=True)

    def first(results: list[dict[str, Any]]) -> float:
        return statistics.median([r["first"] for r in results])

    def later(results: list[dict[str, Any]]) -> float:
        return statistics.median([x for r in results for x in r["later"]])

    theirs, ours = later(peers), later([*fresh, *again])
    return (
        f"| {name} | {theirs * 1e3:.3f} | {ours * 1e3:.3f} | {theirs / ours:.2f} | {GOALS[name]} | "
        f"{first(peers):.2f} | {first(fresh):.2f} | {first(peers) / first(fresh):.2f} | "
        f"{first(again):.2f} | {first(peers) / first(again):.2f} | "
        f"{peers[0]['value']:.6g} | {fresh[0]['value']:.6g} |"
    )


def main() -> None:
    """Measures the programs that are asked for, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.libraries", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(GOALS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("Milliseconds of a call, seconds to the first result; jax, jitney, ratio.\n")
    print("| program | jax | jitney | ratio | goal | first: jax | jitney | ratio | again | ratio |"
          " value: jax | jitney |")  # fmt: skip
    print("|---" * 12 + "|")
    for name in options.names:
        try:
            print(_measured(name, options.rounds), flush=True)
        except RuntimeError as error:
            print(f"| {name} | {error} |", flush=True)


if __name__ == "__main__":
    main()
