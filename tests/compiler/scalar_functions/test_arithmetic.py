"""References of arithmetic: total division, zeros of both signs, NaN, ties, the total order."""

import numpy as np
import pytest

from jitney.compiler.scalar_functions import lookup


def compute(name, *xs):
    return lookup(name).reference(*xs)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_integer_division_is_total(dtype):
    info = np.iinfo(dtype)
    x = np.array([7, info.max, info.min, 5], dtype)
    np.testing.assert_array_equal(
        compute("div", x, np.array([2, 1, 1, 0], dtype))[:3], [3, info.max, info.min]
    )
    assert compute("div", x, 0 * x)[3] == np.invert(np.zeros((), dtype))
    np.testing.assert_array_equal(compute("rem", x, 0 * x), x)
    if info.min:
        np.testing.assert_array_equal(compute("div", -x[[0, 3]], np.array([2, 2], dtype)), [-3, -2])
        np.testing.assert_array_equal(compute("rem", -x[[0, 3]], np.array([2, 2], dtype)), [-1, -1])


def test_extrema_order_zeros_and_keep_nan():
    x, y = np.array([0.0, -0.0, np.nan, 1.0]), np.array([-0.0, 0.0, 1.0, 2.0])
    np.testing.assert_array_equal(np.signbit(compute("max", x, y)[:2]), False)
    np.testing.assert_array_equal(np.signbit(compute("min", x, y)[:2]), True)
    np.testing.assert_array_equal(compute("max", x, y)[2:], [np.nan, 2])
    np.testing.assert_array_equal(compute("clamp", x, y, x)[3], 1)
    z, w = np.array([1 + 2j, 1 + 2j]), np.array([1 + 3j, 0 + 9j])
    np.testing.assert_array_equal(compute("max", z, w), [1 + 3j, 1 + 2j])


def test_ties_round_away_from_zero():
    x = np.array([0.5, -0.5, 2.5, -3.5, 0.49999997, -0.0], np.float32)
    found = compute("round_away", x)
    np.testing.assert_array_equal(found, [1, -1, 3, -4, 0, 0])
    assert np.signbit(found[-1])
    assert compute("round_away", x.astype(np.float16)).dtype == "float16"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_total_order(dtype):
    x = np.array(
        [np.copysign(np.nan, -1), -np.inf, -1, -0.0, 0.0, 1, np.inf, np.copysign(np.nan, 1)], dtype
    )
    i, j = np.meshgrid(np.arange(8), np.arange(8))
    np.testing.assert_array_equal(compute("lt_to", x[i], x[j]), i < j)
    np.testing.assert_array_equal(compute("eq_to", x[i], x[j]), i == j)


def test_signs_and_parts():
    np.testing.assert_allclose(compute("sign", np.array([3 + 4j, 0j])), [0.6 + 0.8j, 0])
    assert np.signbit(compute("sign", np.array([-0.0]))[0])
    z = compute("complex", np.float32([1, 2]), np.float32([-0.0, 3]))
    assert z.dtype == "complex64" and np.signbit(compute("imag", z)[0])
    p, q = np.array([True, True, False]), np.array([True, False, False])
    np.testing.assert_array_equal(compute("sub", p, q), [False, True, False])
