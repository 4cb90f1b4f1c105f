"""Interpolation on grids is exact on nodes and for multilinear functions; outside it is as asked."""

import numpy as np
import pytest
import scipy.interpolate

from jitney.scipy.interpolate import RegularGridInterpolator

X, Y = np.array([0.0, 1.0, 3.0]), np.array([-1.0, 0.5])
VALUES = np.random.default_rng(0).normal(size=(3, 2, 2))
POINTS = np.array([[0.0, 0.5], [0.3, 0.0], [2.9, -1.0], [3.0, 0.5], [1.0, -0.9]])


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_values(method):
    found = RegularGridInterpolator((X, Y), VALUES, method)(POINTS)
    wanted = scipy.interpolate.RegularGridInterpolator((X, Y), VALUES, method)(POINTS)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_multilinear_functions_are_exact_and_extrapolated():
    f = RegularGridInterpolator((X, Y), X[:, None] * Y + 2 * X[:, None], fill_value=None)
    x, y = np.array([-2.0, 0.5, 5.0]), np.array([[0.1], [2.0]])
    np.testing.assert_allclose(f((x, y)), x * y + 2 * x, rtol=1e-5)


def test_outside_is_the_fill_value_in_any_coordinate():
    f = RegularGridInterpolator((X, Y), np.ones((3, 2), int), fill_value=-7)
    np.testing.assert_array_equal(f([[-0.1, 0.0], [1.0, 0.6], [1.0, 0.0]]), [-7, -7, 1])


def test_one_dimension_takes_vectors_and_one_point_is_constant():
    np.testing.assert_allclose(RegularGridInterpolator((X,), 2 * X)(np.array([0.5, 2.0])), [1, 4])
    found = RegularGridInterpolator((np.array([1.0]),), np.array([5.0]))(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(found, [5, np.nan])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (((X, Y), VALUES, "cubic"), ValueError, "`method` must be one of"),
        (((X, Y), VALUES, "linear", True), NotImplementedError, "bounds_error=True"),
        (((X, X), VALUES), ValueError, "equal lengths in dimension 1, but got 3 and 2"),
        (((X[::-1], Y), VALUES), ValueError, "dimension 0 must be strictly ascending"),
        (((X[:, None], Y), VALUES), ValueError, "dimension 0 must be a vector"),
        (((X, Y, Y, Y), VALUES), ValueError, "for each axis of"),
    ],
)
def test_wrong_grids(arguments, error, message):
    with pytest.raises(error, match=message):
        RegularGridInterpolator(*arguments)


def test_wrong_points():
    with pytest.raises(ValueError, match="points must have 2 coordinates"):
        RegularGridInterpolator((X, Y), VALUES)(np.zeros((4, 3)))
