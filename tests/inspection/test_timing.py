"""Times of programs that are run for being measured, and what is kept of a program's own calls."""

from __future__ import annotations

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import pipeline
from jitney.compiler.plan.clocks import with_clocks
from jitney.inspection import collect, facts, machine, timing

X = np.arange(40_000, dtype=np.float32).reshape(200, 200)


def looping(x):
    def body(c, _):
        c = jnp.tanh(c @ c.T)
        return c, c.sum()

    return jax.lax.scan(body, x, None, length=7)


def test_steps_of_one_call():
    module = facts.lowered_module(looping, (X,), {})
    clocked = with_clocks(pipeline.plan(pipeline.optimize(module)))
    taken, calls = timing.of_calls(clocked, [X])
    assert calls >= 1
    program = facts.of_plan(module, clocked.original)
    steps = timing.timed(program, clocked, taken)
    (product,) = [step for step in steps if step.work.kind == "product"]
    assert product.times == 7  # of one call, however many there were
    assert product.seconds > 0
    assert all(step.seconds >= 0 for step in steps)


def test_keys_are_operands():
    module = facts.lowered_module(jax.random.normal, (jax.random.key(0),), {})
    clocked = with_clocks(pipeline.plan(pipeline.optimize(module)))
    operands = facts.operands_of(jax.random.normal, (jax.random.key(0),), {})
    assert operands is not None
    assert timing.of_calls(clocked, operands)[1] >= 1


def test_operands():
    jitted = jax.jit(lambda n, x: x * n, static_argnums=0)
    found = facts.operands_of(jitted, (3, X), {})
    assert found is not None
    assert [x is X for x in found] == [True]
    assert facts.operands_of(jitted, (3, jax.ShapeDtypeStruct((2,), np.float32)), {}) is None


def test_what_can_run_again():
    def plan(fun):
        return pipeline.plan(pipeline.optimize(facts.lowered_module(fun, (X,), {})))

    def calls_python(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert timing.can_run_again(plan(looping))
    assert not timing.can_run_again(plan(calls_python))
    assert not timing.can_run_again(plan(lambda x: jax.lax.map(calls_python, x)))


def test_first_arguments_are_kept():
    jax.clear_caches()
    with collect.clocked_runs() as runs:
        f = jax.jit(lambda x: x * 2, donate_argnums=0)
        f(jnp.asarray(X))
        result = f(jnp.asarray(X + 1))
    np.testing.assert_array_equal(result, 2 * (X + 1))
    (run,) = runs
    assert run.arguments is not None
    np.testing.assert_array_equal(run.arguments[0], X)
    assert run.clocked is not None
    assert run.clocked.calls == 2
    assert sum(times for _, times in timing.of_own_calls(run.clocked)) == len(run.clocked.steps)


def test_roof():
    rates = machine.Rates(operations=100.0, memory=10.0)
    assert rates.least_seconds(traffic=20, flops=50) == pytest.approx(2.0)
    assert rates.least_seconds(traffic=5, flops=300) == pytest.approx(3.0)
    measured = machine.rates()
    assert measured is machine.rates()
    assert measured.operations > 1e8
    assert measured.memory > 1e7


def _timed(flops: float, traffic: float, seconds: float) -> timing.Timed:
    program = facts.of_module(facts.lowered_module(jnp.sin, (X,), {}))
    work = program.work[0]
    work.flops, work.traffic = flops, traffic
    return timing.Timed(program, work, seconds, 1)


def test_the_roof_is_not_below_what_a_step_reached(monkeypatch):
    rates = machine.Rates(operations=1e9, memory=1e9)
    monkeypatch.setattr(machine, "rates", lambda: rates)
    fast, far, near = _timed(3e9, 1.0, 1.0), _timed(1.0, 4e9, 1.0), _timed(1.0, 1e7, 1e-3)
    assert timing.roof([]) is rates
    assert timing.roof([_timed(5e8, 1e8, 1.0)]) is rates
    raised = timing.roof([fast, far, near])
    assert (raised.operations, raised.memory) == (3e9, 4e9)
    assert "attained by a step" in str(raised)
    assert fast.share_of_roof(raised) == far.share_of_roof(raised) == pytest.approx(1.0)
    assert fast.roof_text(raised) == "100 %"
    assert near.share_of_roof(raised) > 2  # 10 GB/s of what caches hold: memory is not as fast
    assert near.roof_text(raised) == "in caches"


def test_loops_of_unknown_length_have_no_rates():
    def growing(x):
        return jax.lax.while_loop(lambda c: jnp.all(c < 1e5), lambda c: c * 1.5, x)

    program = facts.of_module(facts.lowered_module(growing, (np.ones(9, np.float32),), {}))
    loops = [work for work in program.everything() if work.is_of_unknown_length]
    assert loops
    for work in loops:
        assert not timing.Timed(program, work, 1.0, 1).is_rated


def test_the_machine_is_measured_until_it_gets_no_faster(monkeypatch):
    times = iter([4.0, 2.0, 2.01, 1.5, 1.49, 1.48, 1.0])
    monkeypatch.setattr(machine, "_seconds_of_rounds", lambda f, x: next(times))
    monkeypatch.setattr(machine, "_PAUSE", 0.0)
    assert machine._seconds(lambda x: x, jnp.ones(1)) == 1.48
    assert next(times) == 1.0
