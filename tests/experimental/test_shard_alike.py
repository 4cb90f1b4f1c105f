"""Pytrees are returned with their values, and have one structure and equal shapes."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.experimental.shard_alike import shard_alike


def test_values_and_structures_stay():
    x, y = shard_alike({"a": 1.0, "b": [jnp.arange(2)]}, {"a": 2.0, "b": [np.ones(2)]})
    assert x["a"] == 1 and x["b"][0].tolist() == [0, 1]
    assert y["a"] == 2 and y["b"][0].tolist() == [1, 1]
    assert shard_alike((), ()) == ((), ())


def test_leaves_are_paired_in_programs():
    closed = jax.make_jaxpr(shard_alike)((1.0, 2.0), (3.0, 4.0))
    assert [e.primitive.name for e in closed.eqns].count("shard_alike") == 2
    f = lambda x: shard_alike(x * 2, x * 3)[1]  # noqa: E731
    assert jax.grad(f)(1.0) == 3 and jax.vmap(f)(jnp.arange(2.0)).tolist() == [0, 3]


def test_structures_and_shapes_are_equal():
    with pytest.raises(ValueError, match="must have the same tree structure"):
        shard_alike([1.0], (1.0,))
    with pytest.raises(ValueError):
        shard_alike(jnp.ones(2), jnp.ones(3))
