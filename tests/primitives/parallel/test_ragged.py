"""Rows are exchanged in any numbers, and rows that are not received keep their values."""

import functools

import numpy as np
import pytest

import jitney
from jitney.primitives.parallel.ragged import ragged_all_to_all

SIZES = np.int32([[1, 2], [3, 0]])  # rows from instance i to instance j
STARTS = np.int32([[0, 1], [0, 3]])
TARGETS = np.int32([[0, 0], [1, 2]])  # where they go in the output of j
X = np.arange(8, dtype=np.float32).reshape(2, 4) + 1
OUTPUT = -np.ones((2, 5), np.float32)


def exchange(x, out):
    return jitney.vmap(lambda *args: ragged_all_to_all(*args, axis_name="i"), axis_name="i")(
        x, out, STARTS, SIZES, TARGETS, SIZES.T
    )


WANT = [[X[0, 0], *X[1, :3], -1], [*X[0, 1:3], -1, -1, -1]]


def test_rows_arrive_where_they_are_sent():
    np.testing.assert_array_equal(exchange(X, OUTPUT), WANT)
    np.testing.assert_array_equal(jitney.jit(exchange)(X, OUTPUT), WANT)


def test_rows_may_be_arrays():
    x, out = np.stack([X, 10 * X], 2), np.stack([OUTPUT, OUTPUT], 2)
    got = np.asarray(exchange(x, out))
    np.testing.assert_array_equal(got[..., 0], WANT)
    np.testing.assert_array_equal(
        got[..., 1][got[..., 0] > 0], 10 * np.array(WANT)[got[..., 0] > 0]
    )


def test_cotangents_go_back():
    _, pull = jitney.vjp(exchange, X, OUTPUT)
    ct = np.arange(10, dtype=np.float32).reshape(2, 5) + 1
    dx, dout = pull(ct)
    np.testing.assert_array_equal(dx, [[ct[0, 0], ct[1, 0], ct[1, 1], 0], [*ct[0, 1:4], 0]])
    np.testing.assert_array_equal(dout, ct * (np.array(WANT) == -1))


def test_what_is_refused():
    def call(*args, axis="i"):
        exchange = functools.partial(ragged_all_to_all, axis_name=axis)
        return jitney.make_jaxpr(exchange, axis_env=[("i", 2), ("j", 2)])(*args)

    numbers = STARTS[0], SIZES[0], TARGETS[0], SIZES[0]
    with pytest.raises(ValueError, match="must have the same dtype and rows of the same shape"):
        call(X[0], OUTPUT[0].astype(np.int32), *numbers)
    with pytest.raises(ValueError, match="must have rows, got scalars"):
        call(X[0, 0], OUTPUT[0, 0], *numbers)
    with pytest.raises(ValueError, match="must be integers of rank 1"):
        call(X[0], OUTPUT[0], STARTS[0].astype(np.float32), *numbers[1:])
    with pytest.raises(ValueError, match="axis_name must be a single name"):
        call(X[0], OUTPUT[0], *numbers, axis=("i", "j"))
