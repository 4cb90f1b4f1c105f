"""`python -m benchmarks.start_picture`: draws the phases of whole processes, from `start_to_end.json`.

Three bars for each workload: JAX, jitney, and jitney with its programs on disk. A bar has a part for
each phase, in the order of time; a line at its end spans the quartiles of the whole.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tools.pictures.sheet import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, WIDTH, Sheet

from benchmarks.harness import OWN, PEER
from benchmarks.picture import NAMES
from benchmarks.start_to_end import KEPT, PHASES

SOURCE = Path(__file__).with_name("start_to_end.json")
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "start_to_end.svg"
_COLOURS = dict(zip(PHASES, (SKY, PURPLE, ORANGE, VERMILION, BLUE, GREEN), strict=True))
_LABELS = {PEER: "JAX", OWN: "jitney", KEPT: "jitney, on disk"}
_LEFT, _BAR = 112, 17


def draw(found: dict[str, Any]) -> Sheet:
    """Draws what was measured."""
    sheet = Sheet("Whole processes from start to end, divided into phases", _described(found))
    longest = max(
        max(times["high"], sum(times[phase] for phase in PHASES))
        for kinds in found["workloads"].values()
        for times in kinds.values()
    )
    scale = (WIDTH - _LEFT - 60) / longest
    for k, (phase, colour) in enumerate(_COLOURS.items()):
        sheet.area(k * 124, 4, 14, 14, colour, 0.6)
        sheet.text(k * 124 + 20, 16, phase, "small")
    y = 36.0
    for name, kinds in found["workloads"].items():
        sheet.text(0, y + 12, NAMES[name])
        y += 20
        for kind, times in kinds.items():
            sheet.text(_LEFT - 10, y + 12, _LABELS[kind], "small", "end", "dim")
            x = float(_LEFT)
            for phase, colour in _COLOURS.items():
                sheet.area(x, y + 1, times[phase] * scale, _BAR - 3, colour, 0.6)
                x += times[phase] * scale
            low, high = _LEFT + times["low"] * scale, _LEFT + times["high"] * scale
            sheet.line(f"M{low:.1f} {y + _BAR / 2:.1f}H{high:.1f}")
            whole = sum(times[phase] for phase in PHASES)
            sheet.text(max(x, high) + 8, y + 12, f"{whole:.2f} s", "small")
            y += _BAR
        y += 12
    versions = found["versions"]
    caption = (
        f"{found['date'][:10]}, {found['processor']}, {found['threads']} cores; JAX {versions['jax']}; "
        f"{found['calls']} calls; medians, quartiles of the whole; load {found['load']:.0f}"
    )
    sheet.text(0, y + 12, caption, "small", more="dim")
    sheet.height = y + 20
    return sheet


def _described(found: dict[str, Any]) -> str:
    said: list[str] = []
    for name, kinds in found["workloads"].items():
        each = [
            f"{_LABELS[kind]} {sum(times[phase] for phase in PHASES):.2f} s, of which imports "
            f"{times['imports']:.2f} and compilation {times['compilation']:.2f}"
            for kind, times in kinds.items()
        ]
        said.append(f"{NAMES[name]}: {'; '.join(each)}.")
    return f"Seconds of processes that call a workload {found['calls']} times. " + " ".join(said)


def main() -> None:
    """Draws the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start_picture", description=__doc__)
    parser.add_argument("--json", type=Path, default=SOURCE)
    parser.add_argument("--out", type=Path, default=PICTURE)
    options = parser.parse_args()
    options.out.write_text(draw(json.loads(options.json.read_text())).svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
