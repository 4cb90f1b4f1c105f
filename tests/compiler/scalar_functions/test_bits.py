"""References of bitwise functions: shifts past the width, counts, upper halves of products."""

import numpy as np
import pytest

from jitney.compiler.scalar_functions import lookup

DTYPES = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]


def reference(name):
    return lookup(name).reference


@pytest.mark.parametrize("dtype", DTYPES)
def test_shifts_past_the_width(dtype):
    bits = np.iinfo(dtype).bits
    x = np.array([1, 3, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    y = np.full(4, bits, dtype)
    np.testing.assert_array_equal(reference("shift_left")(x, y), 0)
    np.testing.assert_array_equal(reference("shift_right_logical")(x, y), 0)
    signs = np.where(x.view(f"int{bits}") < 0, -1, 0).astype(dtype)
    np.testing.assert_array_equal(reference("shift_right_arithmetic")(x, y), signs)
    one = np.asarray(1, dtype)
    logical = (x.view(f"uint{bits}") >> np.asarray(1, f"uint{bits}")).view(dtype)
    np.testing.assert_array_equal(reference("shift_right_logical")(x, one), logical)


@pytest.mark.parametrize("dtype", DTYPES)
def test_counts_and_upper_halves(dtype):
    info = np.iinfo(dtype)
    x = np.array([0, 1, 77, info.max, info.min], dtype)
    words = [int(v) % (1 << info.bits) for v in x]
    np.testing.assert_array_equal(reference("population_count")(x), [w.bit_count() for w in words])
    np.testing.assert_array_equal(reference("clz")(x), [info.bits - w.bit_length() for w in words])
    u, v = np.repeat(x, 5), np.tile(x, 5)
    wanted = [int(a) * int(b) >> info.bits for a, b in zip(u, v, strict=True)]
    np.testing.assert_array_equal(reference("mulhi")(u, v), np.array(wanted, dtype))
