"""Uniform floats are equally spaced in [0, 1), as many as their mantissas distinguish."""

import ml_dtypes
import numpy as np
import pytest

from jitney.primitives.random.floats import bits_per_float, unit_floats

DTYPES = [np.float16, np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]


@pytest.mark.parametrize(
    ("dtype", "want"), [*zip([*DTYPES, np.float64], [16, 32, 8, 8, 64], strict=True)]
)
def test_numbers_of_bits(dtype, want):
    assert bits_per_float(np.dtype(dtype)) == want


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_high_bits_are_the_mantissa(dtype):
    dtype = np.dtype(dtype)
    n, mantissa = bits_per_float(dtype), ml_dtypes.finfo(dtype).nmant
    words = [0, 1, 1 << (n - mantissa), 1 << (n - 1), (1 << n) - 1]
    got = np.asarray(unit_floats(np.array(words, f"uint{n}"), dtype)).astype(float)
    assert got.tolist() == [0, 0, 2.0**-mantissa, 0.5, 1 - 2.0**-mantissa]
