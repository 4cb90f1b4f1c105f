"""Operations on two arrays: integer edge cases, and derivatives where operands meet or vanish."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.elementwise import binary

I8 = np.array([-128, -128, -7, 7, 5], np.int8)
ONE = np.float32(1)


def test_quotients_are_truncated_and_wrap():
    by = np.array([-1, 0, 2, -2, 0], np.int8)
    np.testing.assert_array_equal(binary.div(I8, by), [-128, -1, -3, -3, -1])
    np.testing.assert_array_equal(binary.rem(I8, by), [0, -128, -1, 1, 5])


def test_shifts_by_the_width_or_more():
    x, by = np.array([-128, 127, -1], np.int8), np.array([8, 100, 7], np.int8)
    np.testing.assert_array_equal(binary.shift_left(x, by), [0, 0, -128])
    np.testing.assert_array_equal(binary.shift_right_arithmetic(x, by), [-1, 0, -1])
    np.testing.assert_array_equal(binary.shift_right_logical(x, by), [0, 0, 1])


def test_upper_halves_of_products():
    x = np.array([2**31 - 1, -(2**31), 12345], np.int32)
    want = (x.astype(np.int64) ** 2) >> 32
    np.testing.assert_array_equal(binary.mulhi(x, x), want)


def test_a_product_in_another_dtype_does_not_wrap():
    x = np.array([100, -100], np.int8)
    np.testing.assert_array_equal(binary.mul(x, x, out_dtype=np.int32), [10000, 10000])
    np.testing.assert_array_equal(binary.mul(x, x), [16, 16])


@pytest.mark.parametrize(
    ("of", "x", "y", "want"),
    [
        (binary.max, 2, 2, (0.5, 0.5)),
        (binary.max, 3, 2, (1, 0)),
        (binary.min, 3, 2, (0, 1)),
        (binary.pow, 3, 2, (6, 9 * np.log(3))),
        (binary.pow, 0, 2, (0, 0)),
        (binary.rem, 7, 2, (1, -3)),
        (binary.rem, -7, 2, (1, 3)),
        (binary.atan2, 3, 4, (4 / 25, -3 / 25)),
        (binary.div, 3, 2, (1 / 2, -3 / 4)),
    ],
)
def test_slopes(of, x, y, want):
    x, y = np.float32(x), np.float32(y)
    got = [jitney.jvp(of, (x, y), t)[1] for t in [(ONE, 0 * ONE), (0 * ONE, ONE)]]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_the_slope_of_a_zeroth_power_is_zero_everywhere():
    x = np.array([0, np.inf, -1, 2], np.float32)
    y = np.array([0, 0, 0, 3], np.int32)
    _, slope = jitney.jvp(lambda x: binary.pow(x, y), (x,), (np.ones_like(x),))
    np.testing.assert_allclose(slope, [0, 0, 0, 12])


def test_sums_of_tangents_are_strong_if_one_is():
    weak, strong = jnp.full((), 1.0), jnp.float32(2)
    assert weak.weak_type
    for x, y in [(weak, strong), (strong, weak)]:
        total = binary.sum_of_tangents(x, y)
        assert float(total) == 3
        assert not total.weak_type
    assert binary.sum_of_tangents(weak, weak).weak_type


def test_cotangents_of_stretched_operands_are_summed():
    x, y = np.ones((2, 1), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    dx, dy = jitney.vjp(binary.sub, x, y)[1](np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(dx, [[3], [3]])
    np.testing.assert_array_equal(dy, -np.ones((2, 3)))
    dx, _ = jitney.vjp(binary.mul, x, y)[1](np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(dx, y.sum(1, keepdims=True))


def test_a_quotient_is_not_linear_in_its_divisor():
    with pytest.raises(TypeError, match="linear in its dividend only"):
        jitney.linear_transpose(lambda y: binary.div(ONE, y), ONE)(ONE)
