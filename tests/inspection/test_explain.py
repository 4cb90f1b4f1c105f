"""`jitney.explain` and `jitney explain`: the words, and the command."""

from __future__ import annotations

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.cli import command

PROGRAM = """\
import jax
import jax.numpy as jnp

@jax.jit
def loss(w, x):
    h = jnp.tanh(x @ w)
    return jnp.mean(h.sum(1) ** 2)

@jax.jit
def other(x):
    return x + 1

x = jnp.ones((30, 20))
print(float(loss(jnp.ones((20, 5)), x)), other(x).shape, jnp.sort(x).shape)
"""


def test_lines_of_a_layer():
    def layer(x, w):
        return jnp.tanh(x @ w) + 1

    text = str(jax.explain(layer)(jnp.ones((30, 20)), jnp.ones((20, 5))))
    line = layer.__code__.co_firstlineno + 1
    head, place, _, product, values, passes, *_, last = text.splitlines()
    assert head == "layer(x: float32[30,20], w: float32[20,5]) -> float32[30,5]"
    assert place.endswith(f"test_explain.py:{line - 1}")
    assert product == f"  1. line {line}: 30x20 @ 20x5 by a kernel (dot)"
    assert values == "     reads x and w; writes `x @ w`; 3.40 kB moved; 6 kflop"
    assert passes == f"  2. line {line}: one pass over 30x5 (add, tanh)"
    assert last == "  In all 4.60 kB moved, 8.85 kflop, 640 B of temporary memory."


def test_a_jitted_function_and_static_arguments():
    @jax.jit(static_argnames="n")
    def power(x, n):
        return x**n

    assert "integer_pow" not in str(jax.explain(power)(jnp.ones(3), n=4))
    assert "one pass over 3 (mul x2)" in str(jax.explain(power)(jnp.ones(3), n=4))


def test_an_operation_that_is_computed_twice():
    def twice(x):
        y = x * 2
        return (y.sum(0), y.sum(1))

    text = str(jax.explain(twice)(jnp.ones((300, 200))))
    line = twice.__code__.co_firstlineno + 1
    assert f"each compute `x * 2` in line {line} rather than read it from memory." in text


def test_python_in_a_loop_is_pointed_out():
    def stepping(x):
        def step(c, t):
            jax.debug.print("{}", c)
            return c + t, None

        return jax.lax.scan(step, x, jnp.arange(3.0))[0]

    text = str(jax.explain(stepping)(1.0))
    assert "Each iteration of the loop in" in text
    assert "calls Python (debug_print)" in text


def test_loops_of_unknown_length_count_once():
    def growing(x):
        return jax.lax.while_loop(lambda c: jnp.all(c < 9), lambda c: c * 2, x)

    text = str(jax.explain(growing)(jnp.ones(9)))
    assert "A loop whose number of iterations is not known counts once." in text


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return str(file)


def test_command(path, jitney_command):
    status, out, _ = jitney_command("explain", path)
    assert status == 0
    heads = ["loss(w: float32[20,5], x: float32[30,20]) -> float32[]", "other(x: float32[30,20])"]
    assert out.index(heads[0]) < out.index(heads[1])
    assert "  1. line 6: 30x20 @ 20x5 by a kernel (dot)" in out
    assert "sort" not in out.split("loss(")[1]  # eager operations are no functions of the program's


def test_command_for_one_function(path, jitney_command):
    status, out, _ = jitney_command("explain", "--function", "other", path)
    assert status == 0
    assert "other(x" in out
    assert "loss(w" not in out
    status, _, err = jitney_command("explain", "--function", "nothing", path)
    assert status == 1
    assert "compiled no function named nothing" in err


def test_command_usage(capsys):
    assert command.main(["explain", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: jitney explain")
    assert command.main(["explain"]) == 2
