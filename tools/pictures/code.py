"""Code on a sheet, each line on the colours of the lines of Python that it comes from."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tools.pictures.sheet import BLUE, ORANGE, Sheet

import jitney as jax
from jitney.inspection import texts

COLOURS = (BLUE, ORANGE)
ROW = 16.5  # from a line of code to the next
_MARGIN = 6
_ONE_LINE = re.compile(r"(\{ lambda .*?\. let) (.*) (in \(.*\) \})")


class Body:
    """The lines of a function's body, numbered from 0, and the texts that come from them."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        source, first = inspect.getsourcelines(fun)
        self.places = texts.Places()
        for k in range(1, len(source)):
            self.places.number(inspect.getsourcefile(fun) or "", first + k)
        self._numbers = range(len(source) - 1)
        self.python = [
            texts.Line(line.rstrip(), (k - 1,) if k else ()) for k, line in enumerate(source)
        ]

    def among(self, places: Iterable[int]) -> tuple[int, ...]:
        """Those of `places` that are lines of the body, in order."""
        return tuple(sorted({*places} & {*self._numbers}))

    def known(self, lines: Iterable[texts.Line]) -> list[texts.Line]:
        """The same lines, without places elsewhere."""
        return [texts.Line(line.text, self.among(line.places)) for line in lines]

    def jaxpr(self, fun: Callable[..., Any], *args: object) -> list[texts.Line]:
        """The jaxpr of `fun`, which may be a transformation of the function; a line for an equation."""
        found = self.known(texts.of_jaxpr(jax.make_jaxpr(fun)(*args).jaxpr, self.places))
        short = _ONE_LINE.match(found[0].text)
        if short is None:
            return found
        equations = short[2].split("; ")
        return [
            texts.Line(short[1]),
            *[
                texts.Line(f"    {text}", line.places)
                for text, line in zip(equations, found, strict=True)
            ],
            texts.Line(f"  {short[3]}"),
        ]


def code(sheet: Sheet, x: float, y: float, width: float, lines: Sequence[texts.Line]) -> None:
    """Writes lines of code, with the numbers of the lines that they come from at the right."""
    for line in lines:
        share = width / max(len(line.places), 1)
        for k, place in enumerate(line.places):
            sheet.area(x + k * share, y, share, ROW - 1, COLOURS[place])
            sheet.area(x + k * share, y, 3, ROW - 1, COLOURS[place], 1)
        sheet.text(x + 2 * _MARGIN, y + 12, line.text, "code")
        if line.places:
            names = " ".join(str(place + 1) for place in line.places)
            sheet.text(x + width - _MARGIN, y + 12, names, "small", "end")
        y += ROW
