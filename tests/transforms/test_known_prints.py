"""Prints of what a loop's known operands determine are shown once, though that part runs twice."""

import pytest

import jitney as jax


def powers(x):
    """2^3 x, by a loop that prints within a jitted function and a branch."""

    def shown(i):
        jax.debug.print("call {}", i)
        return i + 1

    def odd(i):
        jax.debug.print("odd {}", i)
        return i

    def body(carry):
        i, y = carry
        i = jax.jit(shown)(jax.lax.cond(i % 2 == 1, odd, lambda i: i, i))
        return i, y * 2

    return jax.lax.while_loop(lambda carry: carry[0] < 3, body, (0, x))[1]


def linearized(x):
    y, derivative = jax.linearize(powers, x)
    return float(y), float(derivative(1.0))


@pytest.mark.parametrize(
    "run, expected",
    [
        (linearized, (8.0, 8.0)),
        (lambda x: tuple(map(float, jax.jvp(powers, (x,), (1.0,)))), (8.0, 8.0)),
    ],
    ids=["linearize", "jvp"],
)
def test_prints(run, expected, capsys):
    assert run(1.0) == expected
    jax.effects_barrier()
    assert capsys.readouterr().out.split("\n") == ["call 0", "odd 1", "call 1", "call 2", ""]
