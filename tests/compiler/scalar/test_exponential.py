"""The exponential family, compiled: values within some units, ends of the range, and near 0."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply, ulps

from jitney.compiler.scalar import exponential

X = [
    -700.5,
    -90.25,
    -20.5,
    -1.0,
    -1e-3,
    -1e-30,
    1e-20,
    1e-3,
    0.6,
    0.7,
    0.99,
    1.5,
    21.0,
    88.0,
    700.0,
]
EXACT = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.mpf(2) ** x, "expm1": mpmath.expm1,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "tanh": mpmath.tanh, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
}  # fmt: skip
ENDS = np.array([-np.inf, -1e30, np.inf, np.nan, 0.0, -0.0])
AT_ENDS = {
    "exp": [0, 0, np.inf, np.nan, 1, 1],
    "exp2": [0, 0, np.inf, np.nan, 1, 1],
    "expm1": [-1, -1, np.inf, np.nan, 0, -0.0],
    "logistic": [0, 0, 1, np.nan, 0.5, 0.5],
    "tanh": [-1, -1, 1, np.nan, 0, -0.0],
    "sinh": [-np.inf, -np.inf, np.inf, np.nan, 0, -0.0],
    "cosh": [np.inf, np.inf, np.inf, np.nan, 1, 1],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXACT)
def test_values_and_ends(name, dtype):
    x = np.array(X if dtype == "float64" else X[1:-1], dtype)
    found = apply(getattr(exponential, name), np.concatenate([x, ENDS.astype(dtype)]))
    with mpmath.workdps(40):
        wanted = np.array([np.longdouble(str(EXACT[name](mpmath.mpf(float(v))))) for v in x])
    assert np.max(ulps(found[: len(x)], wanted)) <= 3
    np.testing.assert_array_equal(found[len(x) :], AT_ENDS[name])
    assert np.signbit(found[-1]) == np.signbit(AT_ENDS[name][-1])


def test_whole_powers_of_two_are_exact_down_to_the_least():
    n = np.arange(-149, 128).astype(np.float32)
    np.testing.assert_array_equal(
        apply(exponential.exp2, n), np.ldexp(np.float32(1), n.astype(int))
    )


def test_low_parts_of_exponents_count():
    x, low = np.array([1.0, -300.0]), np.array([1e-10, -1e-10])
    found = apply(exponential.exp_of_sum, x, low)
    np.testing.assert_allclose(found / np.exp(x) - 1, low, atol=4e-16)
