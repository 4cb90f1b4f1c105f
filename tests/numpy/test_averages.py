"""Means and variances are those of NumPy, of masked elements and of half precision, too."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.averages import average, mean, std, var, var_dtypes

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
MASK = X > -0.5
AXES = [None, 0, -1, (0, 2), ()]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
def test_axes(axis, keepdims):
    for ours, theirs in ((mean, np.mean), (var, np.var), (std, np.std)):
        for options in ({}, {"where": MASK}):
            if options and axis == ():
                continue  # one element alone has no mean where it is masked
            np.testing.assert_allclose(
                ours(X, axis, keepdims=keepdims, **options),
                theirs(X, axis, keepdims=keepdims, **options), rtol=1e-5, atol=1e-6,
            )  # fmt: skip


def test_half_precision_is_summed_in_single():
    x = np.full(4000, 60.0, np.float16)
    assert mean(x) == 60  # the sum overflows float16
    assert mean(x).dtype == np.float16
    assert var_dtypes(x.dtype, None) == (np.float32, np.float16)
    assert var_dtypes(np.dtype(np.complex64), None) == (np.complex64, np.float32)


def test_degrees_of_freedom():
    x = np.array([1.0, 2.0, 4.0], np.float32)
    for ddof in (1, 2):
        np.testing.assert_allclose(var(x, ddof=ddof), np.var(x, ddof=ddof), rtol=1e-6)
        assert var(x, correction=ddof) == var(x, ddof=ddof)
    assert np.isnan(var(x, ddof=3))
    assert var(x, mean=np.float32(0)) == 7
    with pytest.raises(ValueError, match="two names for one argument"):
        var(x, ddof=1, correction=1)


def test_variances_of_complex_numbers_are_real():
    z = X + 1j * X[::-1]
    assert var(z).dtype == np.float32
    np.testing.assert_allclose(var(z, 0), np.var(z, 0), rtol=1e-5)
    with pytest.raises(ValueError, match="`dtype` must be complex"):
        var(z, dtype=np.float32)


def test_weights():
    w = np.arange(1.0, 6, dtype=np.float32)
    ours, total = average(X, axis=2, weights=w, returned=True)
    np.testing.assert_allclose(ours, np.average(X, 2, w), rtol=1e-5)
    np.testing.assert_array_equal(total, np.full((3, 4), 15))
    # The axes of weights are those that are named, in their order.
    w = np.arange(15.0, dtype=np.float32).reshape(5, 3)
    expected = (X * w.T[:, None]).sum((0, 2)) / w.sum()
    np.testing.assert_allclose(average(X, axis=(2, 0), weights=w), expected, rtol=1e-4, atol=1e-6)
    assert average(np.array([1, 2]), returned=True)[1] == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average(X, weights=np.ones(5)), "`axis` must be passed"),
        (lambda: average(X, axis=0, weights=np.ones(5)), "its sizes along `axis`"),
        (lambda: std(X, dtype=np.int32), "`dtype` must be inexact"),
        (lambda: mean(X, where=X), "`where` must be boolean"),
        (lambda: mean(X, (0, 0)), "reduced only once"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
