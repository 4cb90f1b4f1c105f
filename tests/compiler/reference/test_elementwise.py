"""Elementwise operations with parameters, at the edges of their formats."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.reference.elementwise import (
    bitcast_bits,
    clamp,
    integer_pow,
    reduce_precision,
    select_n,
)


@pytest.mark.parametrize("y", [-3, -1, 0, 1, 2, 5, 10])
def test_integer_powers(y):
    x = np.array([0.5, -2.0, 1.0])
    np.testing.assert_array_equal(integer_pow(x, y), x**y)


def test_powers_at_the_edges():
    x = np.array([0.0, np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(integer_pow(x, 0), np.ones(4))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(integer_pow(x, -3), [np.inf, np.nan, 0, 0])
    assert integer_pow(np.int8([3]), 5)[0] == np.int8(243 - 256)


def test_the_number_of_a_case_is_clamped():
    cases = [np.full(5, k) for k in range(3)]
    which = np.int32([-4, 0, 1, 2, 9])
    np.testing.assert_array_equal(select_n(which, *cases), [0, 0, 1, 2, 2])
    np.testing.assert_array_equal(
        select_n(np.array([False, True]), *[c[:2] for c in cases[:2]]), [0, 1]
    )


def test_nan_passes_through_clamps():
    low, high = np.float32(-1), np.float32(1)
    x = np.float32([-5, np.nan, 0.5, 7])
    np.testing.assert_array_equal(clamp(low, x, high), [-1, np.nan, 0.5, 1])
    assert np.isnan(clamp(np.float32([np.nan]), np.float32([0]), np.float32([1])))
    np.testing.assert_array_equal(clamp(np.array(3), np.array([1, 5]), np.array(2)), [2, 2])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (np.uint8, ml_dtypes.int4),
        (np.uint16, ml_dtypes.uint2),
        (np.float32, np.int8),
        (np.int8, np.uint8),
    ],
)
def test_bits_are_read_as_another_width_and_back(old, new):
    x = np.arange(3, 27, dtype=np.uint8).view(old)
    parts = bitcast_bits(x, new)
    assert parts.dtype == new and parts.shape[:1] == x.shape
    assert bitcast_bits(parts, old).tobytes() == x.tobytes()
    if new == ml_dtypes.int4:
        np.testing.assert_array_equal(parts[0].astype(int), [3, 0])
        np.testing.assert_array_equal(parts[9].astype(int), [-4, 0])


@pytest.mark.parametrize(
    ("exponent", "mantissa", "dtype"), [(5, 10, np.float16), (8, 7, ml_dtypes.bfloat16)]
)
def test_precision_is_that_of_narrower_formats(exponent, mantissa, dtype):
    x = np.float32([1, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-11, 65519, 65520, -0.0, np.inf, np.nan])
    with np.errstate(over="ignore"):
        expected = x.astype(dtype).astype(np.float32)
    found = reduce_precision(x, exponent, mantissa)
    np.testing.assert_array_equal(found, expected)
    assert np.signbit(found[6]) and reduce_precision(x[3], exponent, mantissa).shape == ()


def test_numbers_below_the_exponents_are_zero():
    x = np.float32([2**-14, -(2**-15), 6e-5])
    np.testing.assert_array_equal(reduce_precision(x, 5, 23), [2**-14, -0.0, 0])
    assert np.signbit(reduce_precision(x, 5, 23)[1])
