"""lgamma and digamma, compiled: roots, poles, reflection, and helpers of incomplete functions."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.scalar import gamma

X = [1e-20, 0.3, 0.999, 1.001, 1.4616, 2.001, 3.5, 11.9, 12.1, 1e5, 1e20, -0.3, -2.5, -7.001]


def exact(f, x):
    with mpmath.workdps(40):
        return np.array([float(f(mpmath.mpf(float(v)))) for v in x])


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 3e-7), ("float64", 3e-15)])
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_values(name, dtype, rtol):
    x = np.array(X, dtype)
    f = (lambda v: mpmath.re(mpmath.loggamma(v))) if name == "lgamma" else mpmath.digamma
    np.testing.assert_allclose(apply(getattr(gamma, name), x), exact(f, x), rtol=rtol, atol=1e-15)


def test_roots_and_poles():
    x = np.array([1.0, 2.0, 0.0, -0.0, -3.0, np.inf, -np.inf, np.nan])
    found = apply(gamma.lgamma, x)
    np.testing.assert_array_equal(found, [0, 0, *[np.inf] * 5, np.nan])
    assert not np.any(np.signbit(found[:2]))
    found = apply(gamma.digamma, x[2:])
    np.testing.assert_array_equal(found[[0, 2, 3, 5]], [-np.inf, np.nan, np.inf, np.nan])


def test_next_to_one_the_distance_counts():
    u = np.array([1e-12, -0.2, 0.5, 1 + 1e-12, 1.9])
    wanted = exact(lambda v: mpmath.loggamma(1 + v), u)
    np.testing.assert_allclose(apply(gamma.log_gamma_near_1, u), wanted, rtol=3e-15)


def test_remainders_of_stirlings_formula():
    x = np.array([12.0, 40.0, 1e6])
    wanted = exact(
        lambda v: (
            mpmath.loggamma(v) - ((v - 0.5) * mpmath.log(v) - v + mpmath.log(2 * mpmath.pi) / 2)
        ),
        x,
    )
    np.testing.assert_allclose(apply(gamma.stirling_rest, x), wanted, rtol=1e-14)


def test_logarithms_less_their_first_term():
    mu = np.array([1e-8, -0.2, 0.34, 0.36, 3.0])
    found = apply(gamma.log1p_less, 1 + mu, mu)
    np.testing.assert_allclose(found, exact(lambda v: mpmath.log1p(v) - v, mu), rtol=1e-14)
