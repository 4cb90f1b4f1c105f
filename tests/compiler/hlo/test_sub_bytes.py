"""Bitcasts of 2- and 4-bit elements keep the bits, the first element being the lowest."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.sub_bytes import bitcast


def cast(value, dtype):
    b = Builder()
    x = b.parameter(0, TensorType(value.shape, value.dtype))
    return run_region(ir.Region((x,), (bitcast(b, x, np.dtype(dtype)),)), [value])[0]


@pytest.mark.parametrize(("dtype", "bits"), [(ml_dtypes.uint4, 4), (ml_dtypes.uint2, 2)])
def test_bytes_are_split_from_the_lowest_bits_on(dtype, bits):
    value = np.uint8([0b11100100, 0b00011011])
    parts = [(int(x) >> k) % 2**bits for x in value for k in range(0, 8, bits)]
    found = cast(value, dtype)
    assert found.dtype == dtype and found.shape == (2, 8 // bits)
    np.testing.assert_array_equal(found.astype(int).reshape(-1), parts)


@pytest.mark.parametrize("narrow", [ml_dtypes.int4, ml_dtypes.uint2, ml_dtypes.float4_e2m1fn])
@pytest.mark.parametrize("wide", [np.int8, np.uint16, np.float32])
def test_round_trips_keep_all_bits(narrow, wide):
    value = np.arange(37, 45, dtype=np.uint8).view(wide).reshape(2, -1)
    parts = cast(value, narrow)
    assert parts.dtype == narrow and parts.shape[:-1] == value.shape
    again = cast(parts, wide)
    assert again.dtype == wide and again.tobytes() == value.tobytes()


def test_equal_widths_are_read_in_place():
    value = np.array([-8, -1, 0, 7]).astype(ml_dtypes.int4)
    found = cast(value, ml_dtypes.uint4)
    np.testing.assert_array_equal(found.astype(int), [8, 15, 0, 7])
    floats = cast(found, ml_dtypes.float4_e2m1fn)
    np.testing.assert_array_equal(floats.astype(float), [-0.0, -6.0, 0.0, 6.0])
