"""Reductions start at the neutral element, keep the sign of zeros, and add with small errors."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.reference.reduction import (
    LONG_RUN,
    arg_reduce,
    cumulative,
    neutral,
    reduce,
    reduce_in_order,
    reduce_region,
)

RNG = np.random.default_rng(0)
DTYPES = [np.bool_, np.int8, np.uint32, np.float16, ml_dtypes.bfloat16, np.float64, np.complex64]


@pytest.mark.parametrize("fn", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_neutral_elements_change_nothing(fn, dtype):
    if np.dtype(dtype).kind == "c" and fn in ("max", "min"):
        return
    x = RNG.integers(0, 2 if dtype == np.bool_ else 9, 7).astype(dtype)
    first = np.concatenate([[neutral(fn, np.dtype(dtype))], x]).astype(dtype)
    np.testing.assert_array_equal(reduce(first, fn, (0,)), reduce(x, fn, (0,)))
    empty = reduce(np.zeros((0, 3), dtype), fn, (0,))
    assert empty.shape == (3,) and (empty == neutral(fn, np.dtype(dtype))).all()


def test_formats_without_infinity_have_a_largest_number():
    dtype = np.dtype(ml_dtypes.float8_e4m3fn)
    assert float(neutral("min", dtype)) == 448 and float(neutral("max", dtype)) == -448
    assert neutral("and", np.dtype(np.uint8)) == 255


@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_axes_are_those_of_numpy(dims):
    x = RNG.integers(-9, 9, (3, 4, 5)).astype(np.float64)
    for fn, ufunc in (("add", np.add), ("max", np.maximum)):
        np.testing.assert_array_equal(reduce(x, fn, dims), ufunc.reduce(x, axis=dims))
        np.testing.assert_array_equal(reduce_in_order(x, fn, dims), ufunc.reduce(x, axis=dims))


@pytest.mark.parametrize("shape", [(50_000,), (50_000, 3), (2, 9001, 5), (3, 20_000)])
def test_long_sums_have_small_errors(shape):
    x = RNG.random(shape, np.float32)
    dim = int(np.argmax(shape))
    for array in (x, np.asfortranarray(x)):
        found = reduce(array, "add", (dim,))
        np.testing.assert_allclose(found, x.sum(dim, dtype=np.float64), rtol=1e-6)


def test_zero_is_greater_than_negative_zero():
    x = np.float32([[-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0], [-1, -0.0]])
    most, least = reduce(x, "max", (1,)), reduce(x, "min", (1,))
    np.testing.assert_array_equal(np.signbit(most), [False, False, True, True])
    np.testing.assert_array_equal(np.signbit(least), [True, True, True, True])
    running = cumulative(x.T, "max", 0, False)
    signs = [[True, False, True, True], [False, False, True, True]]
    np.testing.assert_array_equal(np.signbit(running), signs)


def test_nan_reaches_extremes():
    x = np.float16([1, np.nan, 3])
    assert np.isnan(reduce(x, "max", (0,))) and np.isnan(reduce(x, "min", (0,)))
    assert arg_reduce(x, "max", 0, np.int32) == arg_reduce(x, "min", 0, np.int32) == 1
    assert arg_reduce(np.int8([3, 5, 5]), "max", 0, np.uint8) == 1


def test_halves_are_accumulated_as_float32():
    x = np.full(5000, 1, np.float16)
    assert reduce(x, "add", (0,)) == 5000
    assert cumulative(x, "add", 0, False)[-1] == 5000


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 7, LONG_RUN + 3])
def test_running_sums(n, reverse):
    x = RNG.random((2, n))
    expected = np.flip(np.flip(x, 1).cumsum(1), 1) if reverse else x.cumsum(1)
    np.testing.assert_allclose(cumulative(x, "add", 1, reverse), expected, rtol=1e-12)


def test_running_logarithms_of_sums():
    x = np.float64([-np.inf, 0, 1000, 1000])
    found = cumulative(x, "logaddexp", 0, False)
    np.testing.assert_allclose(found, [-np.inf, 0, 1000, 1000 + np.log(2)])


@pytest.mark.parametrize("elementwise", [False, True])
def test_regions_reduce_several_arrays_together(elementwise):
    """The largest value and its index, in row-major order."""
    x = np.int32([[3, 9, 1], [9, 2, 4]])
    at = np.arange(6, dtype=np.int32).reshape(2, 3)

    def body(best, where, value, index):
        better = value > best
        return np.where(better, value, best), np.where(better, index, where)

    inits = np.int32(-1), np.int32(-1)
    most, where = reduce_region([x, at], inits, (0, 1), body, elementwise)
    assert (int(most), int(where)) == (9, 1)
    most, where = reduce_region([x, at], inits, (0,), body, elementwise)
    np.testing.assert_array_equal([most, where], [[9, 9, 4], [3, 1, 5]])
    empty, _ = reduce_region([x[:0], at[:0]], inits, (0,), body, elementwise)
    np.testing.assert_array_equal(empty, [-1, -1, -1])
