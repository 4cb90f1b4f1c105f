"""`custom_vmap` and `sequential_vmap`, against real jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.both import check_claim, of_both
from tests.helpers.rule_checks import agree, close, module

import jitney

A = np.array([[4.0, 1.5, 0.2], [1.0, 3.0, 0.1], [0.0, 0.4, 2.0]], np.float32)
B = np.array([1.0, 2.0, -1.0], np.float32)


def with_batching(j, seen=None):
    custom_vmap = module(j, "custom_batching").custom_vmap

    @custom_vmap
    def f(x, y):
        return j.numpy.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        if seen is not None:
            seen.append((axis_size, in_batched))
        return j.numpy.cos(x) + y, in_batched[0]

    return f


@pytest.mark.parametrize(
    "use",
    [
        lambda j: with_batching(j)(1.0, 2.0),
        lambda j: j.jit(with_batching(j))(1.0, 2.0),
        lambda j: j.vmap(with_batching(j), in_axes=(0, None))(B, 2.0),
        lambda j: j.vmap(j.jit(with_batching(j)), in_axes=(0, None))(B, 2.0),
        lambda j: j.vmap(j.vmap(with_batching(j), in_axes=(0, None)), in_axes=(0, None))(A, 2.0),
        lambda j: j.grad(lambda x: j.vmap(with_batching(j), (0, None))(x, 2.0).sum())(B),
        lambda j: j.jvp(with_batching(j), (1.0, 2.0), (1.0, 1.0)),
        lambda j: j.vmap(lambda x: j.jvp(with_batching(j), (x, 2.0), (1.0, 0.0)))(B),
        lambda j: j.vmap(lambda t: j.jvp(with_batching(j), (1.0, 2.0), (t, 0.0))[0])(B)[0],
    ],
)
def test_custom_vmap(use):
    agree(use)


def test_custom_vmap_says_what_is_mapped():
    def mapped(j):
        seen: list[Any] = []
        j.vmap(with_batching(j, seen), in_axes=(None, 0))(1.0, B)
        return seen[0]

    ours, theirs = of_both(mapped)
    assert ours == theirs == (3, [False, True])


def test_custom_vmap_reverse_derivative():
    """There is none of calls that are not mapped in jax; here it is that of the operations."""
    close(jitney.grad(with_batching(jitney))(1.0, 2.0), np.float32(2 * np.cos(1.0)), rtol=1e-6)


def test_custom_vmap_errors():
    def claim(j):
        custom_vmap = module(j, "custom_batching").custom_vmap
        f = custom_vmap(lambda x: x)
        with pytest.raises(AttributeError, match=r"(No|no) batching rule"):
            j.vmap(f)(B)
        f.def_vmap(lambda size, batched, x: (x, (True, True)))
        with pytest.raises(ValueError, match="structure"):
            j.vmap(f)(B)

    check_claim(claim)


def test_sequential_vmap():
    def use(j):
        sequential_vmap = module(j, "custom_batching").sequential_vmap
        f = sequential_vmap(lambda x, y: {"r": j.numpy.sin(x["a"]) * y})
        return j.vmap(f, in_axes=(0, None))({"a": B}, 2.0), j.vmap(f)({"a": B}, B)

    agree(use)
