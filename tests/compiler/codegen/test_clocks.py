"""Readings of the clock add to the times of steps, and are recorded until the array is full."""

import numpy as np
from tests.compiler.written import run

from jitney.compiler.codegen import clocks
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import NEON, X86_SSE2
from jitney.compiler.llvm.values import Value
from jitney.compiler.plan import ir


def clocked(indices, counters, events):
    """Runs readings of the clock for steps, one after the other."""

    def write(e, pc, pe):
        for index in indices:
            step = ir.Clock(counters, index, events)
            clocks.write(e, step, lambda data: pc if data is counters else pe)

    run(write, counters, np.zeros(1) if events is None else events)


def test_steps_are_timed_from_the_reading_before():
    counters = np.zeros(1 + 2 * 2 + 2, np.int64)
    clocked([-1, 0, 1, 0], counters, None)
    last, ticks, times, other, once, idle, calls = counters.tolist()
    assert (times, once, calls) == (2, 1, 1)
    assert ticks >= 0 and other >= 0 and idle == 0
    clocked([-1], counters, None)
    assert counters[0] > last and counters[6] == 2
    assert counters[1:5].tolist() == [ticks, times, other, once]  # not the time between calls


def test_readings_beyond_the_array_replace_the_last():
    counters, events = np.zeros(7, np.int64), np.zeros(1 + 2 * 3, np.int64)
    clocked([-1, 0, 1, 0, 1], counters, events)
    count, *pairs = events.tolist()
    assert count == 5 and pairs[::2] == [-1, 0, 1]
    assert pairs[1] <= pairs[3] <= pairs[5] == counters[0]


def test_processors_have_their_own_clocks():
    for target, text in ((X86_SSE2, "readcyclecounter"), (NEON, "cntvct_el0")):
        e = Emitter(target)
        clocks.write(e, ir.Clock(np.zeros(3, np.int64), 0), lambda data: Value("%c", "ptr"))
        assert any(text in line for line in e.lines)
