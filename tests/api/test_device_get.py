"""`device_get`, and places that ask for nothing."""

import numpy as np

import jitney as jax
import jitney.numpy as jnp


def test_traced_values_are_left():
    x = np.arange(3, dtype=np.float32)

    def double(x):
        return jax.device_get({"x": x})["x"] * 2

    np.testing.assert_array_equal(jax.vmap(double)(x), x * 2)
    np.testing.assert_array_equal(jax.jit(double)(x), x * 2)
    assert jax.grad(double)(3.0) == 2.0
    assert type(jax.device_get(jnp.ones(2))) is np.ndarray


def test_sharding_of_an_array_on_no_mesh_asks_for_nothing():
    key, like = jax.random.key(0), jnp.ones(3)
    place = jax.typeof(like).sharding
    assert place.mesh.empty

    def draw():
        return jax.random.normal(key, (4, 3), out_sharding=place)

    expected = jax.random.normal(key, (4, 3))
    np.testing.assert_array_equal(draw(), expected)
    assert draw().sharding == expected.sharding
    np.testing.assert_array_equal(jax.jit(draw)(), jax.jit(lambda: expected)())
    np.testing.assert_array_equal(jnp.zeros(3, device=place), np.zeros(3))
    np.testing.assert_array_equal(jnp.zeros_like(like, out_sharding=place), np.zeros(3))
