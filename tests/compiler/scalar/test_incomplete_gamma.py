"""Incomplete gamma functions, compiled, by each of their four methods, and their derivatives."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.scalar import incomplete_gamma

# By the series, the fraction, the difference from 1, and Temme's expansion on both sides.
A = np.array([3.0, 0.7, 1e-3, 0.2, 50.0, 50.0, 90.0, 4.0])
X = np.array([1.0, 9.0, 0.4, 1.05, 45.0, 60.0, 91.0, 1e-8])
ENDS = np.array([[1, 0], [1, np.inf], [0, 1], [0, 0], [np.inf, 1], [-1, 1], [1, -1], [np.nan, 1]]).T


def exact(f):
    with mpmath.workdps(30):
        return [float(f(mpmath.mpf(a), mpmath.mpf(x))) for a, x in zip(A, X, strict=True)]


def lower(a, x):
    return mpmath.gammainc(a, 0, x, regularized=True)


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_values_and_ends(name):
    found = apply(getattr(incomplete_gamma, name), np.append(A, ENDS[0]), np.append(X, ENDS[1]))
    f = lower if name == "igamma" else lambda a, x: mpmath.gammainc(a, x, regularized=True)
    np.testing.assert_allclose(found[:8], exact(f), rtol=2e-13)
    ends = np.array([0, 1, 1, np.nan, 0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(found[8:], ends if name == "igamma" else 1 - ends)


@pytest.mark.parametrize("name", ["igamma_grad_a", "random_gamma_grad"])
def test_derivatives_in_single_precision(name):
    found = apply(getattr(incomplete_gamma, name), A.astype(np.float32), X.astype(np.float32))

    def slope(a, x):
        by_a = mpmath.diff(lambda t: lower(t, x), a, h=mpmath.mpf(10) ** -12)
        density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
        return by_a if name == "igamma_grad_a" else -by_a / density

    np.testing.assert_allclose(found[:6], exact(slope)[:6], rtol=1e-5)
