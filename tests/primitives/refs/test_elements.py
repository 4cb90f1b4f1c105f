"""Elements are read, replaced and added through sequences of indices and views, as by NumPy."""

import numpy as np
import pytest

import jitney
from jitney.core.types.avals import get_aval
from jitney.primitives.refs.elements import accumulate, change_through, read, read_through, write
from jitney.primitives.refs.indexer import indexer_of
from jitney.primitives.refs.views import transposed

X = np.arange(12, dtype=np.float32).reshape(3, 4)
INDICES = [
    (...,),
    (1,),
    (slice(1, 3), -1),
    (slice(0, 3, 2),),
    (np.array([2, 0]),),
    (slice(None), np.array([3, 1])),
    (np.array([2, 0]), np.array([3, 1])),
]


@pytest.mark.parametrize("index", INDICES)
def test_one_step(index):
    step, want = indexer_of(index, X.shape), X.copy()
    np.testing.assert_array_equal(read(X, step), X[index])
    want[index] = -X[index]
    np.testing.assert_array_equal(write(X, step, -X[index]), want)
    np.add.at(want, index, X[index] + 1)
    np.testing.assert_array_equal(accumulate(write(X, step, -X[index]), step, X[index] + 1), want)


def test_computed_starts():
    def read_at(i):
        return read(X, indexer_of((jitney.ds(i, 2), 1), X.shape))

    np.testing.assert_array_equal(jitney.jit(read_at)(1), X[1:3, 1])


def test_repeated_positions_add_up():
    step = indexer_of(np.array([0, 0, 2]), X.shape)
    got = accumulate(X, step, np.ones((3, 4), np.float32))
    np.testing.assert_array_equal(got, X + [[2], [0], [1]])


@pytest.mark.parametrize("change", [write, accumulate])
def test_several_steps(change):
    steps = (
        indexer_of(slice(1, 3), X.shape),
        transposed(get_aval(X[1:]), None),
        indexer_of((slice(0, 4, 2), 1), (4, 2)),
    )
    np.testing.assert_array_equal(read_through(X, steps), X[1:].T[::2, 1])
    want = X.copy()
    new = np.float32([100, 200])
    want[1:].T[::2, 1] = new if change is write else new + X[1:].T[::2, 1]
    np.testing.assert_array_equal(change_through(X, steps, new, change), want)
    np.testing.assert_array_equal(change_through(X, (), X, change), X if change is write else 2 * X)
