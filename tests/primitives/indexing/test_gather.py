"""Slices are gathered as by NumPy's indexing; numbers of axes that do not fit are refused."""

import numpy as np
import pytest

import jitney
from jitney.primitives.indexing.gather import (
    GatherDimensionNumbers as Numbers,
    GatherScatterMode as Mode,
    check_axes,
    check_disjoint,
    default_fill_value,
    gather,
    index_take,
)

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ROWS = Numbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))


@pytest.mark.parametrize(
    ("mode", "want"),
    [
        ("clip", [X[2], X[0], X[1]]),
        ("fill", [[np.nan] * 4, [np.nan] * 4, X[1]]),
    ],
)
def test_indices_out_of_range(mode, want):
    got = gather(X, np.int32([[5], [-1], [1]]), ROWS, (1, 4), mode=mode)
    np.testing.assert_array_equal(got, want)


def test_fill_values():
    got = gather(X, np.int32([[9]]), ROWS, (1, 4), mode="fill", fill_value=7)
    np.testing.assert_array_equal(got, [[7] * 4])
    assert default_fill_value(np.dtype(np.int8)) == -128
    assert default_fill_value(np.dtype(np.uint16)) == 65535
    assert default_fill_value(np.dtype(bool)) is True
    assert np.isnan(default_fill_value(np.dtype(np.complex64)))
    with pytest.raises(TypeError, match="must be a concrete scalar"):
        jitney.jit(lambda v: gather(X, np.int32([[0]]), ROWS, (1, 4), fill_value=v, mode="fill"))(
            1.0
        )


def test_windows_at_positions():
    numbers = Numbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(1, 0))
    got = gather(X, np.int32([[1, 0], [2, 1]]), numbers, (2, 2))
    np.testing.assert_array_equal(got, [X[0:2, 1:3], X[1:3, 2:4]])


def test_positions_wrap_around():
    i, j = np.int32([2, -3, 4]), np.int32([-1, 5, 0])
    np.testing.assert_array_equal(index_take(X, (i, j), (0, 1)), X[i % 3, j % 4])
    np.testing.assert_array_equal(index_take(X, (j,), (1,)), X[:, j % 4].T)
    with pytest.raises(ValueError, match=r"`src` of shape \(3, 4\) does not have all of the axes"):
        index_take(X, (i,), (2,))


@pytest.mark.parametrize(("x_axis", "i_axis"), [(1, None), (None, 0), (0, 1), (1, 0)])
def test_batches_are_one_gather(x_axis, i_axis):
    xs = np.stack([X, X + 100], 0 if x_axis is None else x_axis)
    rows = np.int32([[[2], [0]], [[1], [1]]])

    def take(x, i):
        return gather(x, i, ROWS, (1, 4))

    x, i = X if x_axis is None else xs, rows[0] if i_axis is None else rows
    got = jitney.vmap(take, in_axes=(x_axis, i_axis))(x, i)
    for k in range(2):
        one = X if x_axis is None else np.take(xs, k, x_axis)
        own = i if i_axis is None else np.take(i, k, i_axis)
        np.testing.assert_array_equal(got[k], one[own[:, 0]])
    assert (
        str(jitney.make_jaxpr(jitney.vmap(take, in_axes=(x_axis, i_axis)))(x, i)).count("gather[")
        == 1
    )


def test_names_of_modes():
    assert Mode.from_any(None) is Mode.FILL_OR_DROP
    assert Mode.from_any("clip") is Mode.CLIP
    assert Mode.from_any("drop") is Mode.FILL_OR_DROP
    with pytest.raises(ValueError, match=r"`mode` must be one of .*, but is 'wrong'"):
        Mode.from_any("wrong")


def test_axes_that_do_not_fit():
    check_axes("gather", "offset_dims", (0, 2), 3)
    with pytest.raises(TypeError, match="`offset_dims` must be in ascending order"):
        check_axes("gather", "offset_dims", (2, 0), 3)
    with pytest.raises(TypeError, match="must name each axis at most once"):
        check_axes("gather", "offset_dims", (1, 1), 3)
    with pytest.raises(
        TypeError,
        match="must name axes of an array of rank 3, which has the axes 0 to 2, but names 3",
    ):
        check_axes("gather", "offset_dims", (3,), 3)
    with pytest.raises(TypeError, match="`a` and `b` must have no axis in common"):
        check_disjoint("gather", ("a", (0, 1)), ("b", (1,)))
    with pytest.raises(TypeError, match=r"slice_sizes\[1\] must be between 0 and 4"):
        gather(X, np.int32([[0]]), ROWS, (1, 5))
    with pytest.raises(ValueError, match="the indices must be integers"):
        gather(X, np.float32([[0]]), ROWS, (1, 4))
