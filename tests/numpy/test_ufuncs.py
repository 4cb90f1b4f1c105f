"""Ufuncs reduce, accumulate and pair elements as NumPy's do; ones of users do so in turn."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy import ufuncs
from jitney.numpy.ufuncs import frompyfunc

X = np.array([[3, 1, 4], [1, 5, 9]], np.int32)
# Not associative, so that a wrong order is noticed.
STEP = frompyfunc(lambda x, y: 2 * x + y, 2, 1)


def in_turn(row):
    out = row[0]
    for x in row[1:]:
        out = 2 * out + x
    return out


@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "minimum", "logical_or", "bitwise_and", "bitwise_xor"]
)
def test_folds_are_those_of_numpy(name):
    ours, theirs = getattr(ufuncs, name), getattr(np, name)
    for axis in (0, -1, None):
        np.testing.assert_array_equal(ours.reduce(X, axis), theirs.reduce(X, axis))
    kept = ours.reduce(X, 1, keepdims=True, initial=2, where=X > 2)
    expected = theirs.reduce(X, 1, keepdims=True, initial=2, where=X > 2)
    np.testing.assert_array_equal(kept, expected)


def test_subtraction_goes_from_left_to_right():
    np.testing.assert_array_equal(ufuncs.subtract.reduce(X, 1), np.subtract.reduce(X, 1))
    np.testing.assert_array_equal(ufuncs.subtract.accumulate(X, 1), np.subtract.accumulate(X, 1))
    x = np.array([1.0, -2.0, 0.5], np.float32)
    assert float(ufuncs.logaddexp.reduce(x)) == pytest.approx(np.logaddexp.reduce(x), rel=1e-6)
    assert float(ufuncs.logaddexp2.reduce(x)) == pytest.approx(np.logaddexp2.reduce(x), rel=1e-6)


def test_functions_of_users_are_applied_in_turn():
    assert STEP.reduce(X, 1).tolist() == [in_turn(r) for r in X]
    assert STEP.reduce(X, None) == in_turn(X.ravel())
    assert STEP.reduce(X, 0, initial=1).tolist() == [in_turn([1, *r]) for r in X.T]
    assert STEP.accumulate(X, 1).tolist() == [[in_turn(r[: k + 1]) for k in range(3)] for r in X]
    assert STEP(X, 1).tolist() == (2 * X + 1).tolist()
    ratio = frompyfunc(lambda x, y: x / y, 2, 1)  # integers become floats
    assert ratio.reduce(X, 1).tolist() == [0.75, np.float32(1 / 45)]
    assert ratio.accumulate(X[0]).tolist() == [3, 3, 0.75]
    assert ratio.reduceat(X[0], np.array([1])).tolist() == [0.25]


def test_reduceat_folds_segments():
    x, starts = np.array([1, 2, 3, 4, 5]), np.array([0, 3, 1])
    assert STEP.reduceat(x, starts).tolist() == [in_turn(x[:3]), 4, in_turn(x[1:])]
    assert ufuncs.add.reduceat(x, starts).tolist() == np.add.reduceat(x, starts).tolist()


def test_pairs_and_updates():
    x, y = np.array([1, 2]), np.array([[3], [4]])
    np.testing.assert_array_equal(STEP.outer(x, y), 2 * x[:, None, None] + y)
    twice = np.array([0, 0, 1])
    for f in (ufuncs.add, STEP):
        expected = X[0].copy()
        for k, v in zip(twice, (5, 6, 7), strict=True):
            expected[k] = f(expected[k], v)
        assert f.at(X[0], twice, np.array([5, 6, 7]), inplace=False).tolist() == expected.tolist()
    assert ufuncs.negative.at(X[0], twice[1:], inplace=False).tolist() == [-3, -1, 4]


def test_ufuncs_of_one_function_are_equal():
    f = STEP._func
    assert frompyfunc(f, 2, 1) == STEP
    assert hash(frompyfunc(f, 2, 1)) == hash(STEP)
    assert frompyfunc(f, 2, 1, identity=0) != STEP


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: STEP.reduce(X[:, :0], 1), ValueError, "passed if there are no elements"),
        (lambda: STEP.reduce(X, where=X > 1), ValueError, "`initial` must be passed with `where`"),
        (lambda: STEP.reduce(X, (0, 1)), NotImplementedError, "one axis or None"),
        (lambda: ufuncs.negative.reduce(X), ValueError, "two operands, not 1"),
        (lambda: ufuncs.add.at(X, 0, 1), NotImplementedError, "`inplace` must be False"),
        (lambda: ufuncs.add(X, X, out=X), NotImplementedError, "`out` must be None"),
        (lambda: STEP.reduceat(X, X), ValueError, "`indices` must be a vector"),
    ],
)
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
