"""The user's programs that are compiled within a context are collected; nested times count once."""

import time

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.settings import compile_log
from jitney.inspection import collect
from jitney.runtime.compilation import compiling

X = np.ones(5, np.float32)


def test_modules_that_are_compiled_within_the_context():
    load = compiling.backend_compile_and_load
    with collect.compiled_modules() as modules:
        jax.jit(lambda x: x * 3.25, inline=False)(X)
        jnp.linspace(0.0, 1.0, 37)  # of this package, outside of jit
        assert compiling.backend_compile_and_load is not load
    assert [module.name for module in modules] == ["<lambda>"]
    assert compiling.backend_compile_and_load is load
    jax.jit(lambda x: x * 4.25)(X)
    assert len(modules) == 1


def test_the_compiler_is_restored_after_an_error():
    load = compiling.backend_compile_and_load
    with pytest.raises(ZeroDivisionError), collect.compiled_modules():
        1 // 0  # noqa: B018
    assert compiling.backend_compile_and_load is load


def test_runs_keep_the_first_arguments_and_count_calls():
    with collect.clocked_runs() as runs:
        f = jax.jit(lambda x: jnp.tanh(x) + 0.125)
        results = [np.asarray(f(X * k)) for k in (1, 2)]
    (run,) = runs
    np.testing.assert_array_equal(run.arguments[0], X)
    assert run.clocked.calls == 2
    np.testing.assert_array_equal(results[1], np.asarray(jnp.tanh(2 * X) + 0.125))


def test_large_arguments_are_not_kept(monkeypatch):
    monkeypatch.setattr(collect, "_KEPT_BYTES", 8)
    with collect.clocked_runs() as runs:
        jax.jit(lambda x: x * 5.125)(X)
    assert runs[0].arguments is None and runs[0].clocked.calls == 1


def test_nested_durations_are_counted_once():
    total = collect.Durations()
    begun = time.perf_counter()
    events = compile_log.EVENTS
    total.note(events["tracing"], 1e-6)
    elapsed = time.perf_counter() - begun
    total.note(events["tracing"], elapsed + 1.0)  # begun before, so the first is within it
    total.note("another event", 50.0)
    total.note(events["compilation"], 0.0)
    assert total.seconds["tracing"] == pytest.approx(1e-6 + elapsed + 1.0 - 1e-6, abs=1e-9)
    assert (total.seconds["lowering"], total.compilations) == (0.0, 1)


def test_durations_of_a_context():
    with collect.durations() as total:
        jax.jit(lambda x: jnp.cos(x) * 6.5)(X)
    assert total.compilations >= 1 and all(t > 0 for t in total.seconds.values())
    before = dict(total.seconds)
    jax.jit(lambda x: jnp.cos(x) * 7.5)(X)
    assert total.seconds == before
