"""Comparisons by IEEE 754, by the total order of floats, and of keys by their words."""

import numpy as np
import pytest

import jitney
from jitney.primitives.elementwise import compare

ASCENDING = [-np.nan, -np.inf, -1, -1e-7, -0.0, 0.0, 1e-7, 1, np.inf, np.nan]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_total_order(dtype):
    x = np.copysign(np.array(ASCENDING, dtype), [*[-1] * 5, *[1] * 5]).astype(dtype)
    a, b = np.repeat(x, 10), np.tile(x, 10)
    i, j = np.repeat(np.arange(10), 10), np.tile(np.arange(10), 10)
    np.testing.assert_array_equal(compare.lt_to(a, b), i < j)
    np.testing.assert_array_equal(compare.le_to(a, b), i <= j)
    np.testing.assert_array_equal(compare.eq_to(a, b), i == j)


@pytest.mark.parametrize(
    ("of", "ufunc"),
    [
        (compare.eq, np.equal),
        (compare.ne, np.not_equal),
        (compare.lt, np.less),
        (compare.le, np.less_equal),
        (compare.gt, np.greater),
        (compare.ge, np.greater_equal),
    ],
)
def test_nan_is_unordered_and_zeros_are_equal(of, ufunc):
    values = np.float32([np.nan, 0.0, -0.0, np.inf, 1])
    a, b = np.repeat(values, 5), np.tile(values, 5)
    got = of(a, b)
    assert got.dtype == bool
    np.testing.assert_array_equal(got, ufunc(a, b))


def test_keys_are_equal_if_all_their_words_are():
    keys = jitney.random.wrap_key_data(np.array([[1, 2], [1, 3], [4, 2]], np.uint32))
    np.testing.assert_array_equal(compare.eq(keys, keys[0]), [True, False, False])
    np.testing.assert_array_equal(compare.ne(keys, keys[0]), [False, True, True])


def test_complex_numbers_have_no_order():
    with pytest.raises(TypeError, match=r"lt.*: operand 0 must be integer, floating or boolean"):
        compare.lt(np.complex64(1), np.complex64(2))
    assert compare.eq(np.complex64(1j), np.complex64(1j))
