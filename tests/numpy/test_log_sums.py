"""`logsumexp` neither overflows nor loses the sign of the sum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp as expected

import jitney
from jitney.numpy.log_sums import logsumexp

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
INF = np.inf


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_axes(axis, keepdims):
    np.testing.assert_allclose(
        logsumexp(X, axis, keepdims=keepdims), expected(X, axis, keepdims=keepdims), rtol=1e-5
    )
    # The logarithm of a sum of products by exp(c) is greater by c.
    np.testing.assert_allclose(logsumexp(X + 500, axis), logsumexp(X, axis) + 500, rtol=1e-6)


def test_factors_may_be_negative_or_zero():
    b = np.array([1.0, -2.0, 0.0, 0.5], np.float32)
    x = np.where(b == 0, INF, X).astype(np.float32)  # elements of factor 0 do not count
    ours = logsumexp(x, 1, b, return_sign=True)
    total = (b[[0, 1, 3]] * np.exp(X[:, [0, 1, 3]])).sum(1)
    np.testing.assert_allclose(ours[0], np.log(np.abs(total)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(ours[1], np.sign(total))
    np.testing.assert_array_equal(np.isnan(logsumexp(x, 1, b)), total < 0)


def test_infinities():
    assert logsumexp(np.float32([-INF, -INF])) == -INF
    assert logsumexp(np.float32([INF, 1])) == INF
    assert logsumexp(np.zeros(0, np.float32)) == -INF
    assert np.isnan(logsumexp(np.float32([np.nan, INF])))


def test_masks():
    mask = X > 0
    np.testing.assert_allclose(
        logsumexp(np.where(mask, X, 1e9).astype(np.float32), where=mask),
        np.log(np.exp(X[mask]).sum()), rtol=1e-5,
    )  # fmt: skip


def test_complex_sums_have_a_phase():
    z = np.array([1j, 2 + 1j], np.complex64)
    np.testing.assert_allclose(logsumexp(z), expected(z), rtol=1e-5)
    size, phase = logsumexp(z, return_sign=True)
    np.testing.assert_allclose(np.exp(size) * phase, np.exp(z).sum(), rtol=1e-5)


def test_the_slope_is_softmax():
    slope = jitney.grad(logsumexp)(X[0])
    np.testing.assert_allclose(slope, np.exp(X[0]) / np.exp(X[0]).sum(), rtol=1e-5)
