"""Worker processes: what crashes or hangs is a failure of the program that ran, not of the run."""

from __future__ import annotations

import json
import os
import pickle
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.differential import generate, shrink
from tests.fuzz.differential.program import Program

from jitney.core.util import thresholds

ROOT = Path(__file__).resolve().parents[3]  # where `tests` is found
HANG = 120.0  # seconds without a word from a worker
HANG_OF_JAX = 60.0  # the same while XLA compiles
# Programs of one process, whose memory grows. Thresholds (`core/util/thresholds.py`) are the usual
# ones in the first process, low ones in the second, and so on.
AT_ONCE = 500
# Programs that both refuse, and those that end or stop JAX's own compiler, say nothing of jitney.
FINE = ("ok", "rejected", "crash of JAX", "hang of JAX")


def has_small_thresholds(seed: int) -> bool:
    """Whether the program of `seed` is run with low thresholds."""
    return seed // AT_ONCE % 2 == 1


def _start(small: bool, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.differential.worker", *arguments]
    environment = {**os.environ, thresholds.VARIABLE: str(int(small))}
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment, **options)


def _lines(
    process: subprocess.Popen[bytes], silence: Callable[[], float]
) -> Iterator[dict[str, Any] | None]:
    """What the worker says; None, and its end, if it says nothing for `silence()` seconds."""
    assert process.stdout is not None
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ)
    rest = b""
    while True:
        if not selector.select(silence()):
            process.kill()
            process.wait()
            yield None
            return
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            process.wait()
            return
        *lines, rest = (rest + chunk).split(b"\n")
        yield from [json.loads(line) for line in lines if line.startswith(b"{")]


def statuses(first: int, last: int, with_jax: bool) -> Iterator[tuple[int, str, str]]:
    """(seed, status, detail) of the programs of the seeds from `first` up to `last`."""
    while first < last:
        small = has_small_thresholds(first)
        end = min(last, (first // AT_ONCE + 1) * AT_ONCE)
        process = _start(small, str(first), str(end), "jax" if with_jax else "no")
        begun: list[int] = []
        in_jax = False
        done: set[int] = set()
        silent = False
        try:
            # Called within this iteration of the loop.
            for line in _lines(process, lambda: HANG_OF_JAX if in_jax else HANG):  # noqa: B023
                if line is None:
                    silent = True
                elif "start" in line:
                    in_jax = isinstance(line["start"], list)
                    begun = line["start"] if in_jax else [line["start"]]
                else:
                    done.add(line["done"])
                    yield line["done"], line["status"], line["detail"]
        finally:
            process.kill()
            process.wait()
        if process.returncode == 0 and not silent:
            first = end
            continue
        # Those that had been run by jitney only, when the process ended, are run again.
        status = "hang" if silent else "crash"
        status += " of JAX" if in_jax else ""
        detail = "says nothing" if silent else f"exit status {process.returncode}"
        for seed in begun:
            yield seed, status, detail
        left = [s for s in range(first, end) if s not in done and s not in begun]
        for start, stop in _runs(left):
            yield from statuses(start, stop, with_jax)
        first = end


def _runs(seeds: list[int]) -> Iterator[tuple[int, int]]:
    """Ranges that `seeds`, in order, are made of."""
    start = 0
    for i in range(1, len(seeds) + 1):
        if i == len(seeds) or seeds[i] != seeds[i - 1] + 1:
            yield seeds[start], seeds[i - 1] + 1
            start = i


def run(seed: int, count: int, seconds: float, with_jax: bool, shrinks: bool, folder: Path) -> None:
    """Runs programs, writes failures to `folder`, and prints how many there were of each kind."""
    found: Counter[str] = Counter()
    begun = time.monotonic()
    told = begun
    for at, status, detail in statuses(seed, seed + count, with_jax):
        found[status] += 1
        if status not in FINE:
            print(f"{at}: {status}: {detail}", flush=True)
            folder.mkdir(exist_ok=True)
            small = shrunk(at) if shrinks else generate.program(at).source()
            (folder / f"seed_{at}.txt").write_text(f"# {status}: {detail}\n{_setting(at)}{small}")
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"  {told - begun:.0f} s, up to seed {at}: {dict(found)}", flush=True)
        if time.monotonic() - begun > seconds:
            break
    print(f"{found.total()} programs in {time.monotonic() - begun:.0f} s: {dict(found)}")
    if set(found) - set(FINE):
        raise SystemExit(1)


# --- shrinking --------------------------------------------------------------------------------


def _setting(seed: int) -> str:
    return f"# {thresholds.VARIABLE}=1\n" if has_small_thresholds(seed) else ""


def status_of(program: Program, small: bool) -> str:
    """The status of one program, in a process of its own."""
    process = _start(small, "one", stdin=subprocess.PIPE)
    try:
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(program))
        process.stdin.close()
        for line in _lines(process, lambda: HANG / 4):
            if line is None:
                return "hang"
            if "status" in line:
                return line["status"]
    finally:
        process.kill()
        process.wait()
    return "crash"


def shrunk(seed: int, seconds: float = 120.0) -> str:
    """Source of a small program that fails as the one of `seed` does."""
    lowered = has_small_thresholds(seed)
    process = _start(lowered, "shrink", str(seed), str(seconds))
    try:
        for line in _lines(process, lambda: 2 * seconds):
            if line and "source" in line:
                return line["source"]
    finally:
        process.kill()
        process.wait()
    # It crashes, or hangs: one process for each candidate.
    program = generate.program(seed)
    kind = status_of(program, lowered)
    return shrink.shrink(program, lambda p: status_of(p, lowered) == kind, 2 * seconds).source()
