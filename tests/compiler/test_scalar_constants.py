"""Functions that are written otherwise where an operand is a constant have the bits of operands."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney import lax

X = np.array([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45] * 4, np.float32)


@pytest.mark.parametrize("bound", [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("f", [jnp.maximum, jnp.minimum], ids=["maximum", "minimum"])
def test_bounds(f, dtype, bound):
    x, end = X.astype(dtype), np.asarray(bound, dtype)
    wanted = np.asarray(jax.jit(f)(x, jnp.full_like(x, bound)))
    for found in (jax.jit(lambda x: f(x, end))(x), jax.jit(lambda x: f(end, x))(x)):
        found = np.asarray(found)
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.isnan(found), ~numbers)
        assert found[numbers].tobytes() == wanted[numbers].tobytes()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64"])
@pytest.mark.parametrize(
    "f",
    [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic],
    ids=lambda f: f.__name__,
)
def test_shifts(f, dtype):
    with jax.enable_x64(True):
        x = np.arange(-70, 70).astype(dtype)
        width = 8 * x.dtype.itemsize
        for distance in (0, 1, width - 1, width, width + 3, -1):
            by = np.asarray(distance).astype(dtype)
            wanted = jax.jit(f)(x, jnp.full_like(x, by))
            np.testing.assert_array_equal(jax.jit(lambda x, by=by: f(x, by))(x), wanted)


@pytest.mark.parametrize("distance", [1, 7, 13, 31])
def test_rotation(distance):
    x = np.random.default_rng(0).integers(0, 2**32, 100, dtype=np.uint32)
    rotated = jax.jit(lambda x: (x << distance) | (x >> (32 - distance)))(x)
    np.testing.assert_array_equal(rotated, (x << distance) | (x >> (32 - distance)))
