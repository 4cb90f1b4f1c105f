"""Running sums and products are those of NumPy; small integers grow only where the array API asks."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy import cumulative
from jitney.numpy.cumulative import cumprod, cumsum, cumulative_prod, cumulative_sum

X = np.array([[1, -2, 3], [4, 0, -6]], np.int32)


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_axes(name, axis):
    ours, theirs = getattr(cumulative, name), getattr(np, name)
    np.testing.assert_array_equal(ours(X, axis), theirs(X, axis))
    x = np.where(X < 0, np.nan, X).astype(np.float32)
    np.testing.assert_array_equal(ours(x, axis), theirs(x, axis))
    assert ours(np.float32(5)).tolist() == [5]
    assert ours(X[:, :0], 1).shape == (2, 0)


def test_dtypes():
    x = np.array([100, 100], np.int8)
    assert cumsum(x).tolist() == [100, -56]
    assert cumulative_sum(x).tolist() == [100, 200]
    assert cumulative_sum(x.view(np.uint8)).dtype == np.uint32
    assert cumsum(np.array([True, True])).tolist() == [1, 2]
    assert cumsum(x, dtype=np.float32).dtype == np.float32


def test_sums_of_truth_values():
    x = np.array([0, 3, 0, 2])
    assert cumsum(x, dtype=bool).tolist() == [False, True, True, True]
    assert cumprod(x[::-1], dtype=bool).tolist() == [True, False, False, False]


@pytest.mark.parametrize("axis", [0, 1])
def test_the_initial_value_may_be_included(axis):
    for ours, theirs in ((cumulative_sum, np.cumsum), (cumulative_prod, np.cumprod)):
        found = np.asarray(ours(X, axis=axis, include_initial=True)).swapaxes(0, axis)
        np.testing.assert_array_equal(found[1:].swapaxes(0, axis), theirs(X, axis))
        assert set(found[0]) == {int(ours is cumulative_prod)}


def test_the_array_api_asks_for_an_axis():
    with pytest.raises(ValueError, match=r"`axis` must be passed if `x` has several axes"):
        cumulative_sum(X)
    with pytest.raises(ValueError, match="must have at least one axis"):
        cumulative_prod(np.float32(3))
    with pytest.raises(NotImplementedError, match="`out` must be None"):
        cumsum(X, out=X)
