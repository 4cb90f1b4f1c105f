"""Memory over the steps of a program: its peak, and the lines that the values come from."""

from __future__ import annotations

import numpy as np

import jitney as jax
import jitney.numpy as jnp
from jitney.inspection import facts, memory

X = np.ones((200, 100), np.float32)


def chain(x, w):
    a = x @ w
    b = jnp.tanh(a) @ w
    return b.sum(), a.sum()


LINE = chain.__code__.co_firstlineno


def _of(fun, *args) -> memory.Memory:
    return memory.of_program(facts.of_module(facts.lowered_module(fun, args, {})))


def test_peak_and_its_lines():
    found = _of(chain, X, np.ones((100, 100), np.float32))
    size = 200 * 100 * 4
    assert found.live[found.peak] == max(found.live) >= 2 * size
    assert {value.nbytes for value in found.held} >= {size}
    assert sum(found.lines().values()) <= found.live[found.peak]
    assert {line - LINE for _, line in found.lines()} >= {1, 2}


def test_in_place_values_count_once():
    def fun(x, w):
        y = x @ w
        for _ in range(3):
            y = jax.lax.optimization_barrier(y * 2) @ w
        return y

    module = facts.lowered_module(fun, (X, np.ones((100, 100), np.float32)), {})
    program = facts.of_module(module)
    assert max(memory.of_program(program).live) <= program.temporary_bytes


def test_nothing_is_stored():
    found = _of(lambda x: x + 1, X)
    assert found.peak == -1
    assert not found.held
    assert not any(found.live)
    assert (found.arguments, found.results, found.temporary) == (X.nbytes, X.nbytes, 0)
    assert found.total == 2 * X.nbytes
