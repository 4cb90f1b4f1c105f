"""Neighbours in memory that are loaded as pairs: of every width, booleans among them."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

DTYPES = ("bool", "int8", "uint8", "int16", "float16", "float32", "float64", "int64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_of_two(dtype):
    """Columns are read side by side, computed with, and written side by side."""

    def f(x):
        first, second = x[:, 0], x[:, 1]
        return jnp.stack(
            [first | second, second] if dtype == "bool" else [first - second, second], 1
        )

    rng = np.random.default_rng(0)
    with jitney.enable_x64(True):
        for n in (1, 2, 5, 16, 17, 40, 100):
            x = rng.integers(0, 2, (n, 2)).astype(dtype)
            first = x[:, 0] | x[:, 1] if dtype == "bool" else x[:, 0] - x[:, 1]
            np.testing.assert_array_equal(jitney.jit(f)(x), np.stack([first, x[:, 1]], 1))


def test_columns_of_booleans_choose():
    def f(x):
        return jnp.where(x[:, 0], 3, 0) | jnp.where(x[:, 1], 5, 0)

    rng = np.random.default_rng(1)
    for n in (1, 2, 17, 40):
        x = rng.integers(0, 2, (n, 2)).astype(bool)
        want = np.where(x[:, 0], 3, 0) | np.where(x[:, 1], 5, 0)
        np.testing.assert_array_equal(jitney.jit(f)(x), want)
