"""Zeros, sums and broadcasts of tangents have the types of tangents."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval, shaped_array
from jitney.primitives import tangent_algebra as algebra


@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
@pytest.mark.parametrize("weak", [False, True])
def test_zeros_have_the_type_that_is_asked_for(shape, weak):
    aval = shaped_array(shape, np.float32, weak)
    zero = algebra.zeros(aval)
    assert get_aval(zero) == aval
    np.testing.assert_array_equal(zero, np.zeros(shape))


def test_trivial_tangents_have_no_bits():
    zero = algebra.zeros(shaped_array((2,), dtypes.float0))
    assert zero.dtype == dtypes.float0
    assert algebra.add(zero, zero) is zero


def test_sums_and_multiples():
    x = np.float32([1, 2])
    np.testing.assert_array_equal(algebra.add(x, x), [2, 4])
    np.testing.assert_array_equal(algebra.scale(x, -0.5), [-0.5, -1])
    assert algebra.scale(jnp.full((), 2.0), 3).weak_type


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_new_axis_repeats_the_elements(position):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = algebra.insert_axis(x, position, 4)
    np.testing.assert_array_equal(got, np.repeat(np.expand_dims(x, position), 4, position))
