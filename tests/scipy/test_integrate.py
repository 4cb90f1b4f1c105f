"""The trapezoidal rule is exact for lines, on even and uneven points, along each axis."""

import numpy as np
import scipy.integrate

from jitney.scipy.integrate import trapezoid


def test_lines_are_integrated_exactly():
    x = np.array([0.0, 0.5, 2.0, 4.0])
    np.testing.assert_allclose(trapezoid(3 * x + 1, x), 28.0)
    np.testing.assert_allclose(trapezoid(np.arange(5), dx=0.5), 4.0)


def test_axes():
    y = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(
        trapezoid(y, dx=2, axis=0), scipy.integrate.trapezoid(y, dx=2, axis=0)
    )
    np.testing.assert_allclose(trapezoid(y), scipy.integrate.trapezoid(y))


def test_fewer_than_two_samples_have_no_area():
    assert trapezoid(np.ones(1)) == 0
    np.testing.assert_array_equal(trapezoid(np.ones((2, 1))), [0, 0])
