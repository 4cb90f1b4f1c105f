"""Joining and splitting are inverse to each other, and expand ranks as NumPy does."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
import jitney.export
from jitney.numpy import joining

X = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
A, B = np.array([1, 2], np.int32), np.array([[3, 4], [5, 6]], np.int32)


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize(
    "parts", [[A, A], [B, B], [np.int32(1), np.int32(2)], [X, X]], ids=range(4)
)
def test_stacks_are_those_of_numpy(name, parts):
    if name == "column_stack" and parts[0].ndim > 2:
        return
    expected = getattr(np, name)(parts)
    np.testing.assert_array_equal(getattr(joining, name)(parts), expected)
    # One array is joined along its first axis.
    np.testing.assert_array_equal(getattr(joining, name)(np.stack(parts)), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_slices_of_an_array_are_joined_without_a_loop(axis):
    np.testing.assert_array_equal(joining.stack(X, axis), np.stack(list(X), axis))
    if axis != 2:
        np.testing.assert_array_equal(joining.concatenate(X, axis), np.concatenate(list(X), axis))
    parts = joining.unstack(X, axis=axis)
    np.testing.assert_array_equal(joining.stack(parts, axis), X)


def test_parts_are_promoted_or_converted():
    parts = [np.array([1], np.int8), np.array([2.5], np.float16)]
    assert joining.concatenate(parts).dtype == np.float16
    assert joining.concatenate(parts, dtype=np.int32).tolist() == [1, 2]
    assert joining.concatenate([X, A], axis=None).shape == (26,)
    for join in (joining.stack, joining.concatenate, joining.vstack):
        assert join(X, dtype=np.float16).dtype == np.float16


@pytest.mark.parametrize("sections", [2, [1], [1, 3], [-1, 9], 4])
def test_sections_are_those_of_numpy(sections):
    for ours, theirs in zip(
        joining.split(X, sections, axis=2), np.split(X, sections, axis=2), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_sections_may_be_symbolic():
    n, m = jitney.export.symbolic_shape("n, m")
    x = jitney.ShapeDtypeStruct((n + m, 2), np.float32)
    parts = jitney.eval_shape(lambda x: joining.split(x, [n]), x)
    assert [p.shape for p in parts] == [(n, 2), (m, 2)]


@pytest.mark.parametrize("count", [1, 3, 5, 7])
def test_unequal_sections_differ_by_one(count):
    ours, theirs = joining.array_split(np.arange(5), count), np.array_split(np.arange(5), count)
    assert [x.tolist() for x in ours] == [x.tolist() for x in theirs]


def test_blocks_are_assembled_from_the_innermost_lists():
    blocks = [[B, np.int32(0) * A[:, None]], [A[None], np.array([[9]])]]
    np.testing.assert_array_equal(joining.block(blocks), np.block(blocks))
    np.testing.assert_array_equal(joining.block([A, 7]), [1, 2, 7])
    with pytest.raises(ValueError, match="equally deep, but the depths in one list are"):
        joining.block([[A], A])
    with pytest.raises(ValueError, match="one is empty"):
        joining.block([[A], []])


@pytest.mark.parametrize("x", [np.int32(3), A, B, X], ids=lambda x: str(x.ndim))
def test_ranks_are_raised_to_one_two_and_three(x):
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        assert getattr(joining, name)(x).shape == getattr(np, name)(x).shape
    assert [y.shape for y in joining.atleast_2d(A, B)] == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: joining.concatenate([]), ValueError, "at least one array"),
        (lambda: joining.concatenate([np.int32(1)]), ValueError, "use jnp.stack to join scalars"),
        (lambda: joining.stack([A, B]), ValueError, r"shapes \(2,\), \(2, 2\)"),
        (lambda: joining.split(X, 5, 2), ValueError, "remainder of 4 after 5 parts of size 0"),
        (lambda: joining.split(X, 0), ZeroDivisionError, "at least 1"),
        (lambda: joining.dsplit(A, 1), IndexError, "axis 2 is out of bounds"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
