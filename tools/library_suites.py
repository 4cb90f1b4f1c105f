"""Runs the tests that libraries for JAX ship in their wheels, on real jax and on this package.

    python tools/library_suites.py optax haiku [--match PATTERN] [--jobs N] [--timeout S] [--out FILE]

The libraries are those installed beside the Python that runs this (`pip install .[libraries]`). Each
test file is a process of its own on each side. The measure is how many of the tests that pass on jax
pass here; those that do not are listed in FILE, if it is given, with the first line of the error.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import importlib.util
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
SIDES = ("jax", "jitney")

# (test, what came of it): "" if it passed, else the first line of the error
Outcomes = dict[str, str]


def test_files(library: str, pattern: str) -> list[Path]:
    """The library's test files whose path within it matches."""
    spec = importlib.util.find_spec(library)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{library} is not installed as a package")
    root = Path(spec.submodule_search_locations[0])
    found = sorted([*root.rglob("*_test.py"), *root.rglob("test_*.py")])
    return [path for path in found if fnmatch.fnmatch(str(path.relative_to(root)), pattern)]


def run(path: Path, side: str, timeout: float) -> Outcomes:
    """What came of each test of a file; the file's own name stands for all if it was not run."""
    environment = dict(os.environ, JAX_PLATFORMS="cpu")
    environment.pop("PYTHONPATH", None)
    words = [sys.executable]
    if side == "jitney":
        environment["PYTHONPATH"] = str(SOURCE)
        words += ["-m", "jitney"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words += ["-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", str(path)]
        try:
            done = subprocess.run(
                words, cwd=folder, env=environment, timeout=timeout, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {str(path): f"not done after {timeout:.0f} s"}
        if not report.exists():
            return {str(path): (done.stderr.strip().splitlines() or ["no report"])[-1]}
        return outcomes(report, path)


def outcomes(report: Path, path: Path) -> Outcomes:
    """Tests and what came of them, of a report in JUnit's form; skipped ones are left out."""
    found: Outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{path.name}::{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        if case.find("skipped") is not None:
            continue
        wrong = case.find("failure")
        wrong = case.find("error") if wrong is None else wrong
        message = "" if wrong is None else (wrong.get("message") or "failed")
        # Parameters may share a name; subtests have the name of their test.
        first = message.strip().splitlines()[0] if message.strip() else ""
        found[name] = found.get(name) or first
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--match", default="*", help="of paths within a library")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=900)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines: list[str] = []
    print("| library | test files | pass on JAX | of these on jitney | |\n|---|---|---|---|---|")
    for library in options.libraries:
        files = test_files(library, options.match)
        jobs = [(path, side) for path in files for side in SIDES]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            done = list(pool.map(lambda job: run(*job, options.timeout), jobs))
        passed = agreed = 0
        for (path, _), on_jax, here in zip(jobs[::2], done[::2], done[1::2], strict=True):
            good = [name for name, wrong in on_jax.items() if not wrong]
            same = [name for name in good if here.get(name, "absent") == ""]
            passed, agreed = passed + len(good), agreed + len(same)
            reason = here.get(str(path), "not run")
            lines += [f"{name}: {here.get(name, reason)}" for name in good if name not in same]
        rate = 100 * agreed / max(passed, 1)
        print(f"| {library} | {len(files)} | {passed} | {agreed} | {rate:.1f} % |", flush=True)
    if options.out is not None:
        options.out.write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
