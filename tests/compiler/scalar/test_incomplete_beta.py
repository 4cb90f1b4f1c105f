"""The incomplete beta function, compiled: both orders of the parameters, edges."""

import mpmath
import numpy as np
from tests.accuracy.harness import apply

from jitney.compiler.scalar.incomplete_beta import betainc

A = np.array([0.5, 2.0, 1e-3, 30.0, 50.0, 7.0, 3.0])
B = np.array([0.5, 3.0, 2.0, 1e-2, 40.0, 9.0, 1.0])
X = np.array([0.3, 0.9, 1e-5, 0.99, 0.55, 0.2, 1e-10])


def test_values():
    found = apply(betainc, A, B, X)
    with mpmath.workdps(40):
        rows = zip(A, B, X, strict=True)
        wanted = [float(mpmath.betainc(a, b, 0, x, regularized=True)) for a, b, x in rows]
    np.testing.assert_allclose(found, wanted, rtol=2e-12)


def test_edges():
    a = np.array([1, 1, 1, 1, -1, 1, 2, np.nan], np.float32)
    b = np.array([2, 2, 2, 2, 1, -1, 2, 1], np.float32)
    x = np.array([0, 1, -0.1, 1.1, 0.5, 0.5, 0.5, 0.5], np.float32)
    found = apply(betainc, a, b, x)
    np.testing.assert_allclose(found, [0, 1, *[np.nan] * 4, 0.5, np.nan], rtol=1e-6)
