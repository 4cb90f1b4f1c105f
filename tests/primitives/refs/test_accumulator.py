"""Accumulators sum cotangents in a reference, which the first one creates."""

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney.core.types.avals import shaped_array
from jitney.primitives.refs.accumulator import RefAccum
from jitney.transforms.zero import Zero

AVAL = shaped_array((2,), np.float32)
X = jnp.float32([1, 2])


def test_nothing_is_a_symbolic_zero():
    total = RefAccum(AVAL)
    total.accum(None)
    total.accum(Zero(AVAL))
    assert total.ref is None
    assert type(total.freeze()) is Zero
    assert type(total.take()) is Zero
    np.testing.assert_array_equal(total.inst().freeze(), [0, 0])


def test_parts_are_added_until_they_are_taken():
    total = RefAccum(AVAL)
    total.accum(X)
    total.accum(10 * X)
    np.testing.assert_array_equal(total.freeze(), 11 * X)
    np.testing.assert_array_equal(total.take(), 11 * X)
    total.accum(X)
    np.testing.assert_array_equal(total.freeze(), X)


def test_a_reference_of_the_user_holds_the_sum():
    ref = jitney.new_ref(100 * X)
    total = RefAccum(AVAL, ref)
    total.accum(X)
    np.testing.assert_array_equal(ref[...], 101 * X)
    assert total.inst() is total
    assert total.ref is ref
