"""Trees of pairs give the results of folds, of neighbors or of halves."""

import numpy as np
import pytest

from jitney.primitives.calculus import add, mul
from jitney.primitives.reduction.pairwise import by_pairs, cut


def sums(first, second):
    return [add(first[0], second[0])]


def maps(first, second):
    """Composes maps x -> a x + b: associative, but not commutative."""
    return [mul(first[0], second[0]), add(mul(first[1], second[0]), second[1])]


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("axes", [(0,), (1,), (2, 0), (0, 1, 2)])
def test_sums(axes, halves):
    x = np.arange(2 * 3 * 5, dtype=np.int32).reshape(2, 3, 5)
    (got,) = by_pairs([x], axes, sums, [np.int32(0)], halves)
    np.testing.assert_array_equal(got, x.sum(axes))


@pytest.mark.parametrize("halves", [False, True])
def test_nothing_gives_the_neutral_element(halves):
    x = np.zeros((3, 0), np.float32)
    (got,) = by_pairs([x], (1,), sums, [np.float32(7)], halves)
    np.testing.assert_array_equal(got, [7, 7, 7])


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 13])
def test_neighbors_are_combined_in_order(n):
    a, b = np.arange(1, n + 1, dtype=np.int32) % 3 + 1, np.arange(n, dtype=np.int32)
    got = by_pairs([a, b], (0,), maps, [np.int32(1), np.int32(0)], False)
    offset = 0
    for p, q in zip(a, b, strict=True):
        offset = offset * p + q
    assert [int(x) for x in got] == [np.prod(a), offset]


def test_halves_are_the_two_ends():
    pairs = []

    def note(first, second):
        pairs.append((list(map(int, first[0])), list(map(int, second[0]))))
        return sums(first, second)

    by_pairs([np.array([1, 2, 3, 4, 5], np.int32)], (0,), note, [np.int32(0)], True)
    assert pairs[0] == ([1, 2], [4, 5])


def test_cuts_along_an_axis():
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    np.testing.assert_array_equal(cut(x, 1, 1, 6, 2), x[:, 1:6:2])
    np.testing.assert_array_equal(cut(x, 0, 1, 2), x[1:])
