"""Functions of 4- and 2-bit integers are those of their bits, computed in bytes and wrapped."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.reference.scalar import apply, convert, function

FORMATS = [(ml_dtypes.int4, 4), (ml_dtypes.uint4, 4), (ml_dtypes.int2, 2), (ml_dtypes.uint2, 2)]


def wrapped(values, dtype, bits):
    """The integers `values` modulo 2**bits, as numbers of `dtype`."""
    signed = ml_dtypes.iinfo(dtype).min < 0
    half = 2 ** (bits - 1) if signed else 0
    return ((np.asarray(values) + half) % 2**bits - half).astype(np.int8)


def pairs(dtype):
    info = ml_dtypes.iinfo(dtype)
    every = np.arange(info.min, info.max + 1)
    x, y = (a.reshape(-1) for a in np.meshgrid(every, every))
    return x, y, x.astype(np.int8).astype(dtype), y.astype(np.int8).astype(dtype)


@pytest.mark.parametrize(("dtype", "bits"), FORMATS)
@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("max", np.maximum),
        ("xor", np.bitwise_xor),
    ],
)
def test_arithmetic_wraps(dtype, bits, name, meaning):
    x, y, narrow_x, narrow_y = pairs(dtype)
    found = apply(name, [narrow_x, narrow_y])
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.int8), wrapped(meaning(x, y), dtype, bits))


@pytest.mark.parametrize(("dtype", "bits"), FORMATS)
def test_comparisons_are_those_of_the_numbers(dtype, bits):
    x, y, narrow_x, narrow_y = pairs(dtype)
    found = apply("lt", [narrow_x, narrow_y])
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found, x < y)


@pytest.mark.parametrize(("dtype", "bits"), FORMATS)
def test_bits_are_counted_within_the_width(dtype, bits):
    x, _, narrow, _ = pairs(dtype)
    texts = [f"{int(n) % 2**bits:0{bits}b}" for n in x]
    ones = apply("population_count", [narrow]).astype(np.int8)
    leading = apply("clz", [narrow]).astype(np.int8)
    np.testing.assert_array_equal(ones, wrapped([t.count("1") for t in texts], dtype, bits))
    zeros = [len(t) - len(t.lstrip("0")) for t in texts]
    np.testing.assert_array_equal(leading, wrapped(zeros, dtype, bits))


@pytest.mark.parametrize(("dtype", "bits"), FORMATS)
def test_shifts_to_the_right(dtype, bits):
    """Logical ones bring zeros, arithmetic ones the highest bit of the narrow number."""
    x, _, narrow, _ = pairs(dtype)
    by = np.ones_like(narrow)
    logical = apply("shift_right_logical", [narrow, by]).astype(np.int8)
    np.testing.assert_array_equal(logical, wrapped(x % 2**bits >> 1, dtype, bits))
    signed = (x + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    arithmetic = apply("shift_right_arithmetic", [narrow, by]).astype(np.int8)
    np.testing.assert_array_equal(arithmetic, wrapped(signed >> 1, dtype, bits))


def test_other_dtypes_have_their_own_functions():
    x = np.float16([0.1, -2])
    np.testing.assert_array_equal(apply("neg", [x]), -x)
    assert function("neg")(x).dtype == np.float16
    assert convert(np.float32([300, -1.7]), np.dtype(np.int8)).tolist() == [127, -1]
