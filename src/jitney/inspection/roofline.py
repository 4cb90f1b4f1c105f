"""Roofline diagrams: the rates of steps compared with the peak rates of the machine."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

from jitney.core.util.record import record
from jitney.inspection.machine import Rates

_WIDTH, _HEIGHT = 520, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 44  # margins
_END, _FOOT = (
    _WIDTH - _RIGHT,
    _HEIGHT - _BOTTOM,
)  # right end and base line of the axes
_LABELLED = 12  # dots with a label beside them: those of the longest steps, if there is room
_LETTERS = 24  # maximum length of a label
_LETTER, _LINE = 6.5, 12  # width and height of a letter


@record(frozen=True)
class Dot:
    """A step in the diagram.

    Attributes:
      label: its number, or its name.
      title: its description and rates, shown as a tooltip.
      intensity: operations per byte moved.
      rate: operations per second.
      share: its fraction of the total time.
      places: the numbers of its source lines.
    """

    label: str
    title: str
    intensity: float
    rate: float
    share: float
    places: tuple[int, ...] = ()


def svg(dots: Sequence[Dot], machine: Rates) -> str:
    """Returns the diagram as an `svg` element.

    The axes are logarithmic, and the size of a dot shows how much time its step takes.
    """
    ridge = machine.operations / machine.memory
    xs = [ridge / 4, ridge * 4, *[dot.intensity for dot in dots]]
    ys = [machine.operations, min(ridge / 4, *xs) * machine.memory, *[dot.rate for dot in dots]]
    x = _Axis(_decade(min(xs)), _decade(max(xs), up=True), _LEFT, _END)
    y = _Axis(_decade(min(ys)), _decade(max(ys) * 1.5, up=True), _FOOT, _TOP)
    parts = [*_grid(x, y), _roof(x, y, machine), *_dots(x, y, dots)]
    said = "; ".join([dot.title for dot in dots[:_LABELLED]])
    alternative = html.escape(f"Roofline: steps under the roof of the machine. {said}")
    return (
        f'<svg class="roofline" role="img" aria-label="{alternative}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}">{"".join(parts)}</svg>'
    )


@record(frozen=True)
class _Axis:
    """A logarithmic axis from `low`, drawn at `start`, to `high`, drawn at `end`."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Returns the coordinate of a value."""
        share = math.log10(value / self.low) / math.log10(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)


def _grid(x: _Axis, y: _Axis) -> Iterator[str]:
    """Yields a grid line for each power of ten, with its label, and the names of the axes."""
    for value in _decades(x.low, x.high):
        at = x.place(value)
        yield _line(at, _TOP, at, _FOOT)
        yield _text(f"{value:g}", at, _FOOT + 16)
    for value in _decades(y.low, y.high):
        at = y.place(value)
        yield _line(_LEFT, at, _END, at)
        yield _text(f"{value / 1e9:g}", _LEFT - 6, at + 4, "end")
    yield _text("operations per byte", (_LEFT + _END) / 2, _HEIGHT - 8)
    middle = (_TOP + _FOOT) / 2
    yield _text("Gflop/s", 14, middle, attributes=f' transform="rotate(-90 14 {middle:g})"')


def _roof(x: _Axis, y: _Axis, machine: Rates) -> str:
    """Returns the roof: the line of the memory bandwidth, up to the peak rate of operations."""
    start = max(x.low, y.low / machine.memory)
    ridge, top = machine.operations / machine.memory, y.place(machine.operations)
    return (
        f'<path class="roof" d="M{x.place(start)} {y.place(start * machine.memory)} '
        f'L{x.place(ridge)} {top} L{x.place(x.high)} {top}"/>'
    )


def _dots(x: _Axis, y: _Axis, dots: Sequence[Dot]) -> Iterator[str]:
    """Yields the dots of the steps; the first ones have labels if these do not overlap."""
    labels: list[_Label] = []
    for i, dot in enumerate(dots):
        at_x, at_y, radius = x.place(dot.intensity), y.place(dot.rate), 3 + 6 * math.sqrt(dot.share)
        yield f'<g class="dot" data-p="{" ".join(map(str, dot.places))}">'
        yield f"<title>{html.escape(dot.title)}</title>"
        yield f'<circle cx="{at_x}" cy="{at_y}" r="{radius:.1f}"/>'
        if i < _LABELLED:
            label = _label_beside(dot.label, at_x, at_y, radius)
            if not any(map(label.meets, labels)):
                labels.append(label)
                yield label.svg()
        yield "</g>"


@record(frozen=True)
class _Label:
    """A label beside a dot at height `y`, starting at `left`; if `ends`, it is left of the dot."""

    text: str
    left: float
    y: float
    width: float
    ends: bool

    def meets(self, other: _Label) -> bool:
        """Returns whether two labels overlap."""
        return (
            abs(self.y - other.y) < _LINE
            and self.left < other.left + other.width
            and other.left < self.left + self.width
        )

    def svg(self) -> str:
        """Returns the label as an element."""
        at, anchor = (self.left + self.width, "end") if self.ends else (self.left, "start")
        return _text(self.text, at, self.y + 4, anchor, kind="label")


def _label_beside(text: str, x: float, y: float, radius: float) -> _Label:
    """Places a label to the right of a dot, or to the left if it would leave the diagram."""
    if len(text) > _LETTERS:  # the step number is at its end
        text = f"... {text[4 - _LETTERS :]}"
    width = _LETTER * len(text)
    ends = x + radius + 2 + width > _WIDTH
    return _Label(text, x - radius - 2 - width if ends else x + radius + 2, y, width, ends)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def _text(
    text: str, x: float, y: float, anchor: str = "middle", attributes: str = "", kind: str = "soft"
) -> str:
    return (
        f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}"{attributes}>'
        f"{html.escape(text)}</text>"
    )


def _decade(value: float, up: bool = False) -> float:
    """Returns the nearest power of ten that is not above a number, or not below it if `up`."""
    exponent = math.log10(value)
    return 10.0 ** (math.ceil(exponent) if up else math.floor(exponent))


def _decades(low: float, high: float) -> Iterator[float]:
    value = low
    while value <= high * 1.01:
        yield float(f"{value:g}")
        value *= 10
