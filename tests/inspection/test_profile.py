"""Profiles: what the clocks count, what the tables say, and that programs are left as they were."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.cli import command
from jitney.compiler import pipeline
from jitney.compiler.plan import ir
from jitney.compiler.plan.clocks import with_clocks
from jitney.compiler.plan.text import print_plan

X, W = np.ones((400, 300), np.float32), np.ones((300, 200), np.float32)


def layer(x, w):
    z = x @ w
    return jnp.tanh(z) - z.mean(0)


def looping(x):
    def body(c, _):
        c = jnp.tanh(c @ c.T)
        return c, c.sum()

    return jax.lax.scan(body, x, None, length=7)


def test_steps_are_counted_and_results_are_the_same():
    expected = jax.jit(layer)(X, W)
    with jax.profile() as p:
        f = jax.jit(layer)
        for _ in range(3):
            result = f(X, W)
    np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))
    assert {step.times for step in p.steps} == {3}
    assert {step.program.name for step in p.steps} == {"layer"}
    (product,) = [step for step in p.steps if step.work.kind == "product"]
    assert product.work.flops == 2 * 400 * 300 * 200
    assert product.seconds > 0
    line = layer.__code__.co_firstlineno + 1
    assert (__file__, line) in p.by_line()


def test_loops_are_timed_step_by_step():
    with jax.profile() as p:
        jax.jit(looping)(np.ones((100, 100), np.float32))
    timed = [(step.work.kind, step.times) for step in p.steps]
    assert ("product", 7) in timed
    assert ("loop", 1) in timed


def test_short_loops_have_one_clock():
    def counting(x):
        def step(i, c):
            return jax.lax.optimization_barrier(c * 1.1 + i)

        return jax.lax.fori_loop(0, 100, step, x)

    with jax.profile() as p:
        jax.jit(counting)(np.ones(4, np.float32))
    assert [step.times for step in p.steps] == [1] * len(p.steps)


def test_times_add_up():
    with jax.profile() as p:
        jax.jit(layer)(X, W)
        time.sleep(0.2)
    parts = (p.tracing, p.lowering, p.compiling, p.running, p.python)
    assert all(part >= 0 for part in parts)
    assert sum(parts) == pytest.approx(p.seconds)
    assert 0.2 <= p.python <= p.seconds
    assert sum(p.by_line().values()) <= p.running * 1.001


def test_nested_traces_count_once():
    inner = jax.jit(lambda x: jnp.sin(x) * 2)

    @jax.jit
    def outer(x):
        for _ in range(30):
            x = jax.jit(lambda y: inner(y) + 1)(x)
        return x

    with jax.profile() as p:
        outer(X)
    assert 0 < p.tracing + p.lowering + p.compiling <= p.seconds


def test_programs_are_left_without_clocks():
    f = jax.jit(layer)
    f(X, W)
    with jax.profile() as p:
        f(X, W)
    count = p.steps[0].times
    f(X, W)
    assert f._cache_size() == 1
    with jax.profile() as again:
        pass
    assert not again.steps
    assert p.steps[0].times == count


def test_errors_pass_and_end_the_profile():
    with pytest.raises(ZeroDivisionError), jax.profile() as p:
        jax.jit(layer)(X, W)
        raise ZeroDivisionError
    assert p.steps
    with jax.profile(), pytest.raises(RuntimeError, match="one at a time"), jax.profile():
        pass


def test_tables():
    with jax.profile() as p:
        jax.jit(layer)(X, W)
    text = str(p)
    assert "s in all:" in text
    assert "compilation" in text
    line = layer.__code__.co_firstlineno + 1
    assert f"layer, test_profile.py line {line}: 400x300 @ 300x200 by BLAS" in text
    assert f"test_profile.py:{line}" in text
    assert text.rstrip().endswith(("z = x @ w", "return jnp.tanh(z) - z.mean(0)"))


def test_text_of_a_plan_with_clocks():
    module = jax.jit(layer).lower(X, W)._lowering.module
    clocked = with_clocks(pipeline.plan(pipeline.optimize(module)))
    text = print_plan(clocked.plan)
    assert text.splitlines()[1] == "  clock -1"
    assert text.count("  clock ") == 1 + len(clocked.steps)
    assert not any(isinstance(step, ir.Clock) for step in clocked.original.steps)


def test_command(tmp_path: Path, jitney_command):
    program = tmp_path / "program.py"
    program.write_text(
        "import jax, jax.numpy as jnp, sys\n"
        "@jax.jit\ndef f(x):\n    return jnp.sin(x).sum()\n"
        "for _ in range(4): f(jnp.ones(1000))\n"
        "print(sys.argv[1:])\n"
    )
    status, out, _ = jitney_command("profile", str(program), "--steps", "3")
    assert status == 0
    assert out.startswith("['--steps', '3']\n")
    assert "f, program.py line 4: " in out
    assert "return jnp.sin(x).sum()" in out
    assert command.main(["profile", "--help"]) == 0
    assert command.main(["profile"]) == 2
