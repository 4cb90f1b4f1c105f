"""Loops in registers or as steps: `compiler/plan/loop_costs.py`."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax


def turn(c):
    return 0.5 * c + 0.25 * c[::-1] + 1


def product(c):
    return jnp.tanh(c @ c.T @ c)


def ode(c):
    x, y, z = c
    return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 3 * z]) * 0.01 + c


def loop(body, x, trips=7):
    mapped = body if x.ndim < 3 else jitney.vmap(body)
    return lax.fori_loop(0, trips, lambda _, c: mapped(c), x)


@pytest.mark.parametrize(
    ("body", "shape", "in_registers"),
    [
        (ode, (3,), True),
        (turn, (4,), True),
        (turn, (64,), False),
        (jnp.sin, (3,), True),
        (jnp.sin, (64,), True),  # one element in each lane
        (product, (2, 2), True),
        (product, (8, 8), False),
        (product, (3, 4, 4), False),
        (product, (64, 4, 4), True),
        (turn, (16, 16, 1), True),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_that_fill_vectors_are_not_scalarized(body, shape, in_registers, dtype):
    with jitney.enable_x64(True):
        x = 0.1 * jnp.asarray(np.random.default_rng(0).normal(size=shape), dtype)
        f = jitney.jit(lambda x: loop(body, x))
        assert ("while %" in f.lower(x).as_text("kernels")) == in_registers
        with jitney.disable_jit():
            want = loop(body, x)
        np.testing.assert_allclose(f(x), want, rtol=2e-5)


def longer(c):
    for _ in range(5):
        c = 0.5 * c * c + 0.25 * c[::-1]
    return c


@pytest.mark.parametrize(("trips", "in_registers"), [(5, False), (5000, True)])
def test_kernels_that_compile_for_long_must_save_time(trips, in_registers):
    x = jnp.asarray(np.random.default_rng(0).random((8, 2, 8, 4)), "float32")
    text = jitney.jit(lambda x: loop(longer, x, trips)).lower(x).as_text("kernels")
    assert ("while %" in text) == in_registers
