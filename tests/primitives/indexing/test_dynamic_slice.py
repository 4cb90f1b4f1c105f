"""Slices at computed positions: negative ones count from the end, all are kept in bounds."""

import numpy as np
import pytest

import jitney
from jitney.primitives.indexing.dynamic_slice import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
    start_operands,
)

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("start", [0, 1, 2, 9, -1, -2, -9])
def test_starts_are_clamped(start):
    wrapped = start + 4 if start < 0 else start
    low = min(max(wrapped, 0), 2)
    for of in (dynamic_slice_in_dim, jitney.jit(dynamic_slice_in_dim, static_argnums=(2, 3))):
        np.testing.assert_array_equal(of(X, start, 2, 1), X[:, low : low + 2])
        np.testing.assert_array_equal(of(X, np.int8(start), 2, 1), X[:, low : low + 2])
    want = X.copy()
    want[:, low : low + 2] = -1
    got = dynamic_update_slice_in_dim(X, -np.ones((3, 2), np.float32), start, 1)
    np.testing.assert_array_equal(got, want)


def test_one_element_along_an_axis():
    np.testing.assert_array_equal(dynamic_index_in_dim(X, -1, 1), X[:, 3:])
    np.testing.assert_array_equal(dynamic_index_in_dim(X, 1, 0, keepdims=False), X[1])
    got = dynamic_update_index_in_dim(X, np.zeros(4, np.float32), 1, 0)
    np.testing.assert_array_equal(got, X * [[1], [0], [1]])


def test_cotangents_of_slices_and_updates():
    ct = np.ones((2, 2), np.float32)
    back = jitney.vjp(lambda x: dynamic_slice(x, (1, 1), (2, 2)), X)[1](ct)[0]
    want = np.zeros_like(X)
    want[1:, 1:3] = 1
    np.testing.assert_array_equal(back, want)
    dx, du = jitney.vjp(lambda x, u: dynamic_update_slice(x, u, (1, 1)), X, ct)[1](X)
    np.testing.assert_array_equal(dx, X * (1 - want))
    np.testing.assert_array_equal(du, X[1:, 1:3])


def test_batches_of_positions():
    got = jitney.vmap(lambda i: dynamic_slice(X, (i, 0), (1, 4)))(np.int32([2, 0, -2, 7]))
    np.testing.assert_array_equal(got[:, 0], X[[2, 0, 1, 2]])
    got = jitney.vmap(lambda i, u: dynamic_update_slice(X[0], u, (i,)))(
        np.int32([0, 2]), np.float32([[7, 7], [8, 8]])
    )
    np.testing.assert_array_equal(got, [[7, 7, 2, 3], [0, 1, 8, 8]])


def test_start_indices_become_operands():
    assert [int(s) for s in start_operands("dynamic_slice", X, (-1, 2))] == [2, 2]
    assert [int(s) for s in start_operands("dynamic_slice", X, np.int32([1, -4]))] == [1, 0]
    assert [s.dtype for s in start_operands("dynamic_slice", X, (np.int8(1), 2))] == [
        np.int8,
        np.int32,
    ]
    with pytest.raises(
        ValueError,
        match=r"dynamic_slice: .* a start index must not be negative, but is -1 for an axis of size 4",
    ):
        start_operands("dynamic_slice", X, (0, -1), [True, False])
    with pytest.raises(ValueError, match=r"one start index for each axis .*but there is 1"):
        start_operands("dynamic_slice", X, (0,))
    with pytest.raises(
        TypeError,
        match=r"dynamic_slice: `start_indices` must be a sequence or a vector, but has shape \(\)",
    ):
        start_operands("dynamic_slice", X, np.int32(0))


def test_sizes_and_types_that_are_refused():
    with pytest.raises(TypeError, match=r"`slice_sizes` \(4, 1\) must not exceed the sizes"):
        dynamic_slice(X, (0, 0), (4, 1))
    with pytest.raises(TypeError, match="must not be negative"):
        dynamic_slice(X, (0, 0), (1, -1))
    with pytest.raises(TypeError, match="start indices must be integers of the same dtype"):
        dynamic_slice(X, (0.5, 0), (1, 1))
    with pytest.raises(TypeError, match="must not be larger than the operand"):
        dynamic_update_slice(X, np.zeros((4, 4), np.float32), (0, 0))
    with pytest.raises(TypeError, match="must have the rank of the operand"):
        dynamic_update_slice(X, X[0], (0, 0))
