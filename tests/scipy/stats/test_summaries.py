"""Modes, ranks and standard errors: ties, NaN, empty samples, axes."""

import numpy as np
import pytest
import scipy.stats

from jitney.scipy.stats.summaries import mode, rankdata, sem

X = np.array([[3, 1, 3, 2], [2, 2, 1, 1], [5, 5, 5, 0]])


def test_of_several_most_frequent_values_the_smallest_is_the_mode():
    found = mode(X, axis=1)
    np.testing.assert_array_equal(found.mode, [3, 1, 5])
    np.testing.assert_array_equal(found.count, [2, 2, 3])


def test_mode_of_all_elements_keeps_dimensions_where_asked():
    found = mode(X, axis=None, keepdims=True)
    assert found.mode.shape == (1, 1) and (found.mode[0, 0], found.count[0, 0]) == (1, 3)
    assert mode(X, axis=0, keepdims=True).mode.shape == (1, 4)


def test_nan_are_equal_to_each_other_for_the_mode():
    found = mode(np.array([np.nan, 1.0, np.nan]))
    assert np.isnan(found.mode) and found.count == 2
    empty = mode(np.zeros((0, 2)))
    np.testing.assert_array_equal(empty.mode, [np.nan, np.nan])
    np.testing.assert_array_equal(empty.count, 0)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_ranks(method, axis):
    wanted = scipy.stats.rankdata(X, method, axis=axis)
    np.testing.assert_array_equal(rankdata(X, method, axis=axis), wanted)


def test_a_nan_makes_all_ranks_of_its_row_nan():
    found = rankdata(np.array([[2.0, np.nan], [2.0, 1.0]]), axis=1)
    np.testing.assert_array_equal(found, [[np.nan, np.nan], [2, 1]])
    assert rankdata(np.zeros((0,))).shape == (0,)


def test_standard_errors():
    x = X.astype(np.float32)
    np.testing.assert_allclose(sem(x, axis=1), np.std(x, axis=1, ddof=1) / 2, rtol=1e-6)
    assert sem(x, axis=None, keepdims=True).shape == (1, 1)
    x[0, 0] = np.nan
    found = sem(x, axis=0, ddof=0, nan_policy="omit")
    np.testing.assert_allclose(found[0], np.std(x[1:, 0]) / np.sqrt(2), rtol=1e-6)
    assert np.isnan(sem(x, axis=0)[0]) and not np.isnan(sem(x, axis=0)[1])


def test_policies_and_methods_that_are_not_there():
    with pytest.raises(NotImplementedError, match="nan_policy='omit' is not supported"):
        mode(X, nan_policy="omit")
    with pytest.raises(ValueError, match="nan_policy must be one of"):
        rankdata(X, nan_policy="skip")
    with pytest.raises(ValueError, match="unknown method 'mean'"):
        rankdata(X, "mean")
    with pytest.raises(ValueError, match="nan_policy='raise' is not supported"):
        sem(X, nan_policy="raise")
