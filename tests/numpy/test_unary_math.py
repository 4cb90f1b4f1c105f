"""Functions of one operand: integers become floats, or stay what they are where they are exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jitney.numpy import unary_math
from jitney.numpy.unary_math import (
    absolute,
    bitwise_count,
    degrees,
    fabs,
    invert,
    log2,
    log10,
    logical_not,
    radians,
    rint,
    sign,
    square,
    to_bool,
)

INF, NAN = np.inf, np.nan
FUNCTIONS = (
    "sin cos tan arctan sinh cosh tanh arcsinh exp exp2 expm1 log log1p log2 log10 sqrt cbrt"
    " reciprocal degrees radians"
).split()
ROUNDED = np.array([-2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.7, INF, NAN], np.float32)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_floats_and_integers(name):
    ours, theirs = getattr(unary_math, name), getattr(np, name)
    x = np.array([0.25, 1, 2, 7.5], np.float32)
    np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-6)
    n = np.array([1, 2, 5], np.int8)
    np.testing.assert_allclose(ours(n), theirs(n.astype(np.float32)), rtol=1e-6)
    assert ours(n).dtype == np.float32
    assert ours(x.astype(np.float16)).dtype == np.float16


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh", "arccosh"])
def test_outside_of_the_domain_is_nan(name):
    bad, good = (0.5, 1.5) if name == "arccosh" else (1.5, 0.5)
    f = getattr(unary_math, name)
    assert np.isnan(f(np.float32(bad)))
    exact = getattr(math, name.replace("arc", "a"))(good)
    assert float(f(np.float32(good))) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint"])
def test_rounding(name):
    ours, theirs = getattr(unary_math, name), getattr(np, name)
    found = np.asarray(ours(ROUNDED))
    np.testing.assert_array_equal(found, theirs(ROUNDED))
    np.testing.assert_array_equal(np.signbit(found[:-1]), np.signbit(theirs(ROUNDED[:-1])))
    n = np.array([-3, 7], np.int16)
    assert ours(n).dtype == (np.float32 if name == "rint" else np.int16)
    assert rint(np.array([2.5 - 1.5j])) == 2 - 2j


def test_magnitudes_and_signs():
    assert absolute(np.array([-128, 5], np.int8)).tolist() == [-128, 5]  # wraps around
    assert absolute(np.array([3 - 4j], np.complex64)).tolist() == [5]
    assert absolute(np.array([True])).dtype == bool
    assert fabs(np.array([-2], np.int8)).dtype == np.float32
    np.testing.assert_array_equal(sign(np.float32([-3, -0.0, NAN])), [-1, 0, NAN])
    np.testing.assert_allclose(sign(np.array([3 - 4j])), [0.6 - 0.8j], rtol=1e-6)
    with pytest.raises(TypeError, match="must be real"):
        fabs(np.array([1j]))


def test_bits_and_truth():
    x = np.array([0, -1, 5, -8], np.int8)
    np.testing.assert_array_equal(bitwise_count(x), np.bitwise_count(x))
    np.testing.assert_array_equal(invert(x), ~x)
    assert logical_not(np.array([0.0, NAN, -2.0])).tolist() == [True, False, False]
    assert to_bool(np.array([0j, 1j])).tolist() == [False, True]
    assert square(np.array([True])).dtype == np.int32


def test_logarithms_of_complex_numbers():
    z = np.array([-1 + 0j, 8j, 2 - 3j], np.complex64)
    np.testing.assert_allclose(log10(z), np.log10(z), rtol=1e-6)
    np.testing.assert_allclose(log2(z), np.log2(z), rtol=1e-6)
    np.testing.assert_allclose(radians(degrees(np.float32([0.5]))), [0.5], rtol=1e-6)
