"""Casts: floats are clamped into the range of integers, bits keep their bytes across widths."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.scalar_functions.casts import bitcast, convert


@pytest.mark.parametrize("new", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("old", ["float16", "float32", "float64", ml_dtypes.bfloat16], ids=str)
def test_floats_are_truncated_and_clamped(old, new):
    info = np.iinfo(new)
    x = np.array([-2.5, 3.75, np.inf, -np.inf, np.nan]).astype(old)
    wanted = [max(int(info.min), -2), 3, int(info.max), int(info.min), 0]
    np.testing.assert_array_equal(convert(x, np.dtype(new)), np.array(wanted, new))


def test_predicates_and_complex_numbers():
    np.testing.assert_array_equal(
        convert(np.array([0.0, -0.0, np.nan, 2]), np.dtype(bool)), [0, 0, 1, 1]
    )
    z = np.array([2.7 - 1j, np.nan + 0j])
    np.testing.assert_array_equal(convert(z, np.dtype("int32")), [2, 0])
    np.testing.assert_array_equal(convert(np.array([300, -1]), np.dtype("uint8")), [44, 255])


def test_bits_across_widths():
    x = np.arange(6, dtype=np.uint32).reshape(2, 3) * 0x01010101
    narrow = bitcast(x, "uint8")
    assert narrow.shape == (2, 3, 4)
    np.testing.assert_array_equal(bitcast(narrow, "uint32"), x)
    assert bitcast(x.T, "float32").shape == (3, 2)
    np.testing.assert_array_equal(bitcast(bitcast(x.T, "float32"), "uint32"), x.T)
