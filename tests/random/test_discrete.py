"""Choices and permutations: elements, shapes, shares of the draws, and what is refused."""

import numpy as np
import pytest

from jitney import random
from jitney.random.discrete import categorical, choice, permutation

KEY = random.key(2)
X = np.arange(12).reshape(4, 3)


def test_permutations_keep_slices_unless_independent():
    np.testing.assert_array_equal(np.sort(permutation(KEY, 9)), np.arange(9))
    rows = np.asarray(permutation(KEY, X))
    np.testing.assert_array_equal(rows[np.argsort(rows[:, 0])], X)
    columns = np.asarray(permutation(KEY, X, axis=-1))
    np.testing.assert_array_equal(columns[:, np.argsort(columns[0])], X)
    mixed = np.asarray(permutation(KEY, np.tile(np.arange(50), (2, 1)), 1, independent=True))
    np.testing.assert_array_equal(np.sort(mixed, axis=1)[0], np.arange(50))
    assert np.any(mixed[0] != mixed[1])


def test_all_permutations_of_three_are_as_likely():
    seen = {}
    for key in random.split(KEY, 120):
        order = tuple(np.asarray(permutation(key, 3)).tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6 and min(seen.values()) > 7


def test_choices_without_repetition_are_distinct():
    drawn = np.asarray(choice(KEY, 20, (4, 5), replace=False))
    np.testing.assert_array_equal(np.sort(drawn.ravel()), np.arange(20))
    weighted = np.asarray(choice(KEY, 5, (3,), replace=False, p=np.array([0, 1, 2, 0, 1.0])))
    np.testing.assert_array_equal(np.sort(weighted), [1, 2, 4])


def test_choices_by_weight():
    p = np.array([0.1, 0.0, 0.6, 0.3])
    drawn = np.asarray(choice(KEY, np.array([10, 20, 30, 40]), (3000,), p=p))
    shares = [np.mean(drawn == v) for v in (10, 20, 30, 40)]
    np.testing.assert_allclose(shares, p, atol=0.04)


def test_choices_along_an_axis():
    drawn = np.asarray(choice(KEY, X, (2, 5), axis=1))
    assert drawn.shape == (4, 2, 5)
    np.testing.assert_array_equal(
        drawn - drawn[:1], np.broadcast_to(3 * np.arange(4)[:, None, None], (4, 2, 5))
    )
    assert choice(KEY, X, (0,)).shape == (0, 3) and choice(KEY, 0, (0,)).shape == (0,)


def test_categories_have_the_shares_of_their_exponentials():
    p = np.array([[0.2, 0.5, 0.3], [0.7, 0.3, 0.0]])
    with np.errstate(divide="ignore"):
        drawn = np.asarray(categorical(KEY, np.log(p), shape=(3000, 2)))
    for i in range(3):
        np.testing.assert_allclose(np.mean(drawn == i, axis=0), p[:, i], atol=0.04)
    few = np.asarray(categorical(KEY, np.zeros((2, 4)), shape=(4, 2), replace=False))
    np.testing.assert_array_equal(np.sort(few, axis=0), np.tile(np.arange(4)[:, None], 2))
    assert categorical(KEY, np.zeros((2, 4, 3)), axis=1).shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: permutation(KEY, 2.5), TypeError, "must be an array, or an integer"),
        (lambda: permutation(KEY, X, 2), ValueError, "axis 2 is out of bounds"),
        (lambda: choice(KEY, 3, 2), TypeError, "`shape` must be a sequence"),
        (lambda: choice(KEY, 0, (1,)), ValueError, "`a` has 0 elements to draw from"),
        (lambda: choice(KEY, 3, (4,), replace=False), ValueError, "at most 3 elements"),
        (
            lambda: choice(KEY, 3, (2,), p=np.ones(4)),
            ValueError,
            "one probability for each of the 3",
        ),
        (
            lambda: categorical(KEY, np.zeros((2, 3)), shape=(3,)),
            ValueError,
            "to the trailing axes",
        ),
        (lambda: categorical(KEY, np.zeros(3), shape=(4,), replace=False), ValueError, "4 draws"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
