"""Arrays of more axes than NumPy's 64: they are computed with, and refused by NumPy alone."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

SHAPE = (1,) * 40 + (2,) + (1,) * 38 + (3,)
LAST = (0,) * 40 + (1,) + (0,) * 38 + (2,)


def deep(x=None):
    x = jnp.arange(6.0) if x is None else x
    return jax.jit(lambda x: x.reshape(SHAPE) + 1)(x)


@pytest.mark.parametrize("rank", [64, 65, 80, 200])
def test_compiled_results(rank):
    f = jax.jit(lambda x: x.reshape((1,) * (rank - 1) + (3,)) + 1)
    for _ in range(3):
        y = f(jnp.arange(3.0))
        assert y.shape == (1,) * (rank - 1) + (3,)
        assert y.ndim == rank
        assert y.size == 3
        np.testing.assert_array_equal(y.reshape(3), [1, 2, 3])


def test_operations():
    y = deep()
    flat = np.arange(6.0) + 1
    for value, want in [
        (y + y, flat * 2), (jnp.sin(y) * 0 + y, flat), (-y, -flat), (y > 2, flat > 2),
        (jax.jit(lambda z: z * 3)(y), flat * 3), (jax.jit(lambda z: z * 3)(y), flat * 3),
        (y.at[LAST].set(0), [1, 2, 3, 4, 5, 0]), (jnp.zeros(SHAPE), flat * 0),
        (copy.copy(y), flat), (pickle.loads(pickle.dumps(y)), flat),
        (jnp.broadcast_to(jnp.float32(2), SHAPE), flat * 0 + 2),
    ]:  # fmt: skip
        assert value.shape == SHAPE
        np.testing.assert_array_equal(value.reshape(6), want)
    assert y[LAST] == 6
    assert y.sum() == 21
    assert float(y.max()) == 6
    np.testing.assert_array_equal(jnp.transpose(y).reshape(6), [1, 4, 2, 5, 3, 6])
    np.testing.assert_array_equal(
        jax.grad(lambda x: (x.reshape(SHAPE) ** 2).sum())(jnp.arange(6.0)), 2 * np.arange(6.0)
    )
    assert jax.vmap(lambda x: x.reshape((1,) * 70))(jnp.ones(4)).shape == (4,) + (1,) * 70


def test_what_numpy_cannot_have():
    y = deep()
    assert "shape=(1, 1" in repr(y)
    assert repr(y) == str(y)
    for convert in (np.asarray, np.array, memoryview, lambda a: a.tolist(), jax.device_get):
        with pytest.raises((ValueError, BufferError), match=r"axes|dimension"):
            convert(y)
