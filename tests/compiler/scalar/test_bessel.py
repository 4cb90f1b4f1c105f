"""Scaled modified Bessel functions, compiled: both sides of the change of approximation, symmetry."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply, ulps

from jitney.compiler.scalar import bessel

X = [-3.0, 1e-20, 1e-3, 0.5, 4.0, 7.99, 8.01, 30.0, 1e4, 1e15]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "order"), [("i0e", 0), ("i1e", 1)])
def test_values(name, order, dtype):
    x = np.array(X, dtype)
    found = apply(getattr(bessel, name), x)
    with mpmath.workdps(40):
        exact = [
            mpmath.exp(-abs(mpmath.mpf(float(v)))) * mpmath.besseli(order, float(v)) for v in x
        ]
        wanted = np.array([np.longdouble(str(v)) for v in exact])
    assert np.max(ulps(found, wanted)) <= 4


def test_ends_and_symmetry():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(apply(bessel.i0e, x), [1, 1, 0, 0, np.nan])
    found = apply(bessel.i1e, x)
    np.testing.assert_array_equal(found, [0, 0, 0, 0, np.nan])
    assert np.signbit(found[1]) and np.signbit(found[3])
