"""`python -m benchmarks.start_to_end`: whole processes from start to end, divided into phases.

    python -m benchmarks.start_to_end --json benchmarks/start_to_end.json
    python -m benchmarks.start_picture

A process imports a package, makes the operands of a workload, and calls it, once and ten times more.
Each sample is a fresh process. JAX, jitney with nothing on disk, and jitney with its programs on disk
take turns, after a round that does not count, which leaves bytecode and programs. Both packages report
the durations of tracing, lowering and compilation to `jax.monitoring`; what is nested in another counts
once. The remaining time of the calls is "running". Measure on a machine without other work.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness import OWN, PEER, load_side, select
from benchmarks.measure import run_python
from benchmarks.speed import WORKLOADS
from benchmarks.table import about

PHASES = ("imports", "operands", "tracing", "lowering", "compilation", "running")
LATER = 10  # calls after the first
KEPT = f"{OWN}_kept"
# package of each kind of process
KINDS = {PEER: PEER, OWN: OWN, KEPT: OWN}
_EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
    "/jax/core/compile/backend_compile_duration": "compilation",
}
_CHILD = (
    "from benchmarks.start_to_end import child; print(child({started!r}, {package!r}, {name!r}))"
)


def exclusive(events: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    """Seconds of each phase; of nested events, the outer one counts without the inner ones.

    Args:
      events: (phase, end, seconds), in the order of their ends.
    """
    found = dict.fromkeys(_EVENTS.values(), 0.0)
    spans: list[tuple[float, float]] = []
    for phase, end, seconds in events:
        start, inner = end - seconds, 0.0
        while spans and spans[-1][0] >= start:
            inner += spans.pop()[1]
        spans.append((start, seconds))
        found[phase] += max(seconds - inner, 0.0)
    return found


def child(started: float, package: str, name: str) -> str:
    """Runs a workload in this process; returns the seconds of its phases, as JSON.

    Args:
      started: when the process was started, as `time.time` says.
      package: that is imported.
      name: of the workload.
    """
    side = load_side(package)
    imported = time.time()
    [case] = select([name])
    call = case.setup(side)
    events: list[tuple[str, float, float]] = []

    def note(event: str, seconds: float, **_: object) -> None:
        if event in _EVENTS:
            events.append((_EVENTS[event], time.time(), seconds))

    side.jax.monitoring.register_event_duration_secs_listener(note)
    ready = time.time()
    for _ in range(1 + LATER):
        side.jax.block_until_ready(call())
    seconds = time.time() - ready
    phases = exclusive(events)
    running = max(seconds - sum(phases.values()), 0.0)
    return json.dumps({
        "imports": imported - started, "operands": ready - imported, **phases, "running": running
    })  # fmt: skip


def _samples(name: str, processes: int) -> dict[str, list[dict[str, float]]]:
    samples: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(processes + 1):
            for kind, package in KINDS.items():
                variables = {"JITNEY_ENABLE_COMPILATION_CACHE": "0"}
                if kind == KEPT:
                    variables = {"JAX_COMPILATION_CACHE_DIR": folder}
                code = _CHILD.format(started=time.time(), package=package, name=name)
                found: dict[str, float] = json.loads(run_python(["-c", code], variables))
                if number:
                    samples[kind].append(found)
    return samples


def summary(samples: list[dict[str, float]]) -> dict[str, float]:
    """Median seconds of each phase, and "low" and "high", the quartiles of the whole."""
    whole = [sum(sample.values()) for sample in samples]
    low, _, high = statistics.quantiles(whole, n=4)
    phases = {phase: statistics.median([each[phase] for each in samples]) for phase in PHASES}
    return {**phases, "low": low, "high": high}


def main() -> None:
    """Measures, and writes the file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start_to_end", description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads; by default all")
    parser.add_argument("--json", type=Path, default=Path(__file__).with_name("start_to_end.json"))
    parser.add_argument("--processes", type=int, default=9, help="of each kind")
    options = parser.parse_args()
    found: dict[str, Any] = {
        **about(len(os.sched_getaffinity(0))), "calls": 1 + LATER, "workloads": {}
    }  # fmt: skip
    for name in options.names or WORKLOADS:
        times = {kind: summary(each) for kind, each in _samples(name, options.processes).items()}
        found["workloads"][name] = times
        print(name, {k: f"{sum(t[p] for p in PHASES):.2f} s" for k, t in times.items()}, flush=True)
    options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
