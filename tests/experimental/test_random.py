"""A generator with a state draws by keys of a counter, in and outside of compiled functions."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.random import _shape, stateful_rng


def data(key):
    return jax.random.key_data(key).tolist()


def test_each_draw_folds_the_counter_into_the_key():
    rng, base = stateful_rng(5), jax.random.key(5)
    assert data(rng.key()) == data(jax.random.fold_in(base, 0))
    assert data(rng.key(2)) == data(jax.random.split(jax.random.fold_in(base, 1), 2))
    drawn = rng.uniform(2, 3, size=4)
    same = jax.random.uniform(jax.random.fold_in(base, 2), (4,), minval=2, maxval=3)
    assert drawn.tolist() == same.tolist() and rng._counter[...] == 3


def test_compiled_functions_advance_the_generator():
    rng, eager = stateful_rng(5), stateful_rng(5)
    f = jax.jit(lambda rng: rng.integers(1000, size=3))
    first, second = f(rng), f(rng)
    assert first.tolist() == eager.integers(1000, size=3).tolist()
    assert second.tolist() == eager.integers(0, 1000, size=3).tolist() != first.tolist()


def test_bounds_broadcast_and_give_the_shape():
    assert _shape(None, np.zeros((2, 1)), np.zeros(3)) == (2, 3)
    assert _shape(4, 0.0, 1.0) == (4,) and _shape([2, 3], np.zeros(3)) == (2, 3)
    with pytest.raises(ValueError):
        _shape((2,), np.zeros(3))
    x = stateful_rng(0).normal(jnp.array([0.0, 100]), 0.5, dtype="float16")
    assert x.shape == (2,) and x.dtype == np.float16 and abs(x[1] - 100) < 5


def test_split_generators_are_for_vmap():
    many = stateful_rng(1).split((2, 2))
    assert many._base_key.shape == many._counter.shape == (2, 2)
    with pytest.raises(ValueError, match=r"a batch of generators of shape \(2, 2\)"):
        many.uniform()
    draws = jax.vmap(lambda rng: rng.random())(stateful_rng(1).split(3))
    assert draws.shape == (3,) and len(set(draws.tolist())) == 3


def test_spawned_generators_are_independent():
    children = stateful_rng(2).spawn(3)
    first = [float(rng.uniform()) for rng in children]
    assert len(set(first)) == 3 and float(children[0].uniform()) not in first
    with pytest.raises(ValueError, match="must not be negative, but got -1"):
        stateful_rng(2).spawn(-1)
