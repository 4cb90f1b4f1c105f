"""Accumulators of loops: updated where they are, unless something still reads the old value."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

N = 5000  # too much for a loop kernel's registers


def summed(acc, x):
    return acc + x * x, x.sum()


def read_afterwards(acc, x):
    new = acc + x
    return new, (acc * new.sum()).sum()


def read_elsewhere(acc, x):
    return acc[::-1] + x, acc[0]


def swapped(pair, x):
    a, b = pair
    return (b + x, a * 2), a[1]


def two_sums(pair, x):
    a, b = pair
    return (a + x, b + a * x), (a + b).sum()


CASES = {
    "summed": (summed, 1),
    "read_afterwards": (read_afterwards, 1),
    "read_elsewhere": (read_elsewhere, 1),
    "swapped": (swapped, 2),
    "two_sums": (two_sums, 2),
}


def start(count):
    values = tuple(jnp.linspace(k, 1.0, N) for k in range(count))
    return values if count > 1 else values[0]


@pytest.mark.parametrize("name", CASES)
def test_value(name):
    f, count = CASES[name]
    xs = jnp.asarray(np.random.default_rng(0).normal(size=(4, N)).astype(np.float32))
    carry, ys = start(count), []
    for x in xs:
        carry, y = f(carry, x)
        ys.append(y)
    got, outs = jax.jit(lambda c, xs: lax.scan(f, c, xs))(start(count), xs)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(carry), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(outs, jnp.stack(ys), rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(("name", "exchanges"), [("summed", 0), ("read_elsewhere", 1)])
def test_loops_copy_no_large_carry(name, exchanges):
    f, count = CASES[name]
    xs = jnp.zeros((4, N))
    text = jax.jit(lambda c, xs: lax.scan(f, c, xs)).lower(start(count), xs).as_text("kernels")
    body = text[text.index("} arena", text.index("while")) :].split("\nkernel", 1)[0]
    assert f"({4 * N} bytes)" not in body and body.count("swap") == exchanges


@pytest.mark.parametrize("iterations", [0, 1, 2, 3])
@pytest.mark.parametrize("size", [16, 4096])
def test_carries_that_change_places(iterations, size):
    """Whatever the number of iterations, the results are where callers look for them."""
    rng = np.random.default_rng(1)
    x, y = (jnp.asarray(rng.normal(size=size).astype(np.float32)) for _ in range(2))

    def step(_, state):
        x, y = state
        inner = lax.fori_loop(0, iterations, lambda _, z: z[::-1] + y, x)
        return y * 0.5 + x[::-1], inner

    got = jax.jit(lambda x, y: lax.fori_loop(0, iterations, step, (x, y)))(x, y)
    expected = (x, y)
    for _ in range(iterations):
        a, b = expected
        inner = a
        for _ in range(iterations):
            inner = inner[::-1] + b
        expected = (b * 0.5 + a[::-1], inner)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_lanes_of_a_loop_begin_with_the_same_count():
    """A first value that is computed where the loop leaves its last one is read by all lanes."""

    def f(xs, n):
        def one(x):
            return lax.while_loop(
                lambda c: c[0] < 5, lambda c: (c[0] + 1, x * 0.5 + c[1]), (n * 2 - 6, x)
            )

        return jax.vmap(one, out_axes=(None, 0))(xs)

    xs = np.linspace(0, 1, 100_000).astype(np.float32)
    count, ys = jax.jit(f)(xs, 3)
    assert count == 5
    np.testing.assert_allclose(ys, 3.5 * xs, rtol=1e-6)


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_first_values_are_computed_where_the_loop_has_them(turns):
    """Unless something else needs them."""

    def f(x):
        first = x * 2
        return lax.fori_loop(0, turns, lambda i, c: jnp.sort(c)[::-1] + i, first)

    def again(x):
        first = x * 2
        return lax.fori_loop(0, turns, lambda i, c: jnp.sort(c)[::-1] + i, first), first

    x = np.random.default_rng(0).normal(size=N).astype(np.float32)
    expected = x * 2
    for i in range(turns):
        expected = np.sort(expected)[::-1] + np.float32(i)
    np.testing.assert_array_equal(jax.jit(f)(x), expected)
    got, first = jax.jit(again)(x)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(first, x * 2)
    assert "copy output0" not in jax.jit(f).lower(x).as_text("kernels")
