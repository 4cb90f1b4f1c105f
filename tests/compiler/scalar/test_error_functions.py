"""erf, erfc and erf_inv, compiled: values on both sides of each change of approximation, ends."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply, ulps

from jitney.compiler.scalar import error_functions

X = [-5.0, -1.1, -0.6, -1e-20, 1e-3, 0.49, 0.51, 0.99, 1.01, 2.5, 3.5, 8.0]
INSIDE = [-0.9999, -0.5, 1e-20, 0.01, 0.3, 0.75, 0.99, 0.999999]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["erf", "erfc", "erf_inv"])
def test_values(name, dtype):
    x = np.array(INSIDE if name == "erf_inv" else X, dtype)
    found = apply(getattr(error_functions, name), x)
    f = mpmath.erfinv if name == "erf_inv" else getattr(mpmath, name)
    with mpmath.workdps(40):
        wanted = np.array([np.longdouble(str(f(mpmath.mpf(float(v))))) for v in x])
    assert np.max(ulps(found, wanted)) <= {"erf": 2, "erfc": 5, "erf_inv": 4}[name]


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        ("erf", [np.inf, -np.inf, np.nan, -0.0], [1, -1, np.nan, -0.0]),
        ("erfc", [np.inf, -np.inf, np.nan, 30.0, 0.0], [0, 2, np.nan, 0, 1]),
        (
            "erf_inv",
            [1, -1, 1.01, -np.inf, np.nan, -0.0],
            [np.inf, -np.inf, np.nan, np.nan, np.nan, -0.0],
        ),
    ],
)
def test_ends(name, x, wanted):
    found = apply(getattr(error_functions, name), np.array(x))
    np.testing.assert_array_equal(found, wanted)
    assert np.signbit(found[-1]) == np.signbit(wanted[-1])


def test_far_tails_keep_their_digits():
    x = np.array([20.0, 26.0])
    wanted = np.array([np.longdouble(mpmath.nstr(mpmath.erfc(v), 25)) for v in (20, 26)])
    assert np.max(ulps(apply(error_functions.erfc, x), wanted)) <= 5
