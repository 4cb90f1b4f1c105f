"""Taking the time: warm calls in turns in one process, first calls in processes of their own."""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import OWN, Call, Case, compare, is_available, load_side, waiter


@dataclass
class Effort:
    """How long to measure.

    Attributes:
      samples: largest number of samples of each side.
      seconds: time for one case's samples, both sides together; at least 3 samples are taken.
      batch: seconds that one sample should last; short calls are repeated within it.
      processes: fresh processes of each side.
      pause: seconds before each sample, until the other side's threads, which look out for more work
        for a while (those of OpenBLAS for a tenth of a second), have gone to sleep.
    """

    samples: int = 31
    seconds: float = 10.0
    batch: float = 0.01
    processes: int = 9
    pause: float = 0.15


QUICK = Effort(samples=9, seconds=3.0, batch=0.005, processes=3)


@dataclass
class Result:
    """What was measured of one case: seconds per call of each sample, by side, or why there is none."""

    name: str
    samples: dict[str, list[float]] = field(default_factory=dict)
    error: str = ""

    def median(self, package: str) -> float | None:
        """Median seconds per call of one side; None if it was not measured."""
        values = self.samples.get(package)
        return statistics.median(values) if values else None

    def spread(self, package: str) -> float:
        """Half the distance between the quartiles, relative to the median: how noisy it was."""
        values = sorted(self.samples.get(package, []))
        if len(values) < 3:
            return 0.0
        low, middle, high = statistics.quantiles(values, n=4)
        return (high - low) / 2 / middle

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def timed(call: Call, wait: Callable[[Any], Any], count: int) -> float:
    """Seconds per call over `count` calls, each waited for."""
    start = time.perf_counter()
    for _ in repeat(None, count):
        wait(call())
    return (time.perf_counter() - start) / count


def batch_size(call: Call, wait: Callable[[Any], Any], target: float) -> int:
    """How many calls make a sample of about `target` seconds; warms the call up on the way."""
    count = 1
    while True:
        seconds = timed(call, wait, count)
        if seconds * count >= target or count >= 1 << 20:
            return count
        count = max(2 * count, min(int(target / max(seconds, 1e-9)), 16 * count))


def measure_warm(c: Case, effort: Effort) -> Result:
    """Times a case's repeated calls, the sides in turns; the results are compared once before.

    Raises:
      AssertionError: if the sides' results differ.
    """
    packages = [OWN] + [c.peer] * is_available(c.peer)
    sides = [load_side(package) for package in packages]
    calls = [c.setup(side) for side in sides]
    results = [side.jax.block_until_ready(call()) for side, call in zip(sides, calls, strict=True)]
    if len(sides) == 2:
        compare(c, (sides[0], results[0]), (sides[1], results[1]))
    waits = [waiter(side, result) for side, result in zip(sides, results, strict=True)]
    del results
    counts = [batch_size(*pair, effort.batch) for pair in zip(calls, waits, strict=True)]

    samples: dict[str, list[float]] = {package: [] for package in packages}
    gc.collect()
    gc.disable()  # a collection would fall on one side by chance
    end = time.perf_counter() + effort.seconds
    for taken in range(effort.samples):
        if taken >= 3 and time.perf_counter() > end:
            break
        for package, call, wait, count in zip(packages, calls, waits, counts, strict=True):
            time.sleep(effort.pause)
            timed(call, wait, count // 4 + 1)  # wakes threads, fills caches
            samples[package].append(timed(call, wait, count))
        gc.collect()
    return Result(c.name, samples)


def measure_fresh(c: Case, effort: Effort) -> Result:
    """Times a case's first call, each sample in a process of its own, the sides in turns.

    Raises:
      RuntimeError: if a process fails.
      AssertionError: if the sides' results differ.
    """
    packages = [OWN] + [c.peer] * is_available(c.peer)
    samples: dict[str, list[float]] = {package: [] for package in packages}
    with tempfile.TemporaryDirectory() as folder:
        kept = _KEPT | {"JAX_COMPILATION_CACHE_DIR": folder} if c.kind == "again" else _NOT_KEPT
        _fresh_rounds(c, effort, packages, samples, kept)
    return Result(c.name, samples)


# Whether compiled programs are kept on disk for other processes.
_NOT_KEPT = {"JITNEY_ENABLE_COMPILATION_CACHE": "0"}
_KEPT = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


def _fresh_rounds(
    c: Case,
    effort: Effort,
    packages: list[str],
    samples: dict[str, list[float]],
    kept: dict[str, str],
) -> None:
    # The first round writes bytecode, and programs that are kept, and brings files into memory; it
    # does not count.
    for number in range(effort.processes + 1):
        sums: list[list[float]] = []
        for package in packages:
            if c.kind == "import":
                seconds = float(run_python(["-c", _IMPORT.format(package)], kept))
            else:
                first = json.loads(run_worker(["--first", package, c.name], kept | c.variables))
                seconds = first["seconds"]
                sums.append(first["sums"])
            if number:
                samples[package].append(seconds)
        if len(sums) == 2:
            np.testing.assert_allclose(*sums, rtol=c.rtol, atol=c.atol)


_BYTECODE = Path(__file__).resolve().parents[1] / "build" / "bytecode"

# Nothing but `time` is imported before.
_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def first_time(c: Case, package: str) -> str:
    """The seconds of the case's first call in this process, and its results' sums, as JSON.

    Imports are made, and operands are ready, before the clock starts.
    """
    side = load_side(package)
    call = c.setup(side)
    gc.collect()
    start = time.perf_counter()
    result = side.jax.block_until_ready(call())
    seconds = time.perf_counter() - start
    leaves = side.jax.tree_util.tree_leaves(result)
    sums = [float(np.asarray(leaf, np.float64).sum()) for leaf in leaves]
    return json.dumps({"seconds": seconds, "sums": sums})


def run_worker(arguments: list[str], variables: Mapping[str, str]) -> str:
    """The last line that `python -m benchmarks.worker` prints; see `run_python`."""
    return run_python(["-m", "benchmarks.worker", *arguments], variables)


def run_warm(c: Case, quick: bool) -> str:
    """The result of a case of warm calls, measured in a process of its own, as JSON."""
    return run_worker([c.name] + ["--quick"] * quick, _NOT_KEPT | c.variables)


def run_python(
    arguments: list[str], variables: Mapping[str, str] = _NOT_KEPT, timeout: float = 300.0
) -> str:
    """The last line that a fresh Python prints, given environment variables.

    Raises:
      RuntimeError: if the process fails or does not end in time.
    """
    command = [sys.executable, *arguments]
    # Bytecode of both packages is kept, wherever they are installed and whatever the caller's Python
    # does about it; users' processes find it ready, too.
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPYCACHEPREFIX": str(_BYTECODE)}
    environment.update(variables)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as expired:
        raise RuntimeError(f"no end after {timeout:.0f} s") from expired
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        why = done.stderr.strip().splitlines() or [f"ended with status {done.returncode}"]
        raise RuntimeError(why[-1])
    return lines[-1]
