"""`jitney.explain` and `jitney explain`: the words, and the command."""

from __future__ import annotations

import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.cli import command
from jitney.inspection import quantities

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
    head, place, _, product, values, stored, passes, *_, last = text.splitlines()
    assert head == "layer(x: float32[30,20], w: float32[20,5]) -> float32[30,5]"
    assert place.endswith(f"test_explain.py:{line - 1}")
    assert product == f"  1. line {line}: 30x20 @ 20x5 by a kernel (dot)"
    assert values == "     reads x and w; writes `x @ w`; 3.40 kB moved; 6 kflop"
    why = "because it is the result of a matrix product"
    assert stored == f"     in memory: `x @ w` in line {line}, float32[30,5] (600 B), {why}"
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
    assert "A loop whose trip count is not known counts as one iteration." in text


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return str(file)


def test_carries_do_not_have_the_names_of_their_first_values():
    def squared(v):
        first = jnp.outer(v, v)
        return jax.lax.fori_loop(0, 500, lambda i, c: jnp.tanh(c @ c) * 0.5, first).sum()

    text = str(jax.explain(squared)(jnp.ones(50)))
    carry = f"a carry of line {squared.__code__.co_firstlineno + 2}"
    loop = text[text.index("loop of 500 iterations") :]
    assert f"reads {carry}; writes `c @ c`" in loop and f"writes {carry};" in loop
    assert "jnp.outer" not in loop


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0 flop/s"), (445e3, "445 kflop/s"), (999_900, "1 Mflop/s"), (2e9, "2 Gflop/s")],
)
def test_rates_have_three_digits(n, text):
    assert quantities.flops_rate(n) == text


def test_command(path, jitney_command):
    status, out, _ = jitney_command("explain", path)
    assert status == 0
    heads = ["loss(w: float32[20,5], x: float32[30,20]) -> float32[]", "other(x: float32[30,20])"]
    assert out.index(heads[0]) < out.index(heads[1])
    assert "  1. line 6: 30x20 @ 20x5 by a kernel (dot)" in out
    assert "sort" not in out.split("loss(")[1]  # eager operations are no functions of the program's


def test_functions_compiled_again_are_described_once(tmp_path, jitney_command):
    program = tmp_path / "again.py"
    program.write_text(
        "import jax, jax.numpy as jnp\n"
        "for n in (10, 11, 10, 12, 13, 14): jax.jit(lambda x: jnp.sin(x) + 1)(jnp.ones(n))\n"
        "jax.jit(lambda x: x @ x)(jnp.ones((300, 300)))\n"
    )
    status, out, _ = jitney_command("explain", str(program))
    assert status == 0
    assert out.count("one pass over") == out.count("x: float32[10]") == 1
    assert "  Compiled 6 times, with the same steps.\n  Other arguments: x: float32[11]; " in out
    assert "x: float32[13]; and 1 more.\n" in out and "300x300 @ 300x300" in out


def test_command_for_one_function(path, jitney_command):
    status, out, _ = jitney_command("explain", "--function", "other", path)
    assert status == 0
    assert "other(x" in out
    assert "loss(w" not in out
    status, _, err = jitney_command("explain", "--function", "nothing", path)
    assert status == 1
    assert "compiled no function named nothing" in err


EAGER = """\
import jax
import jax.numpy as jnp

@jax.jit
def loss(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)

@jax.jit
def chain(x):
    return jnp.sin(jnp.sin(x))

w, x = jnp.ones((50, 20)), jnp.ones((30, 50))
w = w - 0.1 * jax.grad(loss)(w, x)
jax.vmap(chain)(x)
"""


@pytest.mark.parametrize("tool", ["explain", "profile", "explore"])
def test_what_is_differentiated_outside_of_jit_is_shown(tmp_path, jitney_command, tool):
    program, page = tmp_path / "eager.py", tmp_path / "page.html"
    program.write_text(EAGER)
    words = [tool, *(["-o", str(page)] if tool == "explore" else []), str(program)]
    status, out, err = jitney_command(*words)
    assert status == 0, err
    text = page.read_text() if tool == "explore" else out
    for title in ("forward pass of loss", "gradient of loss", "vmap of chain"):
        assert title in text


def test_the_name_of_what_is_differentiated_selects(tmp_path, jitney_command):
    program = tmp_path / "eager.py"
    program.write_text(EAGER)
    status, out, _ = jitney_command("explain", "--function", "loss", str(program))
    assert status == 0
    assert "gradient of loss(" in out
    assert "chain" not in out


def test_command_usage(capsys):
    assert command.main(["explain", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: jitney explain")
    assert command.main(["explain"]) == 2
