"""Quantiles are those of NumPy, by each method, with weights, and without NaN."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.quantiles import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
GAPS = np.where(X > 0.9, np.float32(np.nan), X)
Q = np.array([0.0, 0.3, 0.6, 1.0], np.float32)  # none is halfway between elements


@pytest.mark.parametrize(
    "method", ["linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf"]
)
def test_methods(method):
    np.testing.assert_allclose(
        quantile(X, Q, axis=1, method=method), np.quantile(X, Q, 1, method=method), rtol=1e-5
    )


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (2, 0), (0, 1, 2)])
def test_axes(axis, keepdims):
    for q in (0.25, Q):
        np.testing.assert_allclose(
            quantile(X, q, axis, keepdims=keepdims),
            np.quantile(X, q, axis, keepdims=keepdims), rtol=1e-5,
        )  # fmt: skip
        np.testing.assert_allclose(
            nanquantile(GAPS, q, axis, keepdims=keepdims),
            np.nanquantile(GAPS, q, axis, keepdims=keepdims), rtol=1e-5,
        )  # fmt: skip


def test_an_element_that_is_nan_spoils_its_row_alone():
    x = X.copy()
    x[1, 2, 3] = np.nan
    out = np.asarray(quantile(x, 0.5, axis=-1))
    assert np.isnan(out[1, 2])
    assert np.isnan(out).sum() == 1
    assert np.isnan(nanmedian(np.full((2, 3), np.nan), axis=1)).all()


def test_medians_and_percentiles_are_quantiles():
    assert median(np.array([3, 1, 2, 10])) == 2.5
    assert nanmedian(np.array([3, np.nan, 1, 10])) == 3
    np.testing.assert_allclose(percentile(X, 30, 0), quantile(X, 0.3, 0), rtol=1e-5)
    np.testing.assert_allclose(nanpercentile(GAPS, 30, 0), nanquantile(GAPS, 0.3, 0), rtol=1e-5)


def test_whole_weights_repeat_elements():
    x, w = np.array([5.0, 1.0, 3.0], np.float32), np.array([1, 4, 2])
    for q in (0.0, 0.5, 0.6, 0.9, 1.0):
        expected = np.quantile(np.repeat(x, w), q, method="inverted_cdf")
        assert quantile(x, np.float32(q), method="inverted_cdf", weights=w) == expected


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"q": 0.5, "method": "best"}, ValueError, "`method` must be one of"),
        ({"q": 0.5, "weights": X}, NotImplementedError, "must be 'inverted_cdf'"),
        ({"q": 0.5, "axis": (0, 0)}, ValueError, "twice"),
        ({"q": Q[None]}, ValueError, "a scalar or a vector"),
        ({"q": 0.5, "overwrite_input": True}, ValueError, "`overwrite_input` must be omitted"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        quantile(X, **options)


def test_no_elements_have_no_quantile():
    with pytest.raises(ValueError, match="must have elements along"):
        median(np.zeros((2, 0)), axis=1)
    with pytest.raises(ValueError, match="complex numbers have no order"):
        median(np.array([1j]))
    assert np.isnan(nanquantile(np.zeros((2, 0)), 0.5, axis=1)).shape == (2,)
