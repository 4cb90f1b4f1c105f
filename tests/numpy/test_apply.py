"""Functions are applied along an axis, or over several in turn, as NumPy applies them."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.apply import apply_along_axis, apply_over_axes

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize(
    "function",
    [lambda r: r.sum(), lambda r: r[::-1] * r[0], lambda r: r[:, None] * r[:2]],
    ids=["scalar", "vector", "matrix"],
)
def test_rows(function, axis):
    expected = np.apply_along_axis(function, axis, X)
    np.testing.assert_array_equal(apply_along_axis(function, axis, X), expected)


def test_further_arguments_are_passed():
    found = apply_along_axis(lambda r, a, b: r.max() * a + b, 1, X, 2, b=5)
    np.testing.assert_array_equal(found, X.max(1) * 2 + 5)


def test_axes_are_kept():
    for axes in ((0, 2), (1,), (-1, 0)):
        expected = np.apply_over_axes(np.sum, X, axes)
        np.testing.assert_array_equal(apply_over_axes(lambda x, k: x.sum(k), X, axes), expected)
        kept = apply_over_axes(lambda x, k: x.sum(k, keepdims=True), X, axes)
        np.testing.assert_array_equal(kept, expected)
    with pytest.raises(ValueError, match=r"of shape \(2, 3, 4\) and axis 0 it returned shape \(\)"):
        apply_over_axes(lambda x, k: x.sum(), X, [0])
