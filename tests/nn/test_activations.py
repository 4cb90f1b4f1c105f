"""Activations have their defining values, do not overflow, and have slopes at their corners."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import jitney
from jitney.nn import activations
from jitney.nn.activations import (
    celu,
    elu,
    gelu,
    glu,
    hard_sigmoid,
    hard_tanh,
    leaky_relu,
    log1mexp,
    log_sigmoid,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
)

X = np.float32([-8, -3, -1, -0.25, 0, 0.25, 1, 3, 6.5])


def logistic(x):
    return 1 / (1 + math.exp(-x))


DEFINITIONS = {
    "relu": lambda x: max(x, 0),
    "relu6": lambda x: min(max(x, 0), 6),
    "identity": lambda x: x,
    "squareplus": lambda x: (x + math.sqrt(x * x + 4)) / 2,
    "softplus": lambda x: math.log1p(math.exp(x)),
    "sparse_plus": lambda x: 0 if x <= -1 else x if x >= 1 else (x + 1) ** 2 / 4,
    "soft_sign": lambda x: x / (1 + abs(x)),
    "sigmoid": logistic,
    "sparse_sigmoid": lambda x: min(max((x + 1) / 2, 0), 1),
    "silu": lambda x: x * logistic(x),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
    "log_sigmoid": lambda x: math.log(logistic(x)),
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
    "hard_tanh": lambda x: min(max(x, -1), 1),
    "celu": lambda x: max(x, 0) + min(0, math.expm1(x)),
    "hard_sigmoid": lambda x: min(max(x + 3, 0), 6) / 6,
    "hard_silu": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "selu": lambda x: 1.05070099 * (x if x > 0 else 1.67326324 * math.expm1(x)),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_values(name):
    expected = [DEFINITIONS[name](float(x)) for x in X]
    f = getattr(activations, name)
    np.testing.assert_allclose(f(X), expected, rtol=2e-6, atol=1e-9)
    assert f(X.astype(np.float16)).dtype == np.float16


def test_gelu_is_exact_or_approximate():
    exact = [float(x * mpmath.ncdf(float(x))) for x in X]
    np.testing.assert_allclose(gelu(X, approximate=False), exact, rtol=2e-6)
    np.testing.assert_allclose(gelu(X), exact, atol=1e-3)
    assert np.abs(gelu(X) - np.float32(exact)).max() > 1e-5  # by tanh


def test_parameters():
    assert elu(np.float32(-1), 2.0) == pytest.approx(2 * math.expm1(-1))
    assert celu(np.float32(-1), 2.0) == pytest.approx(2 * math.expm1(-0.5))
    assert leaky_relu(np.float32(-4), 0.5) == -2
    assert squareplus(np.float32(-3), 0) == 0


@pytest.mark.parametrize(
    ("f", "at", "slope"),
    [(relu, 0, 0), (relu6, 0, 0), (relu6, 6, 0), (relu6, 5, 1), (hard_tanh, 1, 1), (elu, 200, 1),
     (softplus, 200, 1), (softplus, -200, 0), (log_sigmoid, -200, 1), (sparse_plus, 0.5, 0.75),
     (sparse_sigmoid, 0.5, 0.5), (silu, 0, 0.5), (hard_sigmoid, 0, 1 / 6), (selu, 0, 1.7580993)],
)  # fmt: skip
def test_slopes_at_corners_and_far_out(f, at, slope):
    assert jitney.grad(f)(np.float32(at)) == pytest.approx(slope, rel=1e-6)


def test_gated_halves():
    x = np.stack([X, X[::-1]])
    np.testing.assert_allclose(glu(x, 0), X[None] * np.asarray(sigmoid(X[::-1])), rtol=1e-6)
    with pytest.raises(AssertionError, match=r"along axis -1 must be even, .* is \(2, 9\)"):
        glu(x)


def test_log1mexp_is_accurate_at_both_ends():
    x = np.float32([1e-7, 0.1, 0.7, 5, 15])
    exact = [float(mpmath.log(-mpmath.expm1(-mpmath.mpf(float(v))))) for v in x]
    np.testing.assert_allclose(log1mexp(x), exact, rtol=1e-6)
    slopes = [float(1 / mpmath.expm1(float(v))) for v in x]
    np.testing.assert_allclose(jitney.vmap(jitney.grad(log1mexp))(x), slopes, rtol=1e-6)
