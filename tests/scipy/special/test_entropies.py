"""Entropies, log-odds and power transformations: values, limits at 0, and derivatives there."""

import numpy as np
import pytest
import scipy.special

import jitney
from jitney.scipy.special.entropies import (
    boxcox,
    boxcox1p,
    entr,
    expit,
    kl_div,
    logit,
    rel_entr,
    xlog1py,
    xlogy,
)  # fmt: skip

P = np.array([0.0, 0.0, 1e-5, 0.3, 1.0, 2.0, -1.0, 1e-300, np.nan])
Q = np.array([0.0, 0.5, 1e-5, 0.4, 1 + 1e-9, 0.0, 1.0, 1e300, 1.0])


@pytest.mark.parametrize(
    "function", [xlogy, xlog1py, rel_entr, kl_div, boxcox, boxcox1p], ids=lambda f: f.__name__
)
def test_pairs(function):
    p, q = (Q, P) if function in (boxcox, boxcox1p) else (P, Q)
    if function is kl_div:  # SciPy's overflows for a huge quotient
        p, q = np.delete(P, 7), np.delete(Q, 7)
    with jitney.enable_x64(True):
        found = function(p, q)
    with np.errstate(all="ignore"):
        wanted = getattr(scipy.special, function.__name__)(p, q)
    # SciPy's divergence of near arguments cancels.
    atol = 1e-16 if function is kl_div else 0
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=atol)


def test_divergence_of_near_arguments_does_not_cancel():
    d = 2.0**-20
    np.testing.assert_allclose(kl_div(1 + d, 1.0), d * d / 2, rtol=1e-5)
    np.testing.assert_allclose(rel_entr(1 + d, 1.0), d, rtol=1e-5)


def test_entropy():
    np.testing.assert_allclose(entr(np.array([0.0, 0.5, 1.0])), [0, 0.5 * np.log(2), 0])
    assert entr(-1.0) == -np.inf and np.isnan(entr(np.nan))


def test_log_odds_invert_the_logistic_function():
    x = np.array([-5.0, 0.0, 2.0])
    np.testing.assert_allclose(logit(expit(x)), x, rtol=1e-5)
    np.testing.assert_array_equal(logit(np.array([0.0, 1.0])), [-np.inf, np.inf])
    np.testing.assert_allclose(jitney.grad(logit)(0.2), 1 / 0.16, rtol=1e-6)


def test_derivatives_at_zero():
    assert jitney.grad(xlogy, 1)(0.0, 0.0) == 0 and jitney.grad(xlog1py, 1)(0.0, -1.0) == 0
    assert jitney.grad(entr)(0.0) == np.inf
    np.testing.assert_allclose(jitney.grad(kl_div, (0, 1))(2.0, 1.0), [np.log(2), -1], rtol=1e-6)


def test_small_powers_are_logarithms():
    np.testing.assert_allclose(
        boxcox(2.0, np.array([0.0, 1e-44, 1.0])), [np.log(2), np.log(2), 1], rtol=1e-6
    )


def test_complex_operands_are_refused():
    with pytest.raises(ValueError, match="entr: operands must be real"):
        entr(1j)
