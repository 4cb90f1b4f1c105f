"""Clock readings become spans of calls and of the steps within them."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import pipeline
from jitney.compiler.plan.clocks import with_clocks
from jitney.inspection import facts, timeline

X = np.ones((60, 60), np.float32)


def clocked(fun, readings):
    """The program, and its clocked plan with `readings`: (step, ticks) pairs; -1 begins a call."""
    module = jax.jit(fun).lower(X)._lowering.module
    plan = pipeline.plan(pipeline.optimize(module))
    own = with_clocks(plan, 16)
    events = np.asarray(readings, np.int64).ravel()
    own.events[0] = len(readings)
    own.events[1 : 1 + events.size] = events[: own.events.size - 1]
    return facts.of_plan(module, plan), own


def spans(fun, readings):
    return [span[:3] for span in timeline.spans(*clocked(fun, readings), lambda ticks: ticks / 10)]


def two(x):
    return jnp.tanh(x @ x) @ x


@pytest.fixture(scope="module")
def steps():
    return len(clocked(two, [(-1, 0)])[1].steps)


def test_steps_begin_where_the_one_before_has_ended(steps):
    first = [(-1, 100), *[(k, 110 + 10 * k) for k in range(steps)]]
    second = [(-1, 500), *[(k, 510 + 10 * k) for k in range(steps)]]
    out = spans(two, [*first, *second])
    calls = [span for span in out if span[0] == "two"]
    assert calls == [("two", 10.0, 10.0 + steps), ("two", 50.0, 50.0 + steps)]
    times = [(begin, end) for name, begin, end in out if name != "two"]
    assert times[: len(times) // 2] == [(10.0 + k, 11.0 + k) for k in range(len(times) // 2)]
    assert len(times) % 2 == 0 and len(times) >= 4


def test_nothing_is_shown_of_programs_that_were_not_called():
    assert spans(two, []) == [] and spans(two, [(-1, 100)]) == []


def test_loops_are_around_their_steps():
    def looped(x):
        return jax.lax.fori_loop(0, 3, lambda _, x: jnp.tanh(x @ x @ x @ x), x)

    _, own = clocked(looped, [])
    within = timeline._within(own)
    loops = [k for k, inner in enumerate(within) if inner]
    assert loops
    loop, inner = loops[-1], sorted(within[loops[-1]])
    ticks = iter(range(110, 10000, 10))
    readings = [(-1, 100), *[(k, next(ticks)) for k in inner * 1], (loop, next(ticks))]
    out = [s for s in timeline.spans(*clocked(looped, readings), float) if s[0] != "looped"]
    longest = max(out, key=lambda span: span[2] - span[1])
    assert longest[1:3] == (100.0, readings[-1][1])
    assert all([longest[1] <= begin <= end <= longest[2] for _, begin, end, _ in out])


def test_details_of_steps():
    readings = [(-1, 0), (0, 10)]
    details = [span[3] for span in timeline.spans(*clocked(two, readings), float)][1]
    assert details["kind"] == "product" and details["operations"] == "432 kflop"
    assert "moved" in details and "lines" in details
