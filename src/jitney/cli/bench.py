"""`jitney bench`: measures the time of a function at several sizes, with jitney and other packages.

Each contestant is a process of its own (`bench_worker`), which waits while others run. Contestants
take turns, so that other load on the machine affects all of them alike. The table shows medians and
interquartile ranges; first calls, which trace and compile, are listed separately.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from jitney.cli import bench_worker, usage
from jitney.core.util.record import field, record
from jitney.inspection.quantities import seconds

USAGE = """\
usage: jitney bench program.py --function NAME [option ...]

Measures the time of a function of program.py that jitney compiles, and of the same code run by other
packages. The program is run, but not as __main__. The function is called with vectors of random
numbers, one for each parameter without a default, or with the tuple that the program's function
make_arguments(size) returns.

  --function NAME     the name of the function
  --against NAMES     the other packages: numpy, jax, numba, separated by commas; numpy by default.
                      numpy and numba run the code with numpy in place of jax.numpy
  --sizes SIZES       the sizes of the vectors, separated by commas; 1e3,1e4,1e5,1e6 by default
  --json FILE         writes all times to this file
  --plot FILE         draws the times to this .svg or .png file; needs matplotlib
"""
ROUNDS = 15  # each contestant is timed once per round
LONGEST = 10.0  # seconds after which no more rounds are started for a size
FEWEST_ROUNDS = 3
TOLERANCE = 1e-3  # relative difference above which results are reported as different
END = 1.0  # seconds after which a process that has not ended is killed


@record(frozen=True)
class Options:
    """The options of the command."""

    program: str
    function: str
    contestants: tuple[str, ...]
    sizes: tuple[int, ...]
    json: str | None
    plot: str | None


@record
class Times:
    """The times of one contestant at one size, in seconds.

    Attributes:
      contestant: its name.
      size: the size of the arguments.
      first: the time of the first call.
      later: the time of a later call, in each round.
    """

    contestant: str
    size: int
    first: float
    later: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.later)

    @property
    def quartiles(self) -> tuple[float, float]:
        low, _, high = statistics.quantiles(self.later, n=4, method="inclusive")
        return low, high

    @property
    def noise(self) -> float:
        """The interquartile range, as a fraction of the median."""
        low, high = self.quartiles
        return (high - low) / self.median


@record
class Results:
    """The results of all measurements.

    Attributes:
      versions: the versions of the contestants that run the function.
      times: the times of each contestant at each size.
      failures: for the other contestants, the reason why they do not run it, or not at some size.
      differing: the names of the contestants whose results differ from jitney's.
    """

    versions: dict[str, str] = field(default_factory=dict)
    times: list[Times] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    differing: set[str] = field(default_factory=set)


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        return usage.show(USAGE, arguments)
    try:
        options = _parse(arguments)
    except ValueError as error:
        return usage.refuse(USAGE, error)
    results = measure(options)
    if "jitney" not in results.versions or not results.times:
        print(f"jitney bench: {results.failures['jitney']}", file=sys.stderr)
        return 1
    print(table(options, results))
    if options.json is not None:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(as_json(options, results), file, indent=2)
    if options.plot is not None:
        draw(options, results, options.plot)
    return 0


def _parse(words: Sequence[str]) -> Options:
    """Parses the arguments of the command.

    Raises:
      ValueError: if an argument is invalid.
    """
    values, operands = usage.options(USAGE, words)
    if len(operands) != 1:
        raise ValueError("one program is needed")
    if not os.path.isfile(operands[0]):
        raise ValueError(f"{operands[0]} is not a file")
    if "function" not in values:
        raise ValueError("--function is needed, with the name of a function of the program")
    others = [x for x in values.get("against", "numpy").split(",") if x not in ("", "jitney")]
    for name in others:
        if name not in bench_worker.CONTESTANTS:
            raise ValueError(f"--against takes numpy, jax and numba, not {name}")
    sizes = tuple(map(_size, values.get("sizes", "1e3,1e4,1e5,1e6").split(",")))
    plot = values.get("plot")
    if plot is not None:
        if not plot.endswith((".svg", ".png")):
            raise ValueError(f"--plot {plot}: the name must end in .svg or .png")
        if importlib.util.find_spec("matplotlib") is None:
            raise ValueError(
                "--plot needs matplotlib, which is not installed: pip install matplotlib"
            )
    for option in ("json", "plot"):
        if option in values:
            usage.check_file(option, values[option])
    contestants = ("jitney", *dict.fromkeys(others))
    return Options(operands[0], values["function"], contestants, sizes, values.get("json"), plot)


def _size(text: str) -> int:
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if size < 1 or size != int(size):
        raise ValueError(f"--sizes takes positive integers such as 1000 or 1e3, not {text!r}")
    return int(size)


# --- measuring ------------------------------------------------------------------------------------


class _Worker:
    """A process that runs the function as one contestant."""

    def __init__(self, contestant: str, options: Options) -> None:
        self.contestant = contestant
        command = [sys.executable, "-P", bench_worker.__file__]
        self._process = subprocess.Popen(
            [*command, contestant, options.program, options.function],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.greeting = self._answer()

    def ask(self, **request: int) -> dict[str, Any]:
        """Sends a request and returns the answer; it contains "error" if the process has ended."""
        assert self._process.stdin is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return {"error": "its process has ended"}
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": "its process has ended"}

    def end(self) -> None:
        """Ends the process by closing its input, or kills it if it does not end in `END` seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # if it had ended before the request
            self._process.stdin.close()
        try:
            self._process.wait(timeout=END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def measure(options: Options) -> Results:
    """Measures the times of all contestants at all sizes; they take turns."""
    results = Results()
    workers: list[_Worker] = []
    try:
        for name in options.contestants:
            worker = _Worker(name, options)
            workers.append(worker)
            if "error" in worker.greeting:
                results.failures[name] = worker.greeting["error"]
            else:
                results.versions[name] = worker.greeting["version"]
        running = [w for w in workers if w.contestant in results.versions]
        for size in options.sizes:
            _measure_size(running, size, results)
    finally:
        for worker in workers:
            worker.end()
    return results


def _measure_size(workers: Sequence[_Worker], size: int, results: Results) -> None:
    racing: list[tuple[_Worker, int, Times]] = []
    expected: list[float] | None = None
    for worker in workers:
        prepared = worker.ask(size=size)
        if "error" in prepared:
            results.failures.setdefault(worker.contestant, prepared["error"])
            continue
        times = Times(worker.contestant, size, prepared["first"])
        racing.append((worker, prepared["calls"], times))
        if expected is None:
            expected = prepared["summary"]
        elif not _agree(expected, prepared["summary"]):
            results.differing.add(worker.contestant)
    turns = racing
    begun = time.monotonic()
    for _ in range(ROUNDS):
        running: list[tuple[_Worker, int, Times]] = []
        for worker, calls, times in turns:
            answer = worker.ask(calls=calls)
            if "error" in answer:
                results.failures.setdefault(worker.contestant, answer["error"])
            else:
                times.later.append(answer["seconds"])
                running.append((worker, calls, times))
        # Rotate, since the first contestant of a round runs with the caches that the last one filled.
        turns = running[1:] + running[:1]
        enough = all([len(times.later) >= FEWEST_ROUNDS for _, _, times in turns])
        if not turns or (enough and time.monotonic() - begun > LONGEST):
            break
    results.times += [times for _, _, times in racing if len(times.later) >= FEWEST_ROUNDS]


def _agree(some: Sequence[float], others: Sequence[float]) -> bool:
    """Returns whether results with these summaries agree up to the tolerance."""
    return len(some) == len(others) and all(
        map(functools.partial(math.isclose, rel_tol=TOLERANCE), some, others)
    )


# --- showing --------------------------------------------------------------------------------------


def table(options: Options, results: Results) -> str:
    """Formats times as text, with a row for each size and a column for each contestant."""
    names = [name for name in options.contestants if name in results.versions]
    by_place = {(t.size, t.contestant): t for t in results.times}
    rounds = max([len(t.later) for t in results.times])
    lines = [
        f"{options.function} of {options.program}: medians of up to {rounds} alternating runs, "
        "with interquartile ranges",
        "",
        f"{'size':>12}" + "".join([f"{name:>20}" for name in names]),
    ]
    for size in options.sizes:
        cells = [_later(by_place.get((size, name))) for name in names]
        lines.append(f"{size:>12,}" + "".join([f"{cell:>20}" for cell in cells]))
    lines += ["", "First calls, which trace and compile:", ""]
    for size in options.sizes:
        cells = [by_place.get((size, name)) for name in names]
        texts = ["-" if t is None else seconds(t.first) for t in cells]
        lines.append(f"{size:>12,}" + "".join([f"{text:>20}" for text in texts]))
    lines += [f"\n{name}: {reason}" for name, reason in results.failures.items()]
    lines += [f"\n{name}: the results differ from jitney's" for name in sorted(results.differing)]
    return "\n".join(lines)


def _later(times: Times | None) -> str:
    return "-" if times is None else f"{seconds(times.median)} ± {times.noise:3.0%}"


def as_json(options: Options, results: Results) -> dict[str, object]:
    """Returns the results of all measurements in a form that JSON can represent."""
    return {
        "program": options.program,
        "function": options.function,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": results.versions,
        "failures": results.failures,
        "differing": sorted(results.differing),
        "times": [
            {
                "contestant": t.contestant, "size": t.size, "first": t.first, "median": t.median,
                "quartiles": t.quartiles, "later": t.later,
            }
            for t in results.times
        ],
    }  # fmt: skip


def draw(options: Options, results: Results, path: str) -> None:
    """Plots times against sizes on logarithmic axes, with the quartiles as a band."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")

    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    series: Mapping[str, list[Times]] = {
        name: [t for t in results.times if t.contestant == name] for name in results.versions
    }
    for name, times in series.items():
        sizes = [t.size for t in times]
        (line,) = axes.loglog(
            sizes, [t.median for t in times], "o-", label=f"{name} {results.versions[name]}"
        )
        low, high = zip(*[t.quartiles for t in times], strict=True) if times else ((), ())
        axes.fill_between(sizes, low, high, color=line.get_color(), alpha=0.25, linewidth=0)
    axes.set(xlabel="size", ylabel="seconds of a call", title=options.function)
    axes.grid(which="major", alpha=0.3)
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
