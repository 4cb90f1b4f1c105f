"""Inverse circular and hyperbolic functions, compiled: values, ends of the domain, quadrants."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply, ulps

from jitney.compiler.scalar import inverse_trigonometric as inverse

INSIDE = [-0.999, -0.5001, -0.1, -1e-20, 1e-3, 0.4999, 0.7, 0.99999]
LINE = [*INSIDE, -1e30, -3.0, 1.001, 50.0, 1e7, 1e20]
ABOVE = [1.0, 1.000001, 1.5, 40.0, 1e6, 1e20]
NAMES = {
    "asin": INSIDE,
    "acos": INSIDE,
    "atanh": INSIDE,
    "atan": LINE,
    "asinh": LINE,
    "acosh": ABOVE,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_values(name, dtype):
    x = np.array(NAMES[name], dtype)
    found = apply(getattr(inverse, name), x)
    with mpmath.workdps(40):
        exact = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
        wanted = np.array([np.longdouble(str(v)) for v in exact])
    assert np.max(ulps(found, wanted)) <= 3


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        ("asin", [1, -1, 1.1, -np.inf, -0.0], [np.pi / 2, -np.pi / 2, np.nan, np.nan, -0.0]),
        ("acos", [1, -1, 1.1, -np.inf, 0.0], [0, np.pi, np.nan, np.nan, np.pi / 2]),
        ("atan", [np.inf, -np.inf, np.nan, -0.0], [np.pi / 2, -np.pi / 2, np.nan, -0.0]),
        ("asinh", [np.inf, -np.inf, np.nan, -0.0], [np.inf, -np.inf, np.nan, -0.0]),
        ("acosh", [np.inf, 0.9, -np.inf, 1.0], [np.inf, np.nan, np.nan, 0]),
        ("atanh", [1, -1, 1.1, -np.inf, -0.0], [np.inf, -np.inf, np.nan, np.nan, -0.0]),
    ],
)
def test_ends(name, x, wanted):
    found = apply(getattr(inverse, name), np.array(x, float))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found[-1]), np.signbit(wanted[-1]))


def test_angles_of_points_in_all_quadrants_and_on_axes():
    parts = np.array([0.0, -0.0, 1.0, -2.0, 1e-300, 1e300, np.inf, -np.inf, np.nan])
    y, x = (v.ravel() for v in np.meshgrid(parts, parts))
    found, wanted = apply(inverse.atan2, y, x), np.arctan2(y, x)
    np.testing.assert_allclose(found, wanted, rtol=4e-16)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))
