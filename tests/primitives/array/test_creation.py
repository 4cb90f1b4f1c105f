"""Arrays are made from shapes, fill values, and the types of other arrays."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.primitives.array.creation import broadcasted_iota, empty, full, full_like, iota


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4), (0, 2), (2, 0)])
def test_indices_along_an_axis(shape):
    for axis in range(len(shape)):
        got = broadcasted_iota(np.int16, shape, axis)
        assert got.dtype == np.int16
        np.testing.assert_array_equal(got, np.indices(shape)[axis])


def test_indices_in_other_dtypes():
    np.testing.assert_array_equal(iota(np.float32, 3), [0, 1, 2])
    np.testing.assert_array_equal(iota(np.int8, 130)[126:], [126, 127, -128, -127])
    with pytest.raises(ValueError, match="`dimension` must be an axis of the result, but is 2"):
        broadcasted_iota(np.int32, (2, 3), 2)
    with pytest.raises(TypeError, match="must not be negative"):
        broadcasted_iota(np.int32, (2, -3), 0)


def test_fill_values_keep_their_weak_type_unless_a_dtype_is_given():
    assert full((2,), 7).weak_type
    assert not full((2,), 7, np.int32).weak_type
    np.testing.assert_array_equal(full((2, 1), 3.7, np.int8), [[3], [3]])
    np.testing.assert_array_equal(full((), 300, np.uint8), 44)


def test_the_type_of_another_array_is_the_default():
    weak = full((2,), 7.5)
    assert full_like(weak, 1).weak_type
    assert not full_like(weak, 1, np.float32).weak_type
    got = full_like(np.zeros((2, 3), np.int16), 9, shape=(4,))
    assert (got.shape, got.dtype) == ((4,), np.int16)
    assert full_like(2.5, 1).shape == ()


def test_fill_values_that_are_refused():
    with pytest.raises(TypeError, match=r"must have rank 0, but has shape \(2,\)"):
        full((2,), jnp.ones(2))
    with pytest.raises(TypeError, match=r"lax.full_like: dtype float32 requires a real number"):
        full_like(np.zeros(2, np.float32), 1j)


def test_contents_of_empty_arrays_are_zeros():
    np.testing.assert_array_equal(empty((2, 2), np.float16), np.zeros((2, 2)))
