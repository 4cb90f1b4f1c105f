"""Circular functions, compiled: small, usual and huge arguments, signs of zeros, infinities."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply, ulps

from jitney.compiler.scalar import trigonometric

# The last is the double nearest to a multiple of pi / 2.
X = [
    1e-30,
    0.3,
    0.8,
    1.5707963,
    3.1415927,
    -2.5,
    100.0,
    9.9e3,
    1.1e5,
    2.9e7,
    1e15,
    1e30,
    6381956970095103 * 2.0**797,
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_values(name, dtype):
    x = np.array(X if dtype == "float64" else X[:-1], dtype)
    found = apply(getattr(trigonometric, name), x)
    with mpmath.workdps(400):
        values = [getattr(mpmath, name)(mpmath.mpf(float(v))) for v in x]
        wanted = np.array([np.longdouble(mpmath.nstr(v, 30)) for v in values])
    assert np.max(ulps(found, wanted)) <= 3


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_ends(name):
    found = apply(getattr(trigonometric, name), np.array([np.inf, -np.inf, np.nan, 0.0, -0.0]))
    np.testing.assert_array_equal(found[:3], np.nan)
    np.testing.assert_array_equal(found[3:], [1, 1] if name == "cos" else [0, 0])
    assert np.signbit(found[4]) == (name != "cos")


def test_half_turns_are_reduced_before_they_are_multiplied():
    x = np.array([0.25, 1e15 + 0.25, -0.5, 7.0])
    sine = apply(lambda e, x: trigonometric.circular_of_half_turns(e, x)[0], x)
    cosine = apply(lambda e, x: trigonometric.circular_of_half_turns(e, x)[1], x)
    np.testing.assert_allclose(np.abs(sine[:2]), np.sqrt(0.5), rtol=3e-16)
    np.testing.assert_allclose(np.hypot(sine, cosine), 1, rtol=3e-16)
    np.testing.assert_array_equal(sine[2:], 0)
