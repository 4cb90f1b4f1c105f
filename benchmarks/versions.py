"""Two trees of this package against each other: `python -m benchmarks.versions OTHER/src [names...]`.

For changes that should make nothing slower. Each case has two processes, one for each tree, with
operands and code made once; they take samples in turns, so whatever else the machine does falls on
both. The cases are those of this tree. The column `other / this` is above 1 where this tree is faster.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.harness import OWN, load_side, select, waiter
from benchmarks.measure import batch_size, timed

ROOT = Path(__file__).resolve().parent.parent
PAUSE = 0.03  # seconds before a sample, in which the other process's threads go to sleep


class Sampler:
    """A process that measures one case by the package of one tree."""

    def __init__(self, source: Path, name: str) -> None:
        paths = os.pathsep.join([str(source), str(ROOT)])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.versions", "--serve", name],
            env={**os.environ, "PYTHONPATH": paths, "JITNEY_ENABLE_COMPILATION_CACHE": "0"},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def sample(self) -> float | None:
        """Seconds per call; None if the case does not run."""
        assert self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self.process.stdout.readline()
        return float(line) if line else None

    def end(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.communicate()


def serve(name: str) -> None:
    """Takes a sample for each line of standard input, and prints its seconds per call."""
    (c,) = [c for c in select([name]) if c.name == name]
    side = load_side(OWN)
    call = c.setup(side)
    wait = waiter(side, call())
    count = batch_size(call, wait, 0.01)
    gc.disable()  # a collection would fall on one side by chance
    for _ in sys.stdin:
        gc.collect()
        time.sleep(PAUSE)
        timed(call, wait, count // 4 + 1)
        print(timed(call, wait, count), flush=True)


def compare(other: Path, name: str, samples: int) -> str:
    """A line of the table."""
    both = [Sampler(source, name) for source in (other, ROOT / "src")]
    try:
        taken = [[sampler.sample() for sampler in both] for _ in range(samples)]
    finally:
        for sampler in both:
            sampler.end()
    seconds = [[x for x in column if x is not None] for column in zip(*taken, strict=True)]
    if not all(seconds):
        return f"{name:36} does not run in " + ("the other tree" if seconds[1] else "this tree")
    theirs, ours = map(statistics.median, seconds)
    best = min(seconds[0]) / min(seconds[1])
    return f"{name:36} {theirs / ours:6.3f} {best:6.3f} {ours * 1e6:12.2f} us"


def main() -> None:
    """Compares the chosen cases, and prints a line for each as it comes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("--serve", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("other", nargs="?", type=Path, help="the other tree's folder src")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if options.other is None:
        parser.error("which other tree?")
    print(f"{'case':36} {'median':>6} {'best':>6} {'this tree':>15}   (other / this)")
    for c in select(options.names):
        if c.kind == "warm":
            print(compare(options.other.resolve(), c.name, options.samples), flush=True)


if __name__ == "__main__":
    main()
