"""Integer powers are products, in one order; 1 - x^2 is accurate near 1."""

import numpy as np
import pytest

import jitney
from jitney.primitives.elementwise.powers import (
    integer_pow,
    one_minus_square,
    power_by_squaring,
    reciprocal,
)


@pytest.mark.parametrize("y", range(13))
def test_a_power_takes_as_few_products_as_bits(y):
    products = []

    def mul(a, b):
        products.append(a + b)
        return a + b  # exponents add up

    assert power_by_squaring(1, y, 0, mul) == y
    assert len(products) == max(y.bit_length() - 1 + y.bit_count() - 1, 0)


def test_powers_of_integers_wrap():
    x = np.array([2, -3, 127], np.int8)
    np.testing.assert_array_equal(integer_pow(x, 5), [32, 13, 127])
    np.testing.assert_array_equal(integer_pow(x, 0), [1, 1, 1])
    with pytest.raises(TypeError, match=r"int8\[3\] to the power of -1; convert to float first"):
        integer_pow(x, -1)


def test_negative_powers_and_reciprocals():
    x = np.array([2, -4, 0, np.inf], np.float32)
    np.testing.assert_array_equal(integer_pow(x, -3), [0.125, -0.015625, np.inf, 0])
    np.testing.assert_array_equal(reciprocal(x), [0.5, -0.25, np.inf, 0])


@pytest.mark.parametrize(("y", "want"), [(0, 0), (1, 1), (2, 6), (3, 27), (-1, -1 / 9)])
def test_slopes_of_powers(y, want):
    x = np.float32(3)
    assert np.isclose(jitney.jvp(lambda x: integer_pow(x, y), (x,), (np.float32(1),))[1], want)


def test_one_minus_a_square_keeps_its_digits():
    x = np.float32([1 - 2**-24, -1 - 2**-23, 0, np.inf])
    want = 1 - x.astype(np.float64) ** 2
    np.testing.assert_allclose(one_minus_square(x), want, rtol=1e-7)
    assert jitney.jvp(one_minus_square, (np.float32(3),), (np.float32(1),))[1] == -6
    with pytest.raises(
        TypeError, match=r"one_minus_square.*: the operand must be integer, floating"
    ):
        one_minus_square(True)
