"""`python -m benchmarks.speed`: eight workloads beside JAX, NumPy and Numba.

    python -m benchmarks.speed --json benchmarks/speed.json
    python -m benchmarks.picture

Each workload has a process of its own, in which samples of all four are taken in turns. What is kept of
each is the median of seconds per call, and the quartiles. Numba and JAX have to be installed beside
jitney: `pip install numba jax`.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import OWN, PEER, Call, compare, load_side, select, waiter
from benchmarks.measure import batch_size, timed
from benchmarks.rivals import NUMBA, NUMPY
from benchmarks.table import about

WORKLOADS = (
    "lorenz_grad", "vmap_grad_sin", "n_body", "hmc", "sum_squared_error", "selu", "lstm", "sgd_mlp",
)  # fmt: skip
PACKAGES = (OWN, PEER, "numpy", "numba")
# Random numbers of other generators, and no results to compare.
_DRAWS = ("hmc",)
_PAUSE = 0.15  # seconds; as in `measure.Effort`


def _calls(name: str) -> dict[str, tuple[Call, Any]]:
    """The call of each package, and what waits for its result; results have been compared."""
    [case] = select([name])
    sides = [load_side(OWN), load_side(PEER)]
    calls: dict[str, tuple[Call, Any]] = {}
    results: list[Any] = []
    for side in sides:
        call = case.setup(side)
        results.append(side.jax.block_until_ready(call()))
        calls[side.name] = call, waiter(side, results[-1])
    compare(case, (sides[0], results[0]), (sides[1], results[1]))
    leaves = [np.asarray(leaf) for leaf in sides[0].jax.tree_util.tree_leaves(results[0])]
    for package, table in (("numpy", NUMPY), ("numba", NUMBA)):
        if name not in table or importlib.util.find_spec(package) is None:
            continue
        call = table[name]()
        found = call()
        if name not in _DRAWS:
            theirs = found if isinstance(found, tuple) else (found,)
            for ours, other in zip(leaves, theirs, strict=True):
                np.testing.assert_allclose(ours, other, rtol=1e-2, atol=1e-2)
        calls[package] = call, lambda out: out
    return calls


def _samples(name: str, count: int, seconds: float) -> dict[str, list[float]]:
    calls = _calls(name)
    batches = {package: batch_size(*pair, 0.01) for package, pair in calls.items()}
    samples: dict[str, list[float]] = {package: [] for package in calls}
    gc.disable()
    end = time.perf_counter() + seconds
    for taken in range(count):
        if taken >= 3 and time.perf_counter() > end:
            break
        for package, (call, wait) in calls.items():
            time.sleep(_PAUSE)
            timed(call, wait, batches[package] // 4 + 1)
            samples[package].append(timed(call, wait, batches[package]))
        gc.collect()
    return samples


def _summary(samples: list[float]) -> dict[str, float]:
    low, middle, high = statistics.quantiles(samples, n=4)
    return {"median": middle, "low": low, "high": high, "samples": len(samples)}


def main() -> None:
    """Measures, and writes the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--json", type=Path, help="a file to write; speed.json is the picture's")
    parser.add_argument("--samples", type=int, default=21, help="of each package")
    parser.add_argument("--seconds", type=float, default=25.0, help="for one workload")
    parser.add_argument("--only", help="one workload, whose samples are printed")
    options = parser.parse_args()
    if options.only:
        print(json.dumps(_samples(options.only, options.samples, options.seconds)))
        return
    if importlib.util.find_spec(PEER) is None:
        raise SystemExit(
            "benchmarks.speed: real JAX is not installed: pip install '.[bench]' numba"
        )
    if importlib.util.find_spec("numba") is None:
        print("numba is not installed, and left out: pip install numba")
    found: dict[str, Any] = {**about(len(os.sched_getaffinity(0))), "workloads": {}}
    for name in WORKLOADS:
        words = ["--only", name, "--samples", options.samples, "--seconds", options.seconds]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.speed", *map(str, words)],
            check=False, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(done.returncode)  # the process has said why
        samples = json.loads(done.stdout.splitlines()[-1])
        [case] = select([name])
        times = {package: _summary(samples[package]) for package in PACKAGES if package in samples}
        found["workloads"][name] = {"title": case.title, "seconds": times}
        print(name, {p: f"{t['median'] * 1e6:.3g} us" for p, t in times.items()}, flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
