"""`softmax` over all axes, unless others are named, sums to 1 and does not overflow."""

import numpy as np

from jitney.scipy.special.softmax_functions import log_softmax, softmax

X = np.array([[0.0, 1.0, 2.0], [1.0, -1.0, 3.0]], np.float32)


def test_all_axes_unless_one_is_named():
    np.testing.assert_allclose(softmax(X), np.exp(X) / np.sum(np.exp(X)), rtol=1e-6)
    np.testing.assert_allclose(np.sum(softmax(X, axis=0), axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(np.exp(log_softmax(X, axis=1)), softmax(X, axis=1), rtol=1e-5)


def test_large_arguments_do_not_overflow():
    np.testing.assert_array_equal(softmax(np.array([1e4, 0.0, -np.inf])), [1, 0, 0])
    np.testing.assert_array_equal(log_softmax(np.array([1e4, 0.0])), [0, -1e4])


def test_a_common_shift_changes_nothing():
    np.testing.assert_array_equal(log_softmax(X + 8), log_softmax(X))
