"""The picture of a roofline: where dots and roof are."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml

from jitney.inspection.machine import Rates
from jitney.inspection.roofline import Dot, svg

MACHINE = Rates(operations=1e11, memory=1e10)


def _circles(picture: str) -> list[tuple[float, float, float]]:
    return [
        (float(x), float(y), float(r))
        for x, y, r in re.findall(r'<circle cx="(\S+)" cy="(\S+)" r="(\S+)"', picture)
    ]


def test_dots_lie_on_the_roof_where_they_reach_it():
    on_memory = Dot("1", "a", intensity=1.0, rate=1e10, share=0.25)
    at_ridge = Dot("2", "b", intensity=10.0, rate=1e11, share=1.0)
    picture = svg([on_memory, at_ridge], MACHINE)
    (x1, y1, r1), (x2, y2, r2) = _circles(picture)
    roof = re.search(r'class="roof" d="M(\S+) (\S+) L(\S+) (\S+) L', picture)
    assert roof is not None
    start_x, start_y, ridge_x, ridge_y = map(float, roof.groups())
    assert (x2, y2) == (ridge_x, ridge_y)
    on_line = start_y + (ridge_y - start_y) * (x1 - start_x) / (ridge_x - start_x)
    assert abs(y1 - on_line) < 0.2
    assert r1 < r2


def test_all_lies_within_the_picture_and_is_said():
    dots = [
        Dot("1", "slow <one>", intensity=1e-3, rate=1e5, share=0.5, places=(3, 4)),
        Dot("2", "fast", intensity=1e4, rate=5e11, share=0.5),
    ]
    picture = svg(dots, MACHINE)
    root = xml.fromstring(picture)
    assert "slow <one>; fast" in root.attrib["aria-label"]
    assert all(64 <= x <= 504 and 16 <= y <= 276 for x, y, _ in _circles(picture))
    assert 'data-p="3 4"' in picture


def test_labels_are_short_and_apart():
    name = "vmap of forward pass of loss"
    dots = [
        Dot(f"{name} #{n}", "a", intensity=10.0, rate=rate, share=0.1)
        for n, rate in enumerate([1e10, 1.01e10, 1e9])
    ]
    labels = re.findall(r'<text class="label"[^>]* y="(\S+)"[^>]*>([^<]*)<', svg(dots, MACHINE))
    assert [text[-3:] for _, text in labels] == [" #0", " #2"]  # that of #1 would cover #0
    assert all(len(text) <= 24 and text.startswith("... ") for _, text in labels)
