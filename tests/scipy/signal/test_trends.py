"""`detrend` leaves nothing of constants and lines, piece by piece, and is a projection."""

import numpy as np
import pytest
import scipy.signal

import jitney
from jitney.scipy.signal.trends import detrend

X = np.random.default_rng(0).normal(size=(4, 11))


@pytest.mark.parametrize(
    "options",
    [{}, {"type": "constant"}, {"axis": 0}, {"bp": [3, 7]}, {"type": "c", "axis": 0}],
    ids=str,
)
def test_values(options):
    with jitney.enable_x64(True):
        found = detrend(X, **options)
        np.testing.assert_allclose(detrend(found, **options), found, atol=1e-14)
    np.testing.assert_allclose(found, scipy.signal.detrend(X, **options), atol=1e-13)


def test_pieces_of_lines_leave_nothing():
    t = np.arange(10.0)
    x = np.where(t < 4, 3 * t, 7 - 2 * t)
    np.testing.assert_allclose(detrend(x, bp=4), 0, atol=1e-5)
    assert np.max(np.abs(detrend(x))) > 1


def test_short_signals():
    np.testing.assert_array_equal(detrend(np.array([5])), [0])
    assert detrend(np.zeros((2, 0))).shape == (2, 0)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="`type` must be"):
        detrend(X, type="quadratic")
    for bp in (12, -1):
        with pytest.raises(ValueError, match="indices from 0 to 11"):
            detrend(X, bp=bp)
    with pytest.raises(NotImplementedError, match="overwrite_data"):
        detrend(X, overwrite_data=True)
