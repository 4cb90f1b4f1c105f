"""Sums over the iterations of a loop, which are computed after it."""

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as ours
from jitney import lax

RNG = np.random.default_rng(0)
U = RNG.normal(size=(12, 96)).astype(np.float32)
V = RNG.normal(size=(12, 64)).astype(np.float32)


def outer_products(start, reverse=False, iterations=12):
    """Sums of outer products of what changes from iteration to iteration with a row, in the loop's
    order."""

    def step(i, s):
        total, u = s
        row = V_[iterations - 1 - i if reverse else i]
        return total + u[:, None] * row[None, :], ours.sin(u + U_[i])

    U_, V_ = ours.asarray(U), ours.asarray(V)
    return lax.fori_loop(0, iterations, step, (start, U_[0]))


@pytest.mark.parametrize("reverse", [False, True])
def test_the_order_of_additions_stays(reverse):
    start = ours.zeros((96, 64), "float32")
    text = jitney.jit(lambda: outer_products(start, reverse)).lower().as_text("optimized")
    assert "in_order=True" in text
    found, u = jitney.jit(lambda: outer_products(start, reverse))()
    # What the loop adds, from the compiled values of u, in its order.
    us = [U[0]]
    step = jitney.jit(lambda u, x: ours.sin(u + x))
    for i in range(12):
        us.append(np.asarray(step(us[-1], U[i])))
    expected = np.zeros((96, 64), np.float32)
    for i in range(12):
        expected = expected + us[i][:, None] * V[11 - i if reverse else i][None, :]
    np.testing.assert_array_equal(u, us[-1])
    np.testing.assert_array_equal(found, expected)


def test_sums_that_start_elsewhere_or_are_read_stay_in_the_loop():
    ones = ours.ones((96, 64), "float32")
    kept = jitney.jit(lambda x: outer_products(x)).lower(ones).as_text("optimized")
    assert "in_order" not in kept

    def step(i, s):
        total, seen = s
        return total + ours.asarray(U)[i, :, None] * ours.asarray(V)[i], seen + total[0, 0]

    def run(step):
        return lax.fori_loop(0, 12, step, (ours.zeros((96, 64), "float32"), ours.float32(0)))

    assert "in_order" not in jitney.jit(lambda: run(step)).lower().as_text("optimized")
    total, seen = jitney.jit(lambda: run(step))()
    np.testing.assert_allclose(total, U.T @ V, rtol=1e-4, atol=1e-5)
    partial = np.cumsum(U[:, 0] * V[:, 0])[:-1].sum()
    np.testing.assert_allclose(seen, partial, rtol=1e-4)


def test_sums_that_start_at_negative_zero_stay_in_the_loop():
    """-0 + -0 is -0, and a sum that is computed after the loop starts at 0."""

    def run(start, u):
        def step(i, total):
            return total + u[i][:, None] * ours.asarray(np.abs(V))[i][None, :]

        return lax.fori_loop(0, 12, step, ours.full((96, 64), start, "float32"))

    u = np.full_like(U, -0.0)
    for start, sinks in ((0.0, True), (-0.0, False)):
        program = jitney.jit(lambda u, start=start: run(start, u))
        assert ("in_order" in program.lower(u).as_text("optimized")) is sinks
        assert np.signbit(np.asarray(program(u))).all() == (not sinks)


def test_half_precision_is_rounded_in_each_turn():
    start = ours.zeros((96, 64), "bfloat16")

    def run():
        u, v = ours.asarray(U, "bfloat16"), ours.asarray(V, "bfloat16")
        return lax.fori_loop(0, 12, lambda i, s: s + u[i, :, None] * v[i], start)

    with jitney.disable_jit():
        expected = run()
    np.testing.assert_array_equal(jitney.jit(run)(), expected)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_of_recurrent_networks(batch, reverse):
    hidden, length = 48, 20
    shapes = [(hidden, 2 * hidden), (hidden, 2 * hidden), (2 * hidden,)]
    rng = np.random.default_rng(batch)
    weights = [rng.normal(size=s).astype(np.float32) * np.float32(0.2) for s in shapes]
    xs = rng.normal(size=(length, batch, hidden)).astype(np.float32)

    def results(package):
        np_ = package.numpy

        def loss(weights, xs):
            w, u, b = weights

            def cell(h, x):
                z, new = np_.split(x @ w + h @ u + b, 2, axis=-1)
                gate = 1 / (1 + np_.exp(-z))
                return gate * h + (1 - gate) * np_.tanh(new), h

            h = np_.zeros((batch, hidden), "float32")
            return (package.lax.scan(cell, h, xs, reverse=reverse)[1] ** 2).sum()

        one = package.jit(package.grad(loss, argnums=(0, 1)))
        several = package.jit(package.vmap(package.grad(loss), in_axes=(None, 0)))
        given = np.stack([xs, 2 * xs])
        return [package.tree.leaves(f) for f in (one(weights, xs), several(weights, given))]

    for own, other in zip(results(jitney), of_jax(results), strict=True):
        for a, b in zip(own, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4 * float(np.abs(b).max()))
