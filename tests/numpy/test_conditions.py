"""Elements are chosen by the first condition, or the last, and only its derivative counts."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.conditions import piecewise, select, where

X = np.array([[-2, 0], [1, 3]], np.float32)


def test_where_broadcasts_and_promotes():
    found = where(X > 0, X, np.int8(7))
    np.testing.assert_array_equal(found, [[7, 7], [1, 3]])
    assert found.dtype == np.float32
    # Numbers other than zero are true, NaN among them.
    assert where(np.array([0.0, np.nan, 2.0]), 1, 2).tolist() == [2, 1, 1]
    np.testing.assert_array_equal(where(X), np.nonzero(X))
    assert where(X > 0, size=3, fill_value=-1)[0].tolist() == [1, 1, -1]


def test_the_first_condition_that_is_true_selects():
    conditions, choices = [X > 2, X > 0, np.array([True, False])], [X * 10, 5, X]
    np.testing.assert_array_equal(
        select(conditions, choices, -1), np.select(conditions, choices, -1)
    )
    assert select([np.array([0, 2])], [7]).tolist() == [0, 7]


def test_the_last_condition_that_is_true_selects_a_function():
    conditions = [X < 2, X > 0]
    functions = [lambda x: -x, lambda x: x * 10, lambda x: x + 100]
    for count in (2, 3):
        np.testing.assert_array_equal(
            piecewise(X, conditions, functions[:count]),
            np.piecewise(X, conditions, functions[:count]),
        )
    shifted = piecewise(X, [X > 0], [lambda x, a, b: x * a + b, 7], 2, b=1)
    assert shifted.tolist() == [[7, 7], [3, 7]]


def test_slopes_of_functions_that_are_not_selected_do_not_count():
    def f(x):
        return piecewise(x, [x > 0], [jitney.numpy.sqrt, lambda x: 3 * x]).sum()

    slopes = jitney.grad(f)(np.array([4.0, 0.0, -1.0], np.float32))
    assert slopes.tolist() == [0.25, 3, 3]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: where(X > 0, X), ValueError, "`y` is missing"),
        (lambda: where(X > 0, X, X, size=2), ValueError, "calls with `condition` alone"),
        (lambda: select([X > 0], []), ValueError, "they have lengths 1 and 0"),
        (lambda: select([], []), ValueError, "at least one condition"),
        (lambda: piecewise(X, [X > 0], [1, 2, 3]), ValueError, "of which there is 1, and"),
        (lambda: piecewise(X, True, [1]), TypeError, "a sequence of conditions"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
