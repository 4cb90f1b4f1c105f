"""Quantities have three significant digits, and never more before the point."""

import math

import pytest

from jitney.inspection import quantities


@pytest.mark.parametrize(
    "t, text",
    [
        (0.0, "0 ns"), (3e-10, "0.3 ns"), (1.5e-6, "1.5 us"), (0.024, "24 ms"), (3.25, "3.25 s"),
        (0.9994, "999 ms"), (0.9996, "1 s"), (9.996e-4, "1 ms"), (math.inf, "inf s"),
    ],
)  # fmt: skip
def test_seconds(t, text):
    assert quantities.seconds(t) == text


@pytest.mark.parametrize(
    "n, number",
    [
        (0, "0 "), (999.4, "999 "), (999.6, "1 k"), (1.2e8, "120 M"), (12.5e9, "12.5 G"),
        (2e18, "2 E"), (5e22, "50 Z"), (math.inf, "inf Z"),
    ],
)  # fmt: skip
def test_numbers_and_rates(n, number):
    assert quantities.flops(n) == f"{number}flop"
    assert quantities.flops_rate(n) == f"{number}flop/s"
    assert quantities.bytes_rate(n) == f"{number}B/s"


@pytest.mark.parametrize("exponent", range(-9, 3))
def test_digits_are_those_of_the_number(exponent):
    t = 1.2345 * 10.0**exponent
    number, unit = quantities.seconds(t).split()
    scale = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    assert math.isclose(float(number) * scale, t, rel_tol=5e-3) and len(number) <= 4


def test_shares():
    assert [quantities.share(x) for x in (0.0, 0.125, 0.999, 1.5)] == [
        "0 %",
        "12 %",
        "100 %",
        "150 %",
    ]
