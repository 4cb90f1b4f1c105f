"""Loads of transposed arrays, which go by blocks."""

import numpy as np
import pytest

import jitney as jax

DTYPES = ["int8", "float16", "float32", "float64", "complex64", "complex128"]
FUNCTIONS = {
    "transposed": lambda x: x.T + 1,
    "two neighbours": lambda x: x.T[:-1] + x.T[1:],
    "three neighbours": lambda x: x.T[:-2] - 2 * x.T[1:-1] + x.T[2:],
    "backwards": lambda x: x.T[:-1][::-1] + x.T[1:],
    "parts": lambda x: x.T[1:].real + x.T[:-1].imag,
    "every other": lambda x: x.T[::2] + x.T[1::2],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_arrays(name, dtype):
    """Neighbours of complex numbers are four elements side by side, of which each is in one block."""
    rng = np.random.default_rng(5)
    x = rng.integers(-3, 4, (512, 520)).astype(dtype)
    if x.dtype.kind == "c":
        x += 1j * rng.integers(-3, 4, x.shape)
    function = FUNCTIONS[name]
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jax.jit(function)(x), function(x))
