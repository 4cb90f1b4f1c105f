"""Conversions saturate or wrap, keep bits, round to fewer bits, and cache scalars."""

import warnings

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.elementwise.convert import (
    bitcast_convert_type,
    convert,
    convert_element_type,
    owned_results,
    reduce_precision,
    refuse_complex_scalar,
    scalar_operand,
)


@pytest.mark.parametrize(
    ("x", "dtype", "want"),
    [
        (np.float32([np.nan, 300, -np.inf, -1.7]), np.int8, [0, 127, -128, -1]),
        (np.float32([-1, 256.5]), np.uint8, [0, 255]),
        (np.int32([300, -1]), np.uint8, [44, 255]),
        (np.float32([0, -0.0, np.nan, 0.1]), bool, [False, False, True, True]),
        (-1, np.uint8, 255),
    ],
)
def test_conversions(x, dtype, want):
    got = convert_element_type(x, dtype)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, want)


def test_imaginary_parts_are_dropped_with_a_warning():
    with pytest.warns(np.exceptions.ComplexWarning, match="drops the imaginary parts"):
        got = convert_element_type(np.complex64([1 + 2j]), np.float32)
    np.testing.assert_array_equal(got, [1])
    with pytest.raises(TypeError, match="dtype float32 requires a real number"):
        convert_element_type(1j, np.float32)
    refuse_complex_scalar(complex("nan"), np.dtype(np.int32), "f")  # converts to 0


def test_values_of_the_wanted_type_are_returned_themselves():
    x = jnp.ones(3)
    assert convert(x, np.dtype(np.float32)) is x
    assert convert(x, np.dtype(np.float32), weak_type=True).weak_type


def test_equal_scalars_are_one_object_but_zeros_keep_their_sign():
    f32 = np.dtype(np.float32)
    assert scalar_operand(0.1, f32, False) is scalar_operand(0.1, f32, False)
    assert np.signbit(scalar_operand(-0.0, f32, False))
    assert not np.signbit(scalar_operand(0.0, f32, False))
    assert type(scalar_operand(2, f32, True)) is float
    assert np.isinf(scalar_operand(1e300, f32, False))
    assert scalar_operand(300, np.dtype(np.uint8), False) == 44


def test_bits_are_kept():
    x = np.float32([1, -0.0, np.inf])
    np.testing.assert_array_equal(bitcast_convert_type(x, np.int32), x.view(np.int32))
    halves = bitcast_convert_type(x, np.uint16)
    np.testing.assert_array_equal(halves, x.view(np.uint16).reshape(3, 2))
    np.testing.assert_array_equal(bitcast_convert_type(halves, np.float32), x)
    mapped = jitney.vmap(lambda v: bitcast_convert_type(v, np.float32), in_axes=1)
    np.testing.assert_array_equal(mapped(np.asarray(halves).T), x)
    with pytest.raises(ValueError, match=r"shape \(3,\) from uint16 of 16 bits to float32"):
        bitcast_convert_type(np.zeros(3, np.uint16), np.float32)
    with pytest.raises(TypeError, match="booleans and complex elements"):
        bitcast_convert_type(np.zeros(4, bool), np.uint8)


def test_precision_is_reduced_to_the_nearest_even():
    x = np.float32([1 + 2**-8, 1 + 3 * 2**-8, 3.0e38, 70000, np.nan])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        half = x.astype(np.float16)
    np.testing.assert_array_equal(reduce_precision(x, 5, 10), half.astype(np.float32))
    got = reduce_precision(x, 8, 7)
    np.testing.assert_array_equal(got, x.astype(jnp.bfloat16).astype(np.float32))
    with pytest.raises(ValueError, match="`exponent_bits` must be at least 1"):
        reduce_precision(x, 0, 3)


def test_results_of_users_do_not_share_memory_with_their_arrays():
    x = np.zeros(2, np.float32)
    got = owned_results({"a": x, "b": 1.5})
    x[0] = 7
    np.testing.assert_array_equal(got["a"], [0, 0])
    assert got["b"] == 1.5
