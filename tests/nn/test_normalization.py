"""Softmax sums to 1 and ignores what is masked; standardized elements have mean 0 and variance 1."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import jitney
from jitney.nn.normalization import log_softmax, logmeanexp, one_hot, softmax, standardize

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
MASK = np.array([[True, False, True, True], [False] * 4, [True] * 4])


@pytest.mark.parametrize("axis", [0, -1, (0, 1)])
def test_softmax(axis):
    np.testing.assert_allclose(softmax(X, axis), special.softmax(X, axis), rtol=1e-5)
    np.testing.assert_allclose(log_softmax(X, axis), special.log_softmax(X, axis), rtol=1e-5)
    np.testing.assert_allclose(softmax(X + 1000, axis), softmax(X, axis), rtol=1e-3)
    np.testing.assert_allclose(softmax(X, axis).sum(axis), np.ones(X.sum(axis).shape), rtol=1e-5)


def test_masked_elements_have_no_share():
    x = np.where(MASK, X, np.float32(1e30))
    found = np.asarray(softmax(x, where=MASK))
    np.testing.assert_allclose(found[0, [0, 2, 3]], special.softmax(X[0, [0, 2, 3]]), rtol=1e-5)
    assert (found[~MASK] == 0).all()
    logs = np.asarray(log_softmax(x, where=MASK))
    np.testing.assert_allclose(np.exp(logs[[0, 2]]), found[[0, 2]], rtol=1e-5)
    assert (logs[~MASK] == -np.inf).all()


@pytest.mark.parametrize("by_result", [False, True])
def test_slopes_of_softmax(by_result):
    weights = np.arange(4, dtype=np.float32)
    with jitney.softmax_custom_jvp(by_result):
        slope = jitney.grad(lambda x: (softmax(x) * weights).sum())(X[0])
    y = special.softmax(X[0])
    np.testing.assert_allclose(slope, y * (weights - (y * weights).sum()), rtol=1e-4, atol=1e-6)


def test_logarithms_of_means():
    np.testing.assert_allclose(logmeanexp(X, 1), np.log(np.exp(X).mean(1)), rtol=1e-4)
    np.testing.assert_allclose(
        logmeanexp(X, where=MASK, keepdims=True), [[np.log(np.exp(X[MASK]).mean())]], rtol=1e-5
    )
    assert logmeanexp(X + 500) == pytest.approx(float(logmeanexp(X)) + 500, rel=1e-6)


@pytest.mark.parametrize("algorithm", ["fast", "stable"])
def test_standardized_elements(algorithm):
    found = np.asarray(standardize(X, axis=0, epsilon=0, algorithm=algorithm))
    np.testing.assert_allclose(found.mean(0), np.zeros(4), atol=1e-6)
    np.testing.assert_allclose(found.var(0), np.ones(4), rtol=1e-4)
    np.testing.assert_allclose(
        standardize(X, mean=np.float32(1), variance=np.float32(4), epsilon=0),
        (X - 1) / 2,
        rtol=1e-5,
    )
    only = np.asarray(standardize(X, axis=None, where=MASK, algorithm=algorithm))[MASK]
    assert abs(only.mean()) < 1e-6
    # No variance: the small number in the denominator keeps the result finite.
    constant = standardize(np.full(4, 1e3, np.float32), algorithm=algorithm)
    assert constant.tolist() == [0] * 4


def test_the_stable_variance_survives_a_great_mean():
    found = standardize(X + 4000, epsilon=0, algorithm="stable")
    np.testing.assert_allclose(found, standardize(X, epsilon=0), atol=2e-3)
    with pytest.raises(ValueError, match='"fast" or "stable", but got \'slow\''):
        standardize(X, algorithm="slow")


def test_positions_become_rows():
    x = np.array([0, 2, -1, 3])
    assert one_hot(x, 3).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(one_hot(x, 3, axis=0), np.asarray(one_hot(x, 3)).T)
    assert one_hot(1, 2, dtype=np.int8).dtype == np.int8
    with pytest.raises(ValueError, match=r"from -2 to 1 for .*, but it is 2"):
        one_hot(x, 3, axis=2)
    with pytest.raises(TypeError, match="must be an integer"):
        one_hot(x, 3, axis="rows")
    with pytest.warns(DeprecationWarning, match="should have an integer dtype, but it is float32"):
        one_hot(np.float32([1]), 2)
