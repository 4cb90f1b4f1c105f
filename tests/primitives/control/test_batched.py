"""A function is mapped over the leading axis of a pytree's arrays."""

import numpy as np

from jitney.primitives.calculus import add, mul
from jitney.primitives.control.batched import batched_function

X = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_results_have_the_axis_in_front():
    got = batched_function(lambda t: {"sum": add(t["a"], t["b"]), "b": t["b"]})(
        {"a": X, "b": 2 * X}
    )
    np.testing.assert_array_equal(got["sum"], 3 * X)
    np.testing.assert_array_equal(got["b"], 2 * X)


def test_constant_results_are_repeated():
    np.testing.assert_array_equal(batched_function(lambda x: np.float32(7))(X), [7, 7, 7])
    row = X[0]
    np.testing.assert_array_equal(batched_function(lambda x: mul(row, row))(X), [row * row] * 3)
