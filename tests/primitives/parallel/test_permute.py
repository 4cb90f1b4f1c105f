"""Values are sent along pairs of a named axis; who receives nothing has zeros."""

import numpy as np
import pytest

import jitney
from jitney.primitives.parallel.permute import pbroadcast, ppermute, pshuffle

X = np.arange(8, dtype=np.float32).reshape(4, 2) + 1


def over(f, *args, **options):
    return jitney.vmap(f, axis_name="i", **options)(*args)


def test_pairs_of_source_and_destination():
    got = over(lambda x: ppermute({"a": x}, "i", [(0, 2), (3, 0)]), X)["a"]
    np.testing.assert_array_equal(got, [X[3], [0, 0], X[0], [0, 0]])
    np.testing.assert_array_equal(over(lambda x: ppermute(x, "i", []), X), 0 * X)


def test_shuffles_and_broadcasts():
    np.testing.assert_array_equal(
        over(lambda x: pshuffle(x, "i", [2, 0, 3, 1]), X), X[[2, 0, 3, 1]]
    )
    np.testing.assert_array_equal(over(lambda x: pbroadcast(x, "i", 2), X), X[[2] * 4])


def test_two_axes_are_permuted_as_one():
    f = jitney.vmap(lambda x: ppermute(x, ("i", "j"), [(0, 3), (1, 0), (2, 1)]), axis_name="j")
    got = jitney.vmap(f, axis_name="i")(X.reshape(2, 2, 2))
    np.testing.assert_array_equal(np.reshape(got, (4, 2)), [X[1], X[2], [0, 0], X[0]])


def test_cotangents_go_back():
    _, pull = jitney.vjp(lambda x: over(lambda x: ppermute(x, "i", [(0, 2), (3, 0)]), x), X)
    np.testing.assert_array_equal(pull(X)[0], [X[2], [0, 0], [0, 0], X[0]])
    _, pull = jitney.vjp(lambda x: over(lambda x: pbroadcast(x, "i", 1), x), X)
    np.testing.assert_array_equal(pull(X)[0], [[0, 0], X.sum(0), [0, 0], [0, 0]])


def test_what_is_refused():
    for pairs in ([(0, 1), (0, 2)], [(0, 1), (2, 1)], [(0, 4)], [(-1, 0)]):
        with pytest.raises(ValueError, match="must be unique and within the axis of size 4"):
            over(lambda x, pairs=pairs: ppermute(x, "i", pairs), X)
    with pytest.raises(ValueError, match="must be a permutation of 0 to 2"):
        over(lambda x: pshuffle(x, "i", [0, 1, 1]), X)
    with pytest.raises(ValueError, match="source 4 is out of bounds for an axis of size 4"):
        over(lambda x: pbroadcast(x, "i", 4), X)
