"""Runs the tests that libraries for JAX ship, on real JAX and on this package.

    python tools/library_suites.py optax haiku numpyro --sample 0.1
    python tools/library_suites.py optax --again       # what failed here, once more
    python tools/library_suites.py --table             # of all that was run so far

The libraries are those installed beside the Python that runs this (`pip install .[libraries]`, and for
their tests absl-py, mock, cloudpickle, dill, jmp, dm-tree, scikit-learn, pytest-timeout). Tests are
those of the wheel; if it has none, those of the source distribution of the same version, which pip
fetches to build/sdists.

A suite is a process on each side; where that dies, another goes on after the test that killed it. The
measure is how many of the tests that pass on JAX pass here. What came of each test is kept in a JSON
file, {library: {side: {test: error}}}, which later runs add to.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parent
SIDES = ("jax", "jitney")
# Names of distributions, where that of the package is another.
DISTRIBUTIONS = {"haiku": "dm-haiku"}

# What came of each test: "" if it passed, else the first line of the error, or "skipped"
Outcomes = dict[str, str]


@dataclass(frozen=True)
class Suite:
    """A library's tests: their files, and the folder that ids of tests are relative to."""

    root: Path
    files: list[Path]


def find_suite(library: str, match: str) -> Suite:
    """The tests in the installed package, or in the source distribution, whose path matches."""
    spec = importlib.util.find_spec(library)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{library} is not installed as a package")
    root = Path(spec.submodule_search_locations[0])
    if not test_files(root):
        root = source_distribution(DISTRIBUTIONS.get(library, library))
    files = [path for path in test_files(root) if path.relative_to(root).match(match)]
    return Suite(root, files)


def test_files(root: Path) -> list[Path]:
    return sorted({*root.rglob("*_test.py"), *root.rglob("test_*.py")})


def source_distribution(name: str) -> Path:
    """The folder of the unpacked source distribution of the installed version."""
    version = importlib.metadata.version(name)
    folder = ROOT / "build" / "sdists"
    unpacked = folder / f"{name}-{version}"
    if not unpacked.exists():
        folder.mkdir(parents=True, exist_ok=True)
        words = ["download", "--no-deps", "--no-binary", name, f"{name}=={version}", "-d", folder]
        subprocess.run([sys.executable, "-m", "pip", "-q", *words], check=True)
        with tarfile.open(folder / f"{name}-{version}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return unpacked


@dataclass
class Limits:
    """What to run of a suite, and for how long."""

    sample: float
    timeout: float  # seconds for a test
    seconds: float | None  # for a suite
    only: list[str] | None = None


def run(suite: Suite, side: str, limits: Limits, known: Outcomes) -> None:
    """Runs the tests that are not in `known`, and adds them to it."""
    begun = time.monotonic()
    while True:
        left = None if limits.seconds is None else limits.seconds - (time.monotonic() - begun)
        if left is not None and left <= 0:
            return
        if not run_process(suite, side, limits, left, known):
            return


def run_process(
    suite: Suite, side: str, limits: Limits, seconds: float | None, known: Outcomes
) -> bool:
    """Runs tests in a process of its own; whether it died in a test, so that others are left."""
    environment = dict(os.environ, JAX_PLATFORMS="cpu")
    words = [sys.executable]
    environment["PYTHONPATH"] = str(TOOLS)
    if side == "jitney":
        environment["PYTHONPATH"] = f"{ROOT / 'src'}{os.pathsep}{TOOLS}"
        words += ["-m", "jitney"]
    words += [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "suite_plugin",
    ]
    words += [f"--rootdir={suite.root}", f"--timeout={limits.timeout}", "--timeout-method=signal"]
    words += ["--continue-on-collection-errors", *map(str, suite.files)]
    with tempfile.TemporaryDirectory() as folder:
        order, log = Path(folder) / "order.json", Path(folder) / "log"
        log.touch()
        orders = {
            "log": str(log), "sample": limits.sample, "seconds": seconds, "only": limits.only,
            "skip": list(known),
        }  # fmt: skip
        order.write_text(json.dumps(orders))
        environment["SUITE_ORDER"] = str(order)
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        output, hung = watch(process, log, limits.timeout)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    known.update((test, error) for test, error in lines if error is not None)
    for line in output.splitlines():
        if line.startswith("not collected: "):
            print(f"{side}: {line}", file=sys.stderr)
    if not lines or lines[-1][1] is not None:
        if process.returncode not in (0, 1, 2, 5):
            print(f"{side}: pytest: {output[-2000:]}", file=sys.stderr)
        return False
    known[lines[-1][0]] = "timeout" if hung else f"the process died: {process.returncode}"
    return True


def watch(process: subprocess.Popen[str], log: Path, timeout: float) -> tuple[str, bool]:
    """Waits for the process, and ends it if a test does not answer to its timeout (in native code)."""
    while True:
        try:
            return process.communicate(timeout=10)[0], False
        except subprocess.TimeoutExpired:
            text = log.read_text()
            in_test = text.endswith("null]\n")
            if in_test and time.time() - log.stat().st_mtime > timeout + 30:
                process.kill()
                return process.communicate()[0], True


def table(results: dict[str, dict[str, Outcomes]]) -> str:
    """Markdown, a row for each library: of the tests run on both sides."""
    lines = [
        "| library | tests run | pass on JAX | of these on jitney | |",
        "|---|---|---|---|---|",
    ]
    sums = [0, 0, 0]
    for library, sides in results.items():
        on_jax, here = (sides.get(side, {}) for side in SIDES)
        both = [test for test in on_jax if test in here and on_jax[test] != "skipped"]
        good = [test for test in both if on_jax[test] == ""]
        same = [test for test in good if here[test] == ""]
        counts = [len(both), len(good), len(same)]
        sums = [x + y for x, y in zip(sums, counts, strict=True)]
        lines.append(row(library, counts))
    return "\n".join([*lines, row("all", sums)])


def row(name: str, counts: list[int]) -> str:
    rate = f"{100 * counts[2] / max(counts[1], 1):.1f} %"
    return "| " + " | ".join([name, *map(str, counts), rate]) + " |"


def failed(outcomes: Outcomes) -> list[str]:
    return [test for test, error in outcomes.items() if error not in ("", "skipped")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*")
    parser.add_argument("--match", default="*.py", help="of paths of test files")
    parser.add_argument("--sample", type=float, default=1.0, help="share of tests, by their hash")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for a test")
    parser.add_argument("--seconds", type=float, help="for a suite on a side; the rest is left")
    parser.add_argument("--side", choices=SIDES, help="run only there")
    parser.add_argument("--failed", action="store_true", help="only what failed on jitney so far")
    parser.add_argument("--again", action="store_true", help="once more what failed on jitney")
    parser.add_argument("--table", action="store_true", help="only print what was found so far")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "library_suites.json")
    options = parser.parse_args()
    results: dict[str, dict[str, Outcomes]] = {}
    if options.results.exists():
        results = json.loads(options.results.read_text())
    for library in options.libraries:
        if options.table:
            break
        sides = results.setdefault(library, {})
        suite = find_suite(library, options.match)
        if not suite.files:
            print(f"{library}: no tests in the wheel or the source distribution", file=sys.stderr)
        limits = Limits(options.sample, options.timeout, options.seconds)
        for side in SIDES if options.side is None else (options.side,):
            known = sides.setdefault(side, {})
            if not suite.files or (options.again and side == "jax"):
                continue
            if options.failed or options.again:
                limits.only = failed(sides.get("jitney", {}))
            if options.again:
                known = {test: error for test, error in known.items() if test not in limits.only}
            run(suite, side, limits, known)
            sides[side] = known
            options.results.parent.mkdir(parents=True, exist_ok=True)
            options.results.write_text(json.dumps(results, indent=1))
    print(table({name: results[name] for name in options.libraries or results}))
    for name in options.libraries:
        on_jax, here = (results[name].get(side, {}) for side in SIDES)
        for test in failed(here):
            if on_jax.get(test, "") == "":
                known = "" if test in on_jax else " (not run on JAX)"
                print(f"{name}: {test}: {here[test]}{known}")


if __name__ == "__main__":
    main()
