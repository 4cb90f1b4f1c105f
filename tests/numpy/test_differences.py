"""Differences, slopes, integrals, phases and interpolation are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.differences import diff, ediff1d, gradient, interp, trapezoid, unwrap

X = np.array([[1, 4, 9, 16], [2, 0, 7, 7]], np.int32)


@pytest.mark.parametrize("n", [0, 1, 3, 5])
@pytest.mark.parametrize("axis", [0, -1])
def test_differences(n, axis):
    np.testing.assert_array_equal(diff(X, n, axis), np.diff(X, n, axis))
    options = {"prepend": 5, "append": X[:, :1] if axis else X[:1]}
    np.testing.assert_array_equal(diff(X, n, axis, **options), np.diff(X, n, axis, **options))


def test_differences_of_booleans_and_of_flat_arrays():
    assert diff(np.array([True, False, False])).tolist() == [True, False]
    np.testing.assert_array_equal(ediff1d(X, 9, np.array([7, 8])), np.ediff1d(X, 9, [7, 8]))
    with pytest.raises(ValueError, match="0 or more, but it is -1"):
        diff(X, -1)
    with pytest.raises(ValueError, match="must have at least one axis"):
        diff(np.int32(3))


def test_slopes_of_parabolas_are_exact_within():
    x = np.array([0.0, 1.0, 1.5, 4.0, 5.0], np.float32)
    found = gradient(x**2, x)
    np.testing.assert_allclose(found[1:-1], 2 * x[1:-1], rtol=1e-6)
    np.testing.assert_allclose(found, np.gradient(x**2, x), rtol=1e-6)
    y = X.astype(np.float32)
    for ours, theirs in zip(gradient(y, 0.5, 2.0), np.gradient(y, 0.5, 2.0), strict=True):
        np.testing.assert_allclose(ours, theirs)
    with pytest.raises(ValueError, match="at least two elements"):
        gradient(y[:1], axis=0)
    with pytest.raises(TypeError, match="one spacing for all axes"):
        gradient(y, 1, 2, 3)


def test_integrals():
    y = X.astype(np.float32)
    x = np.array([0.0, 0.5, 2.0, 3.0], np.float32)
    for options in ({}, {"x": x}, {"dx": 0.5}, {"axis": 0}, {"x": y * 2}):
        np.testing.assert_allclose(trapezoid(y, **options), np.trapezoid(y, **options))
    np.testing.assert_allclose(trapezoid(y, dx=np.diff(x)), np.trapezoid(y, x))


@pytest.mark.parametrize("period", [2 * np.pi, 4, 5])
def test_phases_are_recovered_modulo_the_period(period):
    straight = np.array([0.0, 0.3, 0.6, 0.9, 1.35, 1.0], np.float32) * period
    wrapped = straight % period
    wrapped = wrapped if isinstance(period, float) else np.round(wrapped).astype(np.int32)
    ours = unwrap(wrapped, period=period)
    np.testing.assert_allclose(ours, np.unwrap(wrapped, period=period), rtol=1e-6)
    assert ours.dtype == wrapped.dtype


def test_jumps_of_half_a_period_stay():
    np.testing.assert_array_equal(unwrap(np.array([0, 2, 0, 2]), period=4), [0, 2, 0, 2])
    with pytest.raises(ValueError, match="`p` must be real"):
        unwrap(np.array([1j]))


def test_interpolation():
    xp, fp = np.array([0.0, 1.0, 3.0], np.float32), np.array([5.0, 7.0, 1.0], np.float32)
    x = np.array([-1.0, 0.0, 0.25, 1.0, 2.0, 3.0, 9.0], np.float32)
    for options in ({}, {"left": -9.0, "right": 9.0}, {"period": 4.0}):
        np.testing.assert_allclose(interp(x, xp, fp, **options), np.interp(x, xp, fp, **options))
    beyond = interp(x[[0, -1]], xp, fp, "extrapolate", "extrapolate")
    np.testing.assert_allclose(beyond, [3, -17])
    with pytest.raises(ValueError, match="of equal size"):
        interp(x, xp, fp[:2])
    with pytest.raises(ValueError, match="'extrapolate', but one is 'hold'"):
        interp(x, xp, fp, left="hold")
