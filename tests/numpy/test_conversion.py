"""`array_of` converts scalars, sequences and convertible objects, and refuses what would not fit."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.core.types import dtypes
from jitney.numpy.conversion import array_of

I8, F32 = np.dtype(np.int8), np.dtype(np.float32)


def converted(x, dtype=None, ndmin=0):
    return array_of(x, dtype, False, ndmin)


class Convertible:
    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return jitney.numpy.asarray(self.value)


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        ([True, 2], "int32"), ([1, 2.5], "float32"), ([1, 2j], "complex64"), ([], "float32"),
        ([[], []], "float32"), ([np.int8(1), 2], "int8"), ([np.int8(1), np.uint8(2)], "int16"),
        ([np.float16(1), 2.5], "float16"), ((np.arange(2, dtype=np.int16), [1, 2]), "int16"),
        (np.float64(1), "float32"), (range(3), "int32"),
    ],
)  # fmt: skip
def test_dtypes_of_sequences(x, dtype):
    found = converted(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(x))


def test_sequences_of_arrays_are_joined():
    x = jitney.numpy.arange(3)
    expected = [[0, 1, 2], [7, 8, 9]]
    assert converted([x, [7, 8, 9]]).tolist() == expected
    assert converted([[x[0], 1.5], [2, Convertible(3)]]).tolist() == [[0, 1.5], [2, 3]]
    traced = jitney.jit(lambda x: converted([x, [7, 8, x[2] + 7]]))(x)
    assert traced.tolist() == expected
    assert converted([x, x], I8, ndmin=4).shape == (1, 1, 2, 3)


def test_scalars_are_weakly_typed_and_objects_strongly():
    assert converted(2.0).weak_type
    assert not converted(2.0, F32).weak_type
    assert not converted(np.float32(2)).weak_type
    assert not converted(Convertible(2.0)).weak_type


@pytest.mark.parametrize("value", [127, -128, 127.9, -128.9, True])
def test_numbers_are_truncated_to_integers(value):
    assert converted(value, I8) == int(value)


@pytest.mark.parametrize(
    ("x", "dtype", "error", "message"),
    [
        (128, I8, OverflowError, "between -128 and 127, but the value is 128; .* wraps around"),
        (-129.0, I8, OverflowError, "saturates"),
        (float("nan"), I8, ValueError, "NaN cannot be converted to the requested dtype int8"),
        (1j, I8, TypeError, "complex"),
        (None, None, ValueError, "None has no value"),
        ([1, None], None, ValueError, "None has no value"),
        ([jitney.numpy.zeros(1), None], None, ValueError, "None has no value"),
        ([[1, 2], [3]], None, ValueError, "of shape .2,. are lists of lengths 1, 2"),
        ([[1, 2], 3], None, ValueError, "at depth 1, there must be only scalars"),
        ("text", None, TypeError, "the first one is 'text'"),
        (np.array(["a"]), None, TypeError, "numeric or boolean"),
    ],
)  # fmt: skip
def test_what_does_not_fit(x, dtype, error, message):
    with pytest.raises(error, match=message):
        converted(x, dtype)


def test_values_of_narrow_dtypes_are_kept():
    x = np.array([1.5, -2], dtypes.bfloat16)
    assert converted(x).dtype == dtypes.bfloat16
    assert converted([x, x]).tolist() == [[1.5, -2]] * 2
