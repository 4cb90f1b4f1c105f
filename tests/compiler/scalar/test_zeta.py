"""The Hurwitz zeta function and polygamma, compiled: closed forms, recurrence, poles."""

import math

import numpy as np
from tests.accuracy.harness import apply

from jitney.compiler.scalar.zeta import polygamma, zeta

PI = math.pi


def test_zeta_in_closed_form_and_at_poles():
    s = np.array([2.0, 4.0, 2.0, 2.0, 3.5, 3.5, 1.0, 0.5, 2.0, 2.5, np.nan, 60.0])
    q = np.array([1.0, 1.0, 0.5, 1e20, 0.3, 1.3, 1.0, 1.0, -1.0, -0.5, 1.0, 2.0])
    found = apply(zeta, s, q)
    np.testing.assert_allclose(found[:4], [PI**2 / 6, PI**4 / 90, PI**2 / 2, 1e-20], rtol=1e-15)
    np.testing.assert_allclose(found[4] - found[5], 0.3**-3.5, rtol=1e-14)
    np.testing.assert_array_equal(found[6:11], [np.inf, np.nan, np.inf, np.nan, np.nan])
    np.testing.assert_allclose(found[11], 2.0**-60, rtol=1e-9)


def test_polygamma_in_closed_form():
    m = np.array([0, 1, 1, 2, 3, 1, 1.5, -1], np.float32)
    x = np.array([1, 1, 0.5, 1, 1, 10, 1, 1], np.float32)
    last = PI**2 / 6 - sum(1 / k**2 for k in range(1, 10))
    wanted = [-0.5772156649, PI**2 / 6, PI**2 / 2, -2.4041138063, PI**4 / 15, last, np.nan, np.nan]
    np.testing.assert_allclose(apply(polygamma, m, x), wanted, rtol=5e-7)
