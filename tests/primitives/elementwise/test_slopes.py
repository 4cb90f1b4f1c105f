"""Derivatives of asinh and of the error functions where squares overflow or round."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney import lax

FLOATS = [np.float16, np.float32, np.float64]


def slopes(name, x, compiled, of=jitney):
    slope = of.vmap(of.grad(getattr(of.lax, name)))
    return (of.jit(slope) if compiled else slope)(x)


def gaussian(x, dtype):
    """2 / sqrt(pi) exp(-x^2), of the squares of numbers of few bits, which are exact."""
    return np.array([2 / math.sqrt(math.pi) * math.exp(-(float(v) ** 2)) for v in x]).astype(dtype)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_large_numbers_have_a_slope_of_asinh(dtype, compiled):
    with jitney.enable_x64(True):
        largest = float(np.finfo(dtype).max)
        x = np.array([0, -1, 3, largest**0.5, -(largest**0.75), largest / 2], dtype)
        want = [1 / math.hypot(float(v), 1) for v in x]
        got = np.asarray(slopes("asinh", x, compiled))
    unit = float(np.finfo(dtype).eps)
    tiny = float(np.finfo(dtype).smallest_subnormal)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.astype(float), want, rtol=3 * unit, atol=tiny)


@pytest.mark.parametrize("compiled", [False, True])
def test_slopes_of_asinh_at_infinity(compiled):
    x = np.array([np.inf, -np.inf, np.nan], np.float32)
    want = of_jax(lambda j: slopes("asinh", x, compiled, j))
    np.testing.assert_array_equal(slopes("asinh", x, compiled), want)


@pytest.mark.parametrize("z", [1e30 + 1e30j, 3 + 4j, 1e-30 + 1j, complex(np.inf, 1), 0j])
def test_complex_slopes_of_asinh(z):
    def slope(j):
        return j.jvp(j.lax.asinh, (np.complex64(z),), (np.complex64(1),))[1]

    got, want = np.asarray(slope(jitney)), np.asarray(of_jax(slope))
    assert abs(got - want) <= 1e-6 * abs(want)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("dtype", "ulp"), [(np.float32, 4), (np.float64, 4)])
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_slopes_of_error_functions_are_as_exact_far_out(name, dtype, ulp, compiled):
    """Where they are computed by the rounded square they are off by 500 units in the last place."""
    with jitney.enable_x64(True):
        x = np.linspace(-9, 9, 1000).astype(np.float32).astype(dtype)
        got = np.asarray(slopes(name, x, compiled))
    want = (1 if name == "erf" else -1) * gaussian(x, np.float64)
    assert got.dtype == dtype
    limit = ulp * float(np.finfo(dtype).eps) + (0 if dtype == np.float32 else 2e-14)
    normal = np.abs(want) > float(np.finfo(dtype).tiny)
    np.testing.assert_allclose(got[normal].astype(float), want[normal], rtol=limit)


@pytest.mark.parametrize("x", [0.0, 0.5, -3.0, 12.0, np.inf, -np.inf, np.nan])
def test_higher_derivatives_of_erf(x):
    def derivatives(j):
        second = j.grad(j.grad(j.lax.erf))
        return second(np.float32(x)), j.jit(j.grad(second))(np.float32(x))

    for got, want in zip(derivatives(jitney), of_jax(derivatives), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-37)


def test_slopes_of_half_precision():
    for dtype in (np.float16, lax.dtype("bfloat16")):
        x = np.linspace(-3, 3, 31).astype(dtype)
        got = np.asarray(slopes("erf", x, True)).astype(np.float32)
        unit = float(jitney.numpy.finfo(dtype).eps)
        np.testing.assert_allclose(got, gaussian(x, np.float32), rtol=16 * unit, atol=1e-7)
