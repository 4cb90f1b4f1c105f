"""Accumulators hold the sum of the cotangents that they receive."""

import numpy as np
import pytest

from jitney.core.types.avals import shaped_array
from jitney.transforms.accumulators import GradAccum, NullAccum, ValAccum
from jitney.transforms.zero import Zero

F32 = shaped_array((2,), np.dtype(np.float32))
X = np.array([1, 2], np.float32)


def test_sums_skip_zeros_and_nothing():
    accum = ValAccum(F32)
    for x in (None, Zero(F32)):
        accum.accum(x)
        assert isinstance(accum.freeze(), Zero)
    accum.accum(X)
    accum.accum(None)
    accum.accum(2 * X)
    np.testing.assert_array_equal(accum.freeze(), 3 * X)
    np.testing.assert_array_equal(accum.freeze(), 3 * X)


def test_taking_resets_the_sum():
    accum = ValAccum(F32, X)
    np.testing.assert_array_equal(accum.take(), X)
    assert isinstance(accum.take(), Zero)
    accum.accum(X)
    np.testing.assert_array_equal(accum.freeze(), X)
    assert repr(accum) == "ValAccum(float32[2])"


def test_cotangents_that_are_not_needed_are_discarded():
    accum = NullAccum(F32)
    accum.accum(X)
    assert isinstance(accum.freeze(), Zero)
    assert accum.take().aval is F32


def test_the_base_class_defines_nothing():
    for method in (GradAccum(F32).freeze, GradAccum(F32).take, lambda: GradAccum(F32).accum(X)):
        with pytest.raises(NotImplementedError):
            method()
