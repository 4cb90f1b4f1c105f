"""Programs of many steps: their entry is divided into functions, their time grows with their length."""

import itertools

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler.codegen import driver
from jitney.compiler.cost import COSTS
from jitney.compiler.plan import ir, memory
from jitney.core.util.record import replace


def _mixed(x):
    """Kernels, products, calls of NumPy, loops within loops with swapped carries, branches."""
    y = x @ x.T + 1.0
    z = jnp.sort(y, axis=0) @ y

    def step(i, s):
        a, b = s
        c = jnp.sort(b[::-1] * 0.5 + a, axis=1)
        return lax.fori_loop(0, i, lambda _, d: d[::-1] + b, c), jnp.tanh(a @ b * 1e-3)

    u, v = lax.fori_loop(0, 3, step, (z, y))
    return lax.cond(u.sum() > 0, lambda u: (u @ v, jnp.sort(u)), lambda u: (u, v), u)


@pytest.mark.parametrize("most", [1, 2, 5, 200])
def test_entries_in_parts(most, monkeypatch):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32))
    monkeypatch.setattr(driver, "COSTS", replace(COSTS, entry_steps=most))
    text = jax.jit(_mixed).lower(x).as_text("llvm")
    assert ("@part." in text) == (most < 200)
    jax.clear_caches()
    got = jax.jit(_mixed)(x)
    with jax.disable_jit():
        expected = _mixed(x)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def test_errors_leave_the_entry_through_its_parts(monkeypatch):
    monkeypatch.setattr(driver, "COSTS", replace(COSTS, entry_steps=1))

    def fail(x):
        raise ValueError("not today")

    def f(x):
        y = jax.pure_callback(fail, x, jnp.sort(x))
        return jnp.sort(y) + jnp.sort(x * 2)

    with pytest.raises(jax.errors.JaxRuntimeError, match="not today"):
        jax.block_until_ready(jax.jit(f)(jnp.ones(3)))


def test_thousands_of_steps():
    def f(x):
        for _ in range(300):
            x = jnp.tanh(x @ x) + 0.1 * x
        return x.sum()

    x = jnp.asarray(0.1 * np.eye(4, dtype=np.float32))
    compiled = jax.jit(jax.grad(f)).lower(x).compile()
    text = compiled.as_text("llvm")
    parts = text.split("\ndefine ")
    calls = [part.count("call void @k") for part in parts]
    assert max(calls) <= COSTS.entry_steps and text.count("@part.") > 2
    assert max(map(len, parts)) < 100_000
    with jax.disable_jit():
        expected = jax.grad(f)(x)
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-4, atol=1e-6)


def test_memory_is_used_again():
    """Buffers whose lives do not overlap share memory, whatever the order of their sizes."""
    rng = np.random.default_rng(0)
    source = ir.Buffer("input", 64)
    previous, steps = source, []
    for size in rng.integers(1, 2000, 500):
        buffer = ir.Buffer("arena", int(size))
        steps += [ir.HostCall("f", print, ((previous, None),), ((buffer, None),))]
        previous = buffer
    top = memory.assign_buffers(steps)
    assert top <= 4 * 2048  # two are alive at a time; the rest is between them
    offsets = [step.results[0][0].index for step in steps]
    for a, b in itertools.pairwise(steps):
        x, y = a.results[0][0], b.results[0][0]
        assert x.index + x.nbytes <= y.index or y.index + y.nbytes <= x.index
    assert all(offset % memory.ALIGNMENT == 0 for offset in offsets)


@pytest.mark.slow  # compiles a program of 500 copies
def test_many_copies():
    """Copies of long programs are calls: written out, LLVM compared each with all others of a block."""
    leaves = {k: jnp.full((k % 5,), k, np.float32) for k in range(500)}
    f = jax.jit(lambda leaves: leaves)
    text = f.lower(leaves).as_text("llvm")
    assert text.count("call void @llvm.memcpy") == 1  # in the function
    for k, leaf in f(leaves).items():
        assert leaf.tolist() == [k] * (k % 5)
