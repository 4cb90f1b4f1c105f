"""Functions of one array: exact values, and slopes at zero, at infinity and of complex numbers."""

import numpy as np
import pytest

import jitney
from jitney.primitives.elementwise import unary


def slope(of, x):
    return np.asarray(jitney.jvp(of, (x,), (np.ones_like(x),))[1])


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32])
def test_bits_are_counted(dtype):
    info = np.iinfo(dtype)
    x = np.array([0, 1, info.max, info.max // 3], dtype)
    words = [f"{int(v):0{info.bits}b}" for v in x]
    np.testing.assert_array_equal(unary.population_count(x), [w.count("1") for w in words])
    leading = [info.bits - len(w.lstrip("0")) for w in words]
    np.testing.assert_array_equal(unary.clz(x), leading)
    np.testing.assert_array_equal(unary.bitwise_not(x), ~x)


def test_the_least_integer_has_no_absolute_value():
    x = np.array([-128, -1, 127], np.int8)
    np.testing.assert_array_equal(unary.abs(x), [-128, 1, 127])
    np.testing.assert_array_equal(unary.neg(x), [-128, 1, -127])
    np.testing.assert_array_equal(unary.sign(x), [-1, -1, 1])


def test_zeros_keep_their_sign():
    zeros = np.array([0.0, -0.0], np.float32)
    for of in (unary.floor, unary.ceil, unary.sqrt, unary.sin, unary.sign, unary.cbrt):
        np.testing.assert_array_equal(np.signbit(of(zeros)), [False, True])
    np.testing.assert_array_equal(unary.neg(zeros), [-0.0, 0.0])


@pytest.mark.parametrize(
    ("of", "x", "want"),
    [
        (unary.abs, [-2, 0, 3], [-1, 1, 1]),
        (unary.square, [-2, 0, 3], [-4, 0, 6]),
        (unary.sqrt, [4, 0.25], [0.25, 1]),
        (unary.rsqrt, [4], [-1 / 16]),
        (unary.cbrt, [8, -8], [1 / 12, 1 / 12]),
        (unary.exp2, [3], [8 * np.log(2)]),
        (unary.log1p, [1], [0.5]),
        (unary.logistic, [0, 200], [0.25, 0]),
        (unary.tanh, [0, -50], [1, 0]),
        (unary.tan, [0], [1]),
        (unary.asin, [0.6], [1.25]),
        (unary.acosh, [1.25], [4 / 3]),
        (unary.atanh, [0.5], [4 / 3]),
        (unary.floor, [0.5], [0]),
    ],
)
def test_slopes(of, x, want):
    np.testing.assert_allclose(slope(of, np.array(x, np.float32)), want, rtol=2e-6, atol=1e-12)


def test_absolute_values_of_complex_numbers_have_a_slope_at_zero():
    z = np.array([0, 3 + 4j, -2j], np.complex64)
    np.testing.assert_allclose(slope(unary.abs, z), [0, 0.6, 0], rtol=1e-6)
    t = np.array([1, 4 - 3j, 1], np.complex64)  # the second one turns 3 + 4j, without stretching it
    _, got = jitney.jvp(unary.sign, (z,), (t,))
    np.testing.assert_allclose(got, [0, t[1] / 5, 0.5], rtol=1e-6)


def test_conjugates_are_complex():
    x = np.array([1, -2], np.float32)
    assert unary.conj(x).dtype == np.complex64
    z = np.array([1 + 2j], np.complex64)
    np.testing.assert_array_equal(unary.conj(z), z.conj())
    ct = np.array([3 - 1j], np.complex64)
    np.testing.assert_array_equal(jitney.vjp(unary.conj, z)[1](ct)[0], ct.conj())


def test_dtypes_that_are_refused():
    with pytest.raises(
        TypeError, match=r"exp.*: the operand must be floating or complex, but is int32"
    ):
        unary.exp(np.int32(1))
    with pytest.raises(TypeError, match=r"population_count.*: the operand must be .*integer"):
        unary.population_count(np.float32(1))
    with pytest.raises(TypeError, match="operands must be arrays or scalars"):
        unary.exp([1.0])
