"""Source maps, which map positions in generated text to positions in source files.

A map has a group of segments for each line of the text. A segment is a tuple of numbers: the column
in the text, optionally followed by source file, line and column, optionally followed by a name. All
numbers count from zero and are encoded as differences: the column in the text is relative to the
previous segment of the line, and other numbers are relative to the previous segment that has them.
In JSON they are encoded in base 64.

Source: ECMA-426, "Source map format specification", https://tc39.es/ecma426.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from jitney.core.util.record import record

Segment: TypeAlias = "tuple[int, ...]"
Mappings: TypeAlias = "Sequence[Sequence[Segment]]"

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_BITS = 5  # payload bits of a digit; the highest bit is set if more digits follow


@record(frozen=True)
class SourceMap:
    """A source map.

    Attributes:
      version: version of the format, 3.
      sources: names of the source files.
      sources_content: contents of the source files; can be empty.
      names: names that segments refer to.
      mappings: groups of segments, one for each line.
    """

    version: int
    sources: Sequence[str]
    sources_content: Sequence[str]
    names: Sequence[str]
    mappings: Mappings

    def to_json(self) -> str:
        """Returns the map as JSON in the format of ECMA-426.

        Example:
          >>> from jax.experimental.source_mapper import SourceMap
          >>> SourceMap(3, ["a.py"], [], [], [[], [(4, 0, 2, 8)]]).to_json()
          '{"version": 3, "sources": ["a.py"], "sourcesContent": [], "names": [], "mappings":
            ";IAEQ"}'
        """
        fields = {
            "version": self.version,
            "sources": self.sources,
            "sourcesContent": self.sources_content,
            "names": self.names,
            "mappings": ";".join([",".join(map(_encoded, group)) for group in self.mappings]),
        }
        return json.dumps(fields)

    @classmethod
    def from_json(cls, json_data: str) -> SourceMap:
        """Parses a map in JSON.

        Raises:
          KeyError: if a field is missing.
        """
        fields = json.loads(json_data)
        groups = fields["mappings"].split(";")
        return cls(
            fields["version"],
            fields["sources"],
            fields["sourcesContent"],
            fields["names"],
            [[tuple(_decoded(text)) for text in group.split(",") if text] for group in groups],
        )


def _encoded(segment: Segment) -> str:
    out: list[str] = []
    for number in segment:
        rest = abs(number) << 1 | (number < 0)
        while True:
            rest, digit = rest >> _BITS, rest & ((1 << _BITS) - 1)
            out.append(_DIGITS[digit | (1 << _BITS if rest else 0)])
            if not rest:
                break
    return "".join(out)


def _decoded(text: str) -> Iterator[int]:
    number = shift = 0
    for letter in text:
        digit = _VALUES[letter]
        number |= (digit & ((1 << _BITS) - 1)) << shift
        shift += _BITS
        if digit >> _BITS == 0:
            yield -(number >> 1) if number & 1 else number >> 1
            number = shift = 0


class MappingsGenerator:
    """Builds the mappings of a source map from segments with absolute numbers."""

    def __init__(self) -> None:
        self._groups: list[list[Segment]] = []
        self._column = 0
        self._last = [0, 0, 0, 0]  # source, line, column, name

    def new_group(self) -> None:
        """Starts the next line of the text."""
        self._groups.append([])
        self._column = 0

    def new_segment(self, *seg: int) -> None:
        """Adds a segment (column, source, source line, source column, name).

        The name, or all numbers after the first one, can be omitted.

        Raises:
          RuntimeError: if no line has been started.
        """
        if not self._groups:
            raise RuntimeError(
                "MappingsGenerator.new_segment: call new_group first to start a line"
            )
        column, *position = seg
        relative = [new - last for new, last in zip(position, self._last, strict=False)]
        self._groups[-1].append((column - self._column, *relative))
        self._column = column
        self._last[: len(position)] = position

    def mappings(self) -> Mappings:
        """Returns the groups of all lines."""
        return self._groups
