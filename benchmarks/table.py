"""The table of results, for the screen and for results.md."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import OWN, Case
from benchmarks.measure import Result

_COLUMNS = "{:45} {:>9} {:>9} {:>7} {:>6} {:>6} {:>9}  {:5} {:>6}"


def about(threads: int) -> dict[str, Any]:
    """When and where: date, processor, cores, load, commit, versions of packages."""
    cpuinfo = Path("/proc/cpuinfo")
    model = platform.processor() or platform.machine()
    if cpuinfo.exists():
        names = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        model = names[0].partition(": ")[2] if names else model
    versions: dict[str, str] = {"Python": platform.python_version()}
    for package in ("numpy", "jax", "llvmlite", "numba"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = ""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "processor": model,
        "threads": threads,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "commit": _commit(),
        "versions": versions,
    }


def _commit() -> str:
    """The commit that is measured, with a + if files differ from it; empty without git."""
    words = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(
            words, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def machine(found: dict[str, Any]) -> str:
    """One line on when and where."""
    versions = [
        f"{name} {version}" if version else f"no {name}"
        for name, version in found["versions"].items()
        if name != "numba"
    ]
    return (
        f"{found['date']}, {found['processor']}, {found['threads']} of {found['cores']} cores, "
        f"load {found['load']:.1f}; {', '.join(versions)}"
    )


def _seconds(value: float | None) -> str:
    """1.234e-5 -> 12.3 us."""
    if value is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= 0.9995 * size:
            return f"{value / size:#.3g}".rstrip(".") + f" {unit}"
    return f"{value * 1e9:.0f} ns"


def cells(c: Case, result: Result) -> list[str]:
    """A row's texts: title, medians, their ratio, that of the best, goal, known, met or not, noise."""
    own, peer = result.median(OWN), result.median(c.peer)
    if own is None or peer is None:
        return [c.title, _seconds(own), "-", "-", "-", _number(c.goal), c.known, "", ""]
    ratio = peer / own
    met = "" if c.goal is None else "yes" if ratio >= c.goal else "no"
    noise = max(result.spread(OWN), result.spread(c.peer))
    return [
        c.title,
        _seconds(own),
        _seconds(peer),
        _ratio(ratio),
        _ratio(min(result.samples[c.peer]) / min(result.samples[OWN])),
        _number(c.goal),
        c.known,
        met,
        f"{noise:.0%}",
    ]


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


_NAMES = ["", OWN, "peer", "ratio", "best", "goal", "known", "met?", "noise"]


def heading() -> str:
    """The line above the rows."""
    return _COLUMNS.format(*_NAMES)


def row(c: Case, result: Result) -> str:
    """One line of the table on the screen."""
    if result.error:
        return f"{c.title:45} not yet: {result.error}"
    return _COLUMNS.format(*cells(c, result)).rstrip()


def as_markdown(where: str, notes: list[str], results: list[tuple[Case, Result]]) -> str:
    """The text of results.md: when and where, notes, the table, and what did not run."""
    lines = ["# Results", "", where + ".", ""]
    for note in notes:
        lines += [note, ""]
    lines += ["| " + " | ".join(["name", *_NAMES]) + " |"]
    lines += ["|---|---|--:|--:|--:|--:|--:|--:|---|--:|"]
    failed = []
    for c, result in results:
        if result.error:
            failed.append(f"- {c.name} ({c.title}): {result.error}")
        else:
            lines.append("| " + " | ".join([c.name, *cells(c, result)]) + " |")
    judged = [cells(c, r)[7] for c, r in results if not r.error]
    lines += ["", f"{judged.count('yes')} of {judged.count('yes') + judged.count('no')} goals met."]
    if failed:
        lines += ["", "Did not run, or gave another result than the peer:", "", *failed]
    return "\n".join(lines) + "\n"
