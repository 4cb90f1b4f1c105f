"""HTML tables of steps and of lines; clicking a heading sorts them (`table.js`)."""

from __future__ import annotations

import html
from collections.abc import Sequence

from jitney.compiler.hlo.partition.text import bytes_text
from jitney.core.util.record import record
from jitney.inspection import quantities
from jitney.inspection.machine import Rates
from jitney.inspection.roofline import Dot
from jitney.inspection.timing import Timed


@record(frozen=True)
class Cell:
    """The text of a cell and its sort key."""

    text: str
    value: float | str


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    places: Sequence[tuple[int, ...]] = (),
) -> str:
    """Formats a sortable table.

    Args:
      caption: the caption of the table.
      heads: the column headings.
      rows: rows of cells, or of texts.
      places: for each row, the numbers of the source lines that are highlighted with it.
    """
    head = "".join(
        f'<th scope="col" aria-sort="none"><button data-sort="{i}">{html.escape(title)}</button></th>'
        for i, title in enumerate(heads)
    )
    lines: list[str] = []
    for i, row in enumerate(rows):
        linked = (
            f' data-p="{" ".join(map(str, places[i]))}"' if i < len(places) and places[i] else ""
        )
        cells = "".join(
            f"<td{' class=number' if isinstance(cell.value, float) else ''} "
            f'data-v="{html.escape(str(cell.value))}">{html.escape(cell.text)}</td>'
            for cell in row
        )
        lines.append(f"<tr{linked}>{cells}</tr>")
    return (
        f'<div class="wide"><table><caption>{html.escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


HINT = (
    "Bytes and operations are the minimum that a step needs; values in caches are moved faster "
    "than memory allows. Click a heading to sort."
)
STEP_HEADS = (
    "step", "lines", "what", "time", "share", "times", "each", "moved", "GB/s", "Gflop/s", "of roof",
)  # fmt: skip


def step_row(
    step: Timed, label: str, position: int, lines: str, total: float, machine: Rates
) -> list[Cell]:
    """Returns the cells of a step under `STEP_HEADS`.

    Args:
      step: a step with its times.
      label: its number, or its name.
      position: its position among the steps, by which the first column is sorted.
      lines: its source lines, in words.
      total: the number of seconds that corresponds to 100 %.
      machine: the peak rates of the machine.
    """
    part = step.seconds / total if total else 0.0
    each = step.seconds / step.times if step.times else 0.0
    none = Cell("", -1.0)
    rated = step.is_rated
    moved, done = step.work.traffic, step.work.flops
    roof = step.share_of_roof(machine)
    return [
        Cell(label, position),
        Cell(lines, lines),
        Cell(step.work.what, step.work.what),
        Cell(quantities.seconds(step.seconds), step.seconds),
        Cell(quantities.share(part), part),
        Cell(str(step.times), float(step.times)),
        Cell(quantities.seconds(each), each),
        Cell(bytes_text(moved), moved) if moved and not step.work.is_of_unknown_length else none,
        Cell(f"{step.bytes_rate / 1e9:.3g}", step.bytes_rate) if rated and moved else none,
        Cell(f"{step.flops_rate / 1e9:.3g}", step.flops_rate) if rated and done else none,
        Cell(step.roof_text(machine), roof) if rated and (moved or done) else none,
    ]


def dot(
    step: Timed, label: str, name: str, total: float, machine: Rates, places: tuple[int, ...] = ()
) -> Dot | None:
    """Returns the dot of a step in the roofline.

    Returns None if the step has no rates, or computes or moves nothing.

    Args:
      step: a step with its times.
      label: the label beside the dot.
      name: the name of the step in the tooltip.
      total: the number of seconds that corresponds to 100 %.
      machine: the peak rates of the machine.
      places: the numbers of its source lines.
    """
    work = step.work
    if not (step.is_rated and work.flops and work.traffic):
        return None
    title = (
        f"{name}: {work.what}, {quantities.flops_rate(step.flops_rate)}, "
        f"{quantities.bytes_rate(step.bytes_rate)}, {_of_roof(step, machine)}"
    )
    part = step.seconds / total if total else 0.0
    return Dot(label, title, work.flops / work.traffic, step.flops_rate, part, places)


def _of_roof(step: Timed, machine: Rates) -> str:
    text = step.roof_text(machine)
    return f"{text} of the roof" if text.endswith("%") else text
