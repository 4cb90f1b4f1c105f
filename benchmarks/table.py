"""The table of results, for the screen and for results.md."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from pathlib import Path

from benchmarks.harness import OWN, Case
from benchmarks.measure import Result

_COLUMNS = "{:45} {:>9} {:>9} {:>7} {:>6} {:>6} {:>9}  {:5} {:>6}"


def machine(threads: int) -> str:
    """One line on when and where: date, processor, cores, load, versions."""
    cpuinfo = Path("/proc/cpuinfo")
    model = platform.processor() or platform.machine()
    if cpuinfo.exists():
        names = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        model = names[0].partition(": ")[2] if names else model
    versions = [f"Python {platform.python_version()}"]
    for package in ("numpy", "jax", "llvmlite"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {package}")
    return (
        f"{time.strftime('%Y-%m-%d %H:%M')}, {model}, {threads} of {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}; {', '.join(versions)}"
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


def as_markdown(about: str, notes: list[str], results: list[tuple[Case, Result]]) -> str:
    """The text of results.md: when and where, notes, the table, and what did not run."""
    lines = ["# Results", "", about + ".", ""]
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
