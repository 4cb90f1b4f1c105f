"""The picture of a roofline: the rates of steps under what the machine does at the most."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

from jitney.core.record import record
from jitney.inspection.machine import Rates

_WIDTH, _HEIGHT = 520, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 44
_LABELLED = (
    12  # dots that have their label beside them: those of the longest steps, where there is room
)
_LETTERS = 24  # of a label
_LETTER, _LINE = 6.5, 12  # width and height of one


@record(frozen=True)
class Dot:
    """A step in the picture.

    Attributes:
      label: its number, or its name.
      title: what it is, and its rates, for a pointer that is held over it.
      intensity: operations for each byte that is moved.
      rate: operations a second.
      share: of the whole time.
      places: numbers of the lines that it comes from.
    """

    label: str
    title: str
    intensity: float
    rate: float
    share: float
    places: tuple[int, ...] = ()


def svg(dots: Sequence[Dot], machine: Rates) -> str:
    """The picture, in an `svg` element: both axes are logarithmic, larger dots take more time."""
    ridge = machine.operations / machine.memory
    xs = [ridge / 4, ridge * 4, *[dot.intensity for dot in dots]]
    low, high = _decade(min(xs)), _decade(max(xs), up=True)
    ys = [machine.operations, min(ridge / 4, *xs) * machine.memory, *[dot.rate for dot in dots]]
    bottom, top = _decade(min(ys)), _decade(max(ys) * 1.5, up=True)

    def x(value: float) -> float:
        share = math.log10(value / low) / math.log10(high / low)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        share = math.log10(value / bottom) / math.log10(top / bottom)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    labelled: list[tuple[float, float, float]] = []  # left, height and width of each label

    def parts() -> Iterator[str]:
        foot, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        for value in _decades(low, high):
            yield _line(x(value), _TOP, x(value), foot)
            yield _text(f"{value:g}", x(value), foot + 16)
        for value in _decades(bottom, top):
            yield _line(_LEFT, y(value), right, y(value))
            yield _text(f"{value / 1e9:g}", _LEFT - 6, y(value) + 4, "end")
        yield _text("operations for each byte", (_LEFT + right) / 2, _HEIGHT - 8)
        middle = (_TOP + foot) / 2
        turned = f' transform="rotate(-90 14 {middle:g})"'
        yield _text("Gflop/s", 14, middle, attributes=turned)
        start = max(low, bottom / machine.memory)
        yield (
            f'<path class="roof" d="M{x(start)} {y(start * machine.memory)} '
            f'L{x(ridge)} {y(machine.operations)} L{x(high)} {y(machine.operations)}"/>'
        )
        for i, dot in enumerate(dots):
            at_x, at_y, radius = x(dot.intensity), y(dot.rate), 3 + 6 * math.sqrt(dot.share)
            yield f'<g class="dot" data-p="{" ".join(map(str, dot.places))}">'
            yield f"<title>{html.escape(dot.title)}</title>"
            yield f'<circle cx="{at_x}" cy="{at_y}" r="{radius:.1f}"/>'
            if i < _LABELLED:
                label = dot.label
                if len(label) > _LETTERS:  # its number is at the end
                    label = f"... {label[4 - _LETTERS :]}"
                wide = _LETTER * len(label)
                is_right = at_x + radius + 2 + wide > _WIDTH  # it would leave the picture
                left = at_x - radius - 2 - wide if is_right else at_x + radius + 2
                if not any(
                    abs(at_y - y_) < _LINE and left < x_ + wide_ and x_ < left + wide
                    for x_, y_, wide_ in labelled
                ):
                    labelled.append((left, at_y, wide))
                    at, anchor = (left + wide, "end") if is_right else (left, "start")
                    yield _text(label, at, at_y + 4, anchor, kind="label")
            yield "</g>"

    said = "; ".join([dot.title for dot in dots[:_LABELLED]])
    alternative = html.escape(f"Roofline: steps under the roof of the machine. {said}")
    return (
        f'<svg class="roofline" role="img" aria-label="{alternative}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}">{"".join(parts())}</svg>'
    )


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
    """The power of ten below a number, or above it."""
    exponent = math.log10(value)
    return 10.0 ** (math.ceil(exponent) if up else math.floor(exponent))


def _decades(low: float, high: float) -> Iterator[float]:
    value = low
    while value <= high * 1.01:
        yield float(f"{value:g}")
        value *= 10
