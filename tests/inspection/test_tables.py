"""Tables escape what they show, and keep what sorts them; rates appear only where they are known."""

import xml.etree.ElementTree as xml
from collections import Counter

import pytest

from jitney.compiler.plan.ir import Buffer, Copy
from jitney.inspection import tables
from jitney.inspection.facts import Work
from jitney.inspection.machine import Rates
from jitney.inspection.tables import STEP_HEADS, Cell
from jitney.inspection.timing import Timed

RATES = Rates(operations=1e9, memory=1e8)
STEP = Copy(Buffer("arena", 8, 0), Buffer("input", 8, 0))


def timed(seconds=2.0, times=4, traffic=1e7, flops=1e7, kind="kernel"):
    work = Work(kind, "a < b", [], Counter(), [], [], traffic, flops, [STEP])
    return Timed(None, work, seconds, times)


def row(step, total=8.0):
    cells = tables.step_row(step, "3", 7, "line 5", total, RATES)
    return dict(zip(STEP_HEADS, cells, strict=True))


def test_cells_are_escaped_and_sorted_by_their_values():
    text = tables.table(
        "a & b", ["<x>", "n"], [[Cell("x<y", "<"), Cell("1 k", 1000.0)], [Cell("", "z"), Cell("", 0)]],
        [(3, 4)],
    )  # fmt: skip
    root = xml.fromstring(text.replace("class=number", ""))
    assert root.find(".//caption").text == "a & b"
    assert [head[0].text for head in root.iter("th")] == ["<x>", "n"]
    assert [cell.get("data-v") for cell in root.iter("td")] == ["<", "1000.0", "z", "0"]
    rows = root.findall(".//tbody/tr")
    assert [r.get("data-p") for r in rows] == ["3 4", None]


def test_rows_of_steps():
    cells = row(timed())
    assert (cells["time"].text, cells["each"].text, cells["share"].text) == (
        "2 s",
        "500 ms",
        "25 %",
    )
    assert (cells["moved"].text, cells["GB/s"].text, cells["Gflop/s"].text) == (
        "10.0 MB",
        "0.02",
        "0.02",
    )
    assert cells["of roof"].text == "20 %" and cells["step"] == Cell("3", 7)
    assert row(timed(), total=0.0)["share"].text == "0 %"


@pytest.mark.parametrize(
    "step, empty",
    [
        (timed(kind="loop"), {"moved", "GB/s", "Gflop/s", "of roof"}),
        (timed(flops=0), {"Gflop/s"}),
        (timed(traffic=0), {"moved", "GB/s"}),
        (timed(seconds=1e-7, times=1), {"GB/s", "Gflop/s", "of roof"}),
    ],
)
def test_cells_without_a_value_come_last(step, empty):
    cells = row(step)
    assert {head for head, cell in cells.items() if cell == Cell("", -1.0)} == empty


def test_dots_have_intensity_and_rate():
    dot = tables.dot(timed(flops=3e7), "3", "f #3", 4.0, RATES, (1,))
    assert (dot.intensity, dot.rate, dot.share, dot.places) == (3.0, 6e7, 0.5, (1,))
    assert dot.title.startswith("f #3: a < b, 60 Mflop/s, 20 MB/s, 20 % of the roof")
    assert tables.dot(timed(flops=0), "3", "f", 4.0, RATES) is None
    assert tables.dot(timed(kind="branch"), "3", "f", 4.0, RATES) is None
