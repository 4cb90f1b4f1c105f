"""`lax.rng_uniform`: other numbers in each call, compiled or not, evenly spread between its bounds."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "uint32", "int64"]


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_numbers_are_spread_over_the_range(dtype):
    with jax.enable_x64(True):
        low, high = jnp.array(3, dtype), jnp.array(103, dtype)
        x = lax.rng_uniform(low, high, (50, 400))
        assert x.dtype == low.dtype and x.shape == (50, 400)
        x = np.asarray(x).astype(np.float64)
        # Formats of few digits round some numbers to the upper bound.
        assert x.min() >= 3 and (x.max() <= 102 if dtype in INTEGERS else x.max() <= 103)
        counts, _ = np.histogram(x, bins=10, range=(3, 103))
        # The square of what a count misses is 1800 in the mean; bfloat16 rounds at the bins' ends.
        assert (abs(counts - 2000) < (400 if dtype == "bfloat16" else 220)).all()


def test_calls_draw_other_numbers():
    def two():
        return lax.rng_uniform(0.0, 1.0, (4,)), lax.rng_uniform(0.0, 1.0, (4,))

    compiled = jax.jit(two)
    draws = np.array([*two(), *compiled(), *compiled()])
    assert len(np.unique(draws)) == draws.size


def test_each_iteration_of_a_loop_draws():
    def step(c, _):
        return c, lax.rng_uniform(0.0, 1.0, ())

    assert len(np.unique(lax.scan(step, 0, None, length=20)[1])) == 20
    drawn = lax.fori_loop(
        0, 9, lambda i, x: x.at[i].set(lax.rng_uniform(0.0, 1.0, ())), jnp.zeros(9)
    )
    assert len(np.unique(drawn)) == 9


def test_bounds_are_operands():
    f = jax.jit(lambda a, b: lax.rng_uniform(a, b, (3,)))
    for low in (-4, 7):
        x = f(low, low + 2)
        assert x.dtype == jnp.int32 and set(x.tolist()) <= {low, low + 1}
    np.testing.assert_array_equal(lax.rng_uniform(1.0, 1.0, (3,)), np.ones(3))
    assert lax.rng_uniform(0.0, 1.0, (2, 0)).shape == (2, 0)
    assert lax.rng_uniform(0.0, 1.0, ()).weak_type
    # A range of no integers is the whole one, as in JAX.
    assert len(np.unique(lax.rng_uniform(5, 5, (100,)))) > 90


def test_under_transformations():
    # What is not mapped is drawn once.
    x = jax.vmap(lambda a: a + lax.rng_uniform(0.0, 1.0, ()))(jnp.zeros(3))
    assert len(np.unique(x)) == 1
    slope = jax.grad(lambda a: a * lax.stop_gradient(lax.rng_uniform(2.0, 3.0, ())))(1.0)
    assert 2 <= slope <= 3
    with pytest.raises(NotImplementedError, match="rng_uniform"):
        jax.vmap(lambda a: lax.rng_uniform(a, 1.0, ()))(jnp.zeros(3))
    with pytest.raises(NotImplementedError, match="rng_uniform"):
        jax.grad(lambda a: lax.rng_uniform(a, 1.0, ()))(0.0)


@pytest.mark.parametrize(
    ("low", "high", "shape", "error", "message"),
    [
        (0.0, 1, (3,), ValueError, "the same dtype"),
        (np.zeros(2), np.ones(2), (3,), ValueError, "scalars"),
        (1j, 2j, (3,), TypeError, "real numbers"),
        (False, True, (3,), TypeError, "integers"),
        (0.0, 1.0, (-1,), TypeError, "negative"),
    ],
)
def test_refusals(low, high, shape, error, message):
    with pytest.raises(error, match=message):
        lax.rng_uniform(low, high, shape)
