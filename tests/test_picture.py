"""The picture of speeds: drawn from measurements, and read without its colours, too."""

from xml.etree import ElementTree

import pytest
from benchmarks import picture, start_picture, start_to_end
from benchmarks.rivals import NUMBA, NUMPY
from benchmarks.speed import WORKLOADS


def _times(median: float) -> dict[str, float]:
    return {"median": median, "low": 0.9 * median, "high": 1.2 * median, "samples": 9}


MEASURED = {
    "date": "2026-11-27 12:00",
    "processor": "a processor",
    "threads": 2,
    "load": 0.1,
    "versions": {"jax": "1", "numpy": "2", "numba": "3"},
    "workloads": {
        name: {"title": name, "seconds": {"jitney": _times(1e-3), "jax": _times(1e-3 * (k + 0.5))}
               | ({"numpy": _times(5e-3), "numba": _times(7e-4)} if k else {})}
        for k, name in enumerate(picture.NAMES)
    },
}  # fmt: skip


def test_workloads_are_those_that_are_measured() -> None:
    assert {*picture.NAMES} == {*WORKLOADS}
    assert {*NUMPY} == {*NUMBA} == {*WORKLOADS} - {"lorenz_grad"}


def test_ratios_have_the_quartiles_of_both_sides() -> None:
    found = picture.ratios(MEASURED, "lorenz_grad", "jax")
    assert found == pytest.approx((0.45 / 1.2, 0.5, 0.6 / 0.9))
    assert picture.ratios(MEASURED, "lorenz_grad", "numba") is None


def test_the_picture_is_read_without_its_colours() -> None:
    root = ElementTree.fromstring(picture.svg(MEASURED))
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert tags.count("circle") == len(picture.NAMES) + 1  # JAX, and the legend
    assert tags.count("rect") == len(picture.NAMES)  # NumPy in all but one, and the legend
    described = "".join(root.itertext())
    for name, label in picture.NAMES.items():
        ratio = picture.ratios(MEASURED, name, "jax")
        assert ratio is not None
        assert f"{label}: JAX {picture.times(ratio[1])}" in described
    assert "2026-11-27, a processor, 2 cores" in described
    assert "prefers-color-scheme: dark" in described


def test_the_summary_says_how_many_are_slower() -> None:
    text = picture.summary(MEASURED)
    assert text.startswith(
        "In 7 of 8 workloads jitney is faster than JAX, which takes 0.50 to 7.5 times"
    )


def test_nested_durations_count_once() -> None:
    found = start_to_end.exclusive([
        ("tracing", 2.0, 1.0), ("tracing", 4.0, 3.5), ("lowering", 5.0, 0.5), ("compilation", 9.0, 2.0)
    ])  # fmt: skip
    assert found == {"tracing": 3.5, "lowering": 0.5, "compilation": 2.0}


def test_phases_of_processes_are_drawn_in_order_and_described() -> None:
    sample = dict(zip(start_to_end.PHASES, (0.3, 0.05, 0.01, 0.01, 0.1, 0.03), strict=True))
    times = start_to_end.summary([sample, sample, sample])
    assert times["low"] == times["high"] == pytest.approx(0.5)
    slow = {**times, "imports": 3.0, "low": 3.1, "high": 3.4}
    kinds = {**dict.fromkeys(start_to_end.KINDS, times), "jax": slow}
    workloads = dict.fromkeys(picture.NAMES, kinds)
    sheet = start_picture.draw({**MEASURED, "calls": 11, "workloads": workloads})
    assert sheet.faults() == []
    assert "SELU, 1e6: JAX 3.20 s, of which imports 3.00 and compilation 0.10" in sheet.description
    assert "2026-11-27, a processor, 2 cores; JAX 1; 11 calls" in sheet.svg()
