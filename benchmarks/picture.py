"""`python -m benchmarks.picture`: draws a picture of speeds from `benchmarks/speed.json`.

A row for each workload, a mark for each package: how many times as long as jitney it takes, on a
logarithmic axis, with the quartiles as a bar. The packages differ by shape as well as by colour (Okabe
and Ito's, which all kinds of colour vision tell apart); text and lines take the colour of the page's
theme. The picture's `title` and `desc` say the same in words.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

SOURCE = Path(__file__).with_name("speed.json")
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "speed.svg"

# What is drawn of each package: label, colour, shape.
PACKAGES = {
    "jax": ("JAX", "#0072b2", "circle"),
    "numpy": ("NumPy", "#d55e00", "square"),
    "numba": ("Numba", "#009e73", "diamond"),
}
NAMES = {
    "lorenz_grad": "gradient of an ODE, 20,000 steps",
    "vmap_grad_sin": "elementwise gradient, 1e6",
    "n_body": "N-body, 32 bodies, 1,000 steps",
    "hmc": "HMC, logistic regression",
    "sum_squared_error": "sum of squared errors, 500x500",
    "selu": "SELU, 1e6",
    "lstm": "LSTM, batch 1, 500 steps",
    "sgd_mlp": "SGD step of a network, batch 128",
}

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 760, 262, 24, 62, 30

_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 11px }
.end { text-anchor: end }
.middle { text-anchor: middle }
.grid { stroke: #8c959f; stroke-opacity: .35 }
.one { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .one { stroke: #e6edf3 }
}"""


def ratios(found: dict[str, Any], name: str, package: str) -> tuple[float, float, float] | None:
    """How many times as long as jitney a package takes: (lower, middle, upper); None if not measured.

    The bounds are those of its quartiles over the opposite ones of jitney's.
    """
    seconds = found["workloads"][name]["seconds"]
    if package not in seconds:
        return None
    own, other = seconds["jitney"], seconds[package]
    return (
        other["low"] / own["high"],
        other["median"] / own["median"],
        other["high"] / own["low"],
    )


def times(value: float) -> str:
    """A ratio with two digits, or as a whole number: "0.95", "2.1", "27"."""
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def description(found: dict[str, Any]) -> str:
    """The picture in words."""
    parts: list[str] = []
    for name, label in NAMES.items():
        each = [
            f"{shown} {times(ratio[1])}"
            for package, (shown, _, _) in PACKAGES.items()
            if (ratio := ratios(found, name, package)) is not None
        ]
        parts.append(f"{label}: {', '.join(each)}.")
    return "Times as long as jitney, medians. " + " ".join(parts)


def summary(found: dict[str, Any]) -> str:
    """The picture in a sentence: what is read in place of it."""
    middles = sorted(
        ratio[1] for name in NAMES if (ratio := ratios(found, name, "jax")) is not None
    )
    ahead = sum(middle > 1 for middle in middles)
    return (
        f"In {ahead} of {len(middles)} workloads jitney is faster than JAX, which takes "
        f"{times(middles[0])} to {times(middles[-1])} times as long "
        f"(median {times(statistics.median(middles))})"
    )


def caption(found: dict[str, Any]) -> str:
    """When and where it was measured."""
    versions = found["versions"]
    return (
        f"{found['date'][:10]}, {found['processor']}, {found['threads']} cores; JAX {versions['jax']}, "
        f"NumPy {versions['numpy']}, Numba {versions['numba']}; medians and quartiles, load "
        f"{found['load']:.0f}"
    )


def svg(found: dict[str, Any]) -> str:
    """The picture."""
    marks = [
        (row, package, ratio)
        for row, name in enumerate(NAMES)
        for package in PACKAGES
        if (ratio := ratios(found, name, package)) is not None
    ]
    low = min(min(ratio[0] for _, _, ratio in marks), 1.0)
    high = max(ratio[2] for _, _, ratio in marks)
    first, last = math.log10(low) - 0.06, math.log10(high) + 0.06
    height = _TOP + _ROW * len(NAMES) + 46
    bottom = _TOP + _ROW * len(NAMES)

    def at(value: float) -> float:
        share = (math.log10(value) - first) / (last - first)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'aria-labelledby="title desc">',
        '<title id="title">Time of JAX, NumPy and Numba relative to jitney, eight workloads</title>',
        f'<desc id="desc">{escape(description(found))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<text x="{_LEFT}" y="18">times as long as jitney takes</text>',
        *_legend(),
    ]
    for value in _ticks(low, high):
        style = "one" if value == 1 else "grid"
        x = at(value)
        lines += [
            f'<path class="{style}" d="M{x} {_TOP - 6}V{bottom}"/>',
            f'<text class="small middle" x="{x}" y="{bottom + 14}">{value:g}</text>',
        ]
    for row, label in enumerate(NAMES.values()):
        y = _TOP + _ROW * row + _ROW // 2
        lines.append(f'<text class="end" x="{_LEFT - 12}" y="{y + 4}">{escape(label)}</text>')
    for row, package, (lower, middle, upper) in marks:
        _, colour, shape = PACKAGES[package]
        y = _TOP + _ROW * row + _ROW // 2 + 8 * ([*PACKAGES].index(package) - 1)
        lines += [
            f'<path stroke="{colour}" stroke-width="2" d="M{at(lower)} {y}H{at(upper)}"/>',
            _mark(shape, colour, at(middle), y),
        ]
    text = escape(caption(found))
    lines += [f'<text class="small" x="12" y="{height - 8}">{text}</text>', "</svg>"]
    return "\n".join(lines) + "\n"


def _legend() -> Iterator[str]:
    x = _LEFT
    for label, colour, shape in PACKAGES.values():
        yield _mark(shape, colour, x + 6, 36)
        yield f'<text class="small" x="{x + 17}" y="40">{label}</text>'
        x += 80
    yield f'<text class="small" x="{x + 10}" y="40">right of the line: jitney is faster</text>'


def _mark(shape: str, colour: str, x: float, y: float) -> str:
    match shape:
        case "circle":
            return f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>'
        case "square":
            return f'<rect x="{x - 4.5}" y="{y - 4.5}" width="9" height="9" fill="{colour}"/>'
        case _:
            return f'<path fill="{colour}" d="M{x} {y - 6}l6 6l-6 6l-6 -6z"/>'


def _ticks(low: float, high: float) -> Iterator[float]:
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for digit in (1, 2, 5):
            value = digit * 10.0**power
            if low <= value <= high * 1.05:
                yield value


def main() -> None:
    """Draws the picture."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.picture", description=__doc__)
    parser.add_argument("--json", type=Path, default=SOURCE)
    parser.add_argument("--out", type=Path, default=PICTURE)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(svg(json.loads(options.json.read_text())))


if __name__ == "__main__":
    main()
