"""The factors of transforms, and their code."""

import math

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.compiler.plan.fourier import factors


@pytest.mark.parametrize("n", [1, 2, 8, 16, 60, 512, 1001, 1024, 4096, 8192, 3 * 2**15])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_factors(n, rows):
    """Eight elements at a time only where memory counts."""
    found = factors(n, n * rows)
    assert math.prod(found) == n
    if n <= 4096 and n * rows <= 1 << 16:
        assert 8 not in found


@pytest.mark.parametrize(
    "shape", [(16, 4096), (17, 4096), (1, 4096), (1, 8192), (64, 1024), (65, 1024)]
)
def test_on_both_sides_of_the_bounds(shape):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)
    for function in (jnp.fft.fft, jnp.fft.ifft):
        wanted = getattr(np.fft, function.__name__)(x.astype(np.complex128))
        bound = (2 + math.log2(shape[1])) * np.finfo(np.float32).eps * np.abs(wanted).max()
        assert np.abs(np.asarray(jitney.jit(function)(x)) - wanted).max() <= bound


def test_lanes_go_along_the_rows_of_short_transforms():
    """Parts of complex numbers are pairs, not lanes far apart."""
    text = jitney.jit(jnp.fft.fft).lower(jnp.zeros((1000, 60), jnp.complex64)).as_text("llvm")
    assert "gather" not in text
    assert "scatter" not in text
