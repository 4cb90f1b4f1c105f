"""Numbers are rounded to even at the given decimal, without overflow on the way."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.core.types import dtypes
from jitney.numpy.rounding import around, round as rounded

X = np.array([-2.5, -1.45, -0.5, 0.5, 1.25, 1.5, 1234.5678, np.inf, np.nan], np.float32)


@pytest.mark.parametrize("decimals", [-3, -1, 0, 1, 3])
def test_decimals(decimals):
    np.testing.assert_allclose(rounded(X, decimals), np.round(X, decimals), rtol=1e-6)
    z = X[:-3] + 1j * X[1:-2]
    np.testing.assert_allclose(around(z, decimals), np.round(z, decimals), rtol=1e-6)


def test_half_precision_is_scaled_in_single():
    for dtype in (np.float16, dtypes.bfloat16):
        x = np.array([600.5, 0.123], dtype)
        found = rounded(x, 3)
        assert found.dtype == dtype
        assert found[0] == x[0]  # 600500 is beyond float16
        assert abs(float(found[1]) - 0.123) < 1e-3
        assert rounded(x, 1).tolist() == [x[0], dtype(0.1)]


def test_no_float_has_so_many_decimals():
    np.testing.assert_array_equal(rounded(X, 60), X)
    np.testing.assert_array_equal(rounded(np.float16([0.1]), 60), np.float16([0.1]))


def test_integers_stay():
    x = np.array([15, -25], np.int16)
    assert rounded(x).tolist() == rounded(x, 3).tolist() == [15, -25]
    with pytest.raises(NotImplementedError, match="0 or more for integers, but it is -1"):
        rounded(x, -1)
    with pytest.raises(ValueError, match="must be numeric, but it is bool"):
        rounded(x > 0)
