"""Rates are found from the times of a product and a pass, and bound the time of any step."""

import math

from jitney.inspection import machine
from jitney.inspection.machine import Rates

SLOW = Rates(operations=1e9, memory=1e8)


def test_steps_are_bound_by_memory_or_by_operations():
    assert SLOW.least_seconds(1e8, 0) == 1 and SLOW.least_seconds(0, 3e9) == 3
    assert SLOW.least_seconds(2e8, 1e9) == 2


def test_rates_that_a_program_reached_raise_the_measured_ones():
    assert SLOW.raised(1e8, 1e7) is SLOW
    assert SLOW.raised(5e9, 0) == Rates(5e9, 1e8, is_raised=True)
    assert SLOW.raised(0, 2e8) == Rates(1e9, 2e8, is_raised=True)
    assert str(SLOW) == "100 MB/s of memory, 1 Gflop/s of products in float32"
    assert str(SLOW.raised(5e9, 0)).startswith(
        "100 MB/s of memory, 5 Gflop/s (measured, or attained"
    )


def test_rates_of_given_times(monkeypatch):
    monkeypatch.setattr(machine, "_N", 8)
    monkeypatch.setattr(machine, "_BYTES", 64)
    sizes = []

    def seconds(f, x):
        sizes.append((x.shape, f(x).shape, float(f(x).ravel()[0])))
        return 0.5 if x.ndim == 2 else 0.25

    rates = machine.computing(seconds)
    assert sizes == [((8, 8), (8, 8), 8.0), ((16,), (16,), 2.0)]
    assert rates == Rates(2 * 8**3 / 0.5, 2 * 64 / 0.25)


def test_rounds_go_on_while_times_improve(monkeypatch):
    times = iter([5.0, 4.0, 3.99, 3.0, 3.0, 2.99, math.nan])
    monkeypatch.setattr(machine, "_PAUSE", 0)
    monkeypatch.setattr(machine, "_seconds_of_rounds", lambda f, x: next(times))

    class Ready:
        def block_until_ready(self):
            return self

    assert machine._seconds(lambda x: x, Ready()) == 2.99
    assert math.isnan(next(times))
