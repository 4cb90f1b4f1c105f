"""`python -m benchmarks [names...]`: measures, and prints the table."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks import measure
from benchmarks.harness import OWN, Case, is_available, select
from benchmarks.table import about, as_markdown, heading, machine, row

_BUSY = (
    "Measured under load: other programs kept {load:.1f} processes busy on {threads} cores, so "
    "cases with more than one thread, and short ones, are rough; see `noise` and `best`."
)


def _usable_threads(count: int | None) -> int:
    """Confines this process and its children to `count` cores; both sides take one thread a core."""
    if not hasattr(os, "sched_setaffinity"):
        return os.cpu_count() or 1
    cores = sorted(os.sched_getaffinity(0))
    if count is not None:
        os.sched_setaffinity(0, cores[:count])
    return len(os.sched_getaffinity(0))


def _measured(cases: list[Case], quick: bool) -> Iterator[tuple[Case, measure.Result]]:
    """Each case with its result; a case that fails has a result that tells why."""
    for c in cases:
        try:
            if c.kind == "warm":
                result = measure.Result(**json.loads(measure.run_warm(c, quick)))
            else:
                result = measure.measure_fresh(c, measure.QUICK if quick else measure.Effort())
        except (RuntimeError, AssertionError) as error:
            result = measure.Result(c.name, error=" ".join(str(error).split())[:300])
        yield c, result


def _figures(result: measure.Result) -> dict[str, dict[str, float | None]]:
    """The median of seconds per call, and the spread, of each side."""
    return {
        "median": {side: result.median(side) for side in result.samples},
        "spread": {side: result.spread(side) for side in result.samples},
    }


def main() -> int:
    """Runs the chosen benchmarks; the status is 1 if one of them fails."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="This package and real jax, in turns."
    )
    parser.add_argument("names", nargs="*", help="cases, beginnings of their names, or groups")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample here")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table here")
    parser.add_argument("--threads", type=int, metavar="N", help="cores both sides may use")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    options = parser.parse_args()
    try:
        cases = list(select(options.names))
    except LookupError as error:
        parser.error(str(error))
    if options.list:
        for c in cases:
            print(f"{c.name:20} {c.group:12} {c.title}")
        return 0

    threads = _usable_threads(options.threads)
    facts, load = about(threads), os.getloadavg()[0]
    print(machine(facts))
    if not is_available("jax"):
        print("jax is not installed: only this package is measured")
    print(heading())
    results = []
    for c, result in _measured(cases, options.quick):
        print(row(c, result), flush=True)
        results.append((c, result))
    notes = ["With --quick: few samples."] * options.quick
    if load > threads / 2:
        notes.append(_BUSY.format(load=load, threads=threads))
        print(notes[-1])
    if options.json:
        found = [{"case": c.title, **_figures(result), **asdict(result)} for c, result in results]
        options.json.write_text(json.dumps({**facts, "results": found}, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(as_markdown(machine(facts), notes, results))
    return int(any(result.error or result.median(OWN) is None for _, result in results))


if __name__ == "__main__":
    sys.exit(main())
