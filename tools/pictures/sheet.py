"""A sheet on which a picture is drawn: an SVG that can be read on white and on dark.

Lines and texts take the colour of the reader's theme (`prefers-color-scheme`). Areas have one of Okabe
and Ito's colours, which all kinds of colour vision tell apart, and a number or a word says the
same as a colour. Sizes are in units of the view box, about pixels of a page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.sax.saxutils import escape

WIDTH = 760

# Okabe and Ito, "Color Universal Design", 2008.
BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#cc79a7",
)

# The widest letters of usual fonts, relative to the size of the font.
_MONOSPACED, _PROPORTIONAL = 0.605, 0.56

_SIZES = {"": 13.0, "small": 11.5, "code": 11.5, "title": 14.0}

_STYLE = """\
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1f2328 }
.small { font-size: 11.5px }
.title { font-size: 14px; font-weight: 600 }
.code { font: 11.5px ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre }
.end { text-anchor: end }
.middle { text-anchor: middle }
.dim { fill: #59636e }
.panel { fill: #818b98; fill-opacity: .09 }
.line { stroke: #59636e; fill: none; stroke-width: 1.4 }
.thin { stroke: #818b98; fill: none; stroke-opacity: .6 }
.head { fill: #59636e }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .dim { fill: #9198a1 }
  .line { stroke: #9198a1 }
  .head { fill: #9198a1 }
}"""


@dataclass(frozen=True)
class Extent:
    """Where a text is, as estimated: the box of its letters."""

    text: str
    left: float
    right: float
    top: float
    bottom: float

    def overlaps(self, other: Extent) -> bool:
        """Whether some point is in both."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


@dataclass
class Sheet:
    """A picture that is being drawn.

    Attributes:
      title: of the picture, a few words.
      description: the picture in words.
      height: of the view box.
      extents: of its texts.
    """

    title: str
    description: str
    height: float = 0
    extents: list[Extent] = field(default_factory=list[Extent])
    _parts: list[str] = field(default_factory=list[str])

    def text(
        self, x: float, y: float, text: str, kind: str = "", anchor: str = "", more: str = ""
    ) -> None:
        """Writes a line whose letters stand at `y`.

        Args:
          x, y: of its start, or of its middle or end (`anchor`).
          text: that is written.
          kind: "small", "title", "code" or "".
          anchor: "middle", "end" or "".
          more: further classes.
        """
        size = _SIZES[kind]
        width = size * len(text) * (_MONOSPACED if kind == "code" else _PROPORTIONAL)
        left = x - width * {"": 0, "middle": 0.5, "end": 1}[anchor]
        self.extents.append(Extent(text, left, left + width, y - 0.75 * size, y + 0.2 * size))
        classes = " ".join(filter(None, [kind, anchor, more]))
        named = f' class="{classes}"' if classes else ""
        # Browsers that ignore `white-space: pre` would drop indents: no-break spaces stay.
        shown = escape(text).replace("  ", "\u00a0\u00a0")
        self._parts.append(f'<text{named} x="{_n(x)}" y="{_n(y)}">{shown}</text>')

    def area(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str = "",
        strength: float = 0.3,
    ) -> None:
        """Fills a rectangle: with a colour, or as a neutral panel with round corners."""
        fill = f'fill="{colour}" fill-opacity="{strength:g}"' if colour else 'class="panel" rx="4"'
        self._parts.append(f"<rect {fill} {_box(x, y, width, height)}/>")

    def frame(self, x: float, y: float, width: float, height: float, colour: str = "") -> None:
        """Draws the edge of a rectangle, in a colour or in that of lines."""
        stroke = f'fill="none" stroke="{colour}" stroke-width="1.6"' if colour else 'class="line"'
        self._parts.append(f"<rect {stroke} {_box(x, y, width, height)}/>")

    def line(self, path: str, kind: str = "line", dash: str = "") -> None:
        """Draws a path, given as in SVG."""
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self._parts.append(f'<path class="{kind}" d="{path}"{dashes}/>')

    def arrow(self, x1: float, y1: float, x2: float, y2: float, dash: str = "") -> None:
        """Draws an arrow along an axis."""
        self.line(f"M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}", dash=dash)
        if x1 == x2:
            way = 5 if y2 > y1 else -5
            head = f"M{_n(x2)} {_n(y2)}l-4 {-way * 1.4:g}h8z"
        else:
            way = 5 if x2 > x1 else -5
            head = f"M{_n(x2)} {_n(y2)}l{-way * 1.4:g} -4v8z"
        self._parts.append(f'<path class="head" d="{head}"/>')

    def svg(self) -> str:
        """The file."""
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {_n(self.height)}" '
            'role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="desc">{escape(self.description)}</desc>',
            f"<style>{_STYLE}</style>",
            *self._parts,
            "</svg>",
            "",
        ])  # fmt: skip

    def faults(self) -> list[str]:
        """What cannot be read: texts that leave the picture or that lie on each other, as estimated."""
        found = [
            f"{each.text!r} leaves the picture"
            for each in self.extents
            if each.left < 0 or each.right > WIDTH or each.top < 0 or each.bottom > self.height
        ]
        for i, each in enumerate(self.extents):
            found += [
                f"{each.text!r} and {other.text!r} overlap"
                for other in self.extents[i + 1 :]
                if each.overlaps(other)
            ]
        return found


def _box(x: float, y: float, width: float, height: float) -> str:
    return f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'


def _n(value: float) -> str:
    return f"{round(value, 1):g}"
