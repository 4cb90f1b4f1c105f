"""Profiles as HTML pages: sortable tables, a roofline plot, and the source with times."""

from __future__ import annotations

import html
import linecache
from collections.abc import Iterator

from jitney.compiler.hlo.partition.text import bytes_text
from jitney.inspection import quantities, roofline, tables, timing
from jitney.inspection.documents import filled
from jitney.inspection.explain import places_text
from jitney.inspection.figures import Figures
from jitney.inspection.tables import Cell
from jitney.inspection.texts import Places

_MOST_STEPS = 500  # rows of the table
_NAMED_PEAKS = 6  # functions named in the caption of their values
_AROUND = 3  # context lines before and after source lines that took time


def page(profile: Figures) -> str:
    """Returns the profile as a self-contained HTML document."""
    places = Places()
    return filled(
        "profile.html",
        summary="".join(_summary(profile)),
        steps="".join(_steps(profile, places)),
        memory="".join(_memory(profile, places)),
        source="".join(_source(profile, places)),
    )


def _summary(profile: Figures) -> Iterator[str]:
    rows = [
        [
            Cell(what, what),
            Cell(quantities.seconds(seconds) if seconds else "0", seconds),
            _share(seconds, profile),
        ]
        for seconds, what in profile.parts()
    ]
    caption = f"{quantities.seconds(profile.seconds)} in all"
    if profile.peak_bytes:
        caption += f", and {bytes_text(profile.peak_bytes)} of memory at its peak"
    yield tables.table(caption, ("what", "time", "share"), rows)


def _steps(profile: Figures, places: Places) -> Iterator[str]:
    if not profile.steps:
        yield '<p class="hint">No compiled function ran.</p>'
        return
    rates = timing.roof(profile.steps)
    labels = {
        id(work): (f"{function.program.title} #{label}", (i, j))
        for i, function in enumerate(profile.functions)
        for j, (work, label) in enumerate(
            zip(function.program.everything(), function.program.labels(), strict=True)
        )
    }
    positions = {place: n for n, place in enumerate(sorted([at for _, at in labels.values()]))}
    rows: list[list[Cell]] = []
    dots: list[roofline.Dot] = []
    linked: list[tuple[int, ...]] = []
    for step in profile.steps[:_MOST_STEPS]:
        label, at = labels[id(step.work)]
        lines = places_text(step.work.sources)
        linked.append(places.of(step.work.sources))
        rows.append(tables.step_row(step, label, positions[at], lines, profile.seconds, rates))
        dot = tables.dot(step, label, label, profile.seconds, rates, linked[-1])
        dots += [] if dot is None else [dot]
    yield f'<p class="hint">This machine: {rates}. {tables.HINT}</p>'
    if dots:
        yield roofline.svg(dots, rates)
    caption = "steps of compiled functions"
    if len(profile.steps) > _MOST_STEPS:
        caption += f", the longest {_MOST_STEPS} of {len(profile.steps)}"
    yield tables.table(caption, tables.STEP_HEADS, rows, linked)


def _memory(profile: Figures, places: Places) -> Iterator[str]:
    rows: list[list[Cell]] = []
    linked: list[tuple[int, ...]] = []
    for function in profile.functions:
        usage, name = function.memory, function.program.title
        peak = max(usage.live, default=0)
        for value in usage.held:
            sources = [] if value.source is None else [value.source]
            lines = places_text(sources)
            linked.append(places.of(sources))
            rows.append([
                Cell(name, name),
                Cell(bytes_text(value.nbytes), float(value.nbytes)),
                Cell(quantities.share(value.nbytes / peak), value.nbytes / peak),
                Cell(lines, lines),
                Cell(value.what, value.what),
            ])  # fmt: skip
    if rows:
        peaks = [
            f"{bytes_text(function.memory.temporary)} in {function.program.title}"
            for function in profile.functions
            if function.memory.held
        ]
        caption = "temporary values in memory at the peak of a function: "
        caption += ", ".join(peaks[:_NAMED_PEAKS]) + (", ..." if len(peaks) > _NAMED_PEAKS else "")
        heads = ("function", "size", "of its peak", "lines", "value")
        yield tables.table(caption, heads, rows, linked)
    else:
        yield '<p class="hint">No compiled function needs temporary memory.</p>'


def _source(profile: Figures, places: Places) -> Iterator[str]:
    """Yields as HTML the source lines that took time or memory, with context lines."""
    seconds, peak = profile.by_line(), profile.peak_by_line()
    most = max(seconds.values(), default=0.0)
    lines = dict.fromkeys([*places.locations, *seconds, *peak])
    for file in dict.fromkeys([file for file, _ in lines]):
        numbers = sorted({line for name, line in lines if name == file})
        shown = {n for line in numbers for n in range(line - _AROUND, line + _AROUND + 1)}
        yield f'<h3>{html.escape(file)}</h3><table class="source"><thead><tr>'
        yield "".join(f'<th scope="col">{head}</th>' for head in ("time", "share", "peak", "line"))
        yield '<th scope="col">source</th></tr></thead><tbody>'
        last = 0
        for n in sorted(shown):
            text = linecache.getline(file, n).rstrip()
            if not text and n not in numbers:
                continue
            if last and n > last + 1:
                yield '<tr class="gap"><td colspan="5">...</td></tr>'
            last = n
            place = file, n
            time, held = seconds.get(place, 0.0), peak.get(place, 0)
            linked = f' data-p="{places.number(*place)}"' if place in lines else ""
            width = f' style="--part:{100 * time / most:.1f}%"' if time else ""
            yield (
                f"<tr{linked}><td class=number>{quantities.seconds(time) if time else ''}</td>"
                f"<td class=number>{_share(time, profile).text if time else ''}</td>"
                f"<td class=number>{bytes_text(held) if held else ''}</td>"
                f"<td class=number>{n}</td><td class=code{width}>{html.escape(text)}</td></tr>"
            )
        yield "</tbody></table>"
    if not lines:
        yield '<p class="hint">No source line is known.</p>'


def _share(seconds: float, profile: Figures) -> Cell:
    part = seconds / profile.seconds if profile.seconds else 0.0
    return Cell(quantities.share(part), part)
