"""Each row of the table of reductions has a neutral element; all read axes and dtypes alike."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.core.types import dtypes
from jitney.numpy.reduction_table import (
    ALL,
    ANY,
    MAX,
    MIN,
    PROD,
    SUM,
    carrier,
    greatest,
    least,
    reduced,
    reduced_axes,
    reduced_truth,
    static_axis,
    sum_dtype,
)

X = np.array([[3, -1, 4], [1, 5, -9]], np.int32)
FOLDS = {MAX: max, MIN: min, SUM: operator.add, PROD: operator.mul}


@pytest.mark.parametrize("row", FOLDS, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float32, np.float16])
def test_neutral_elements_change_nothing(row, dtype):
    dtype = np.dtype(dtype)
    for x in (dtype.type(3), dtypes.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max):
        assert FOLDS[row](x, dtype.type(row.neutral(dtype))) == x


@pytest.mark.parametrize("row", FOLDS, ids=lambda row: row.name)
def test_reductions_fold_from_the_initial_value(row):
    found = reduced(row, X, (0, 1), None, True, 2, X > 0)
    assert found.shape == (1, 1)
    assert found[0, 0] == reduce(FOLDS[row], [3, 4, 1, 5], 2)


def test_bounds():
    assert (least(np.dtype(bool)), greatest(np.dtype(bool))) == (False, True)
    assert (least(np.dtype(np.int8)), greatest(np.dtype(np.uint8))) == (-128, 255)
    assert greatest(np.dtype(dtypes.bfloat16)) == np.inf


def test_sums_of_booleans_as_booleans_are_truth_values():
    x = np.array([[True, True], [True, False]])
    assert reduced(SUM, x, None, None, False, None, None) == 3
    assert reduced(SUM, x, 1, None, False, None, None, dtype=bool).tolist() == [True, True]
    assert reduced(PROD, X[:, :2] - 1, 1, None, False, None, None, dtype=bool).tolist() == [1, 0]
    assert reduced_truth(ANY, X == 4, 1, None, False, None).tolist() == [True, False]
    assert reduced_truth(ALL, X, 1, None, False, X < -5).tolist() == [True, True]
    # Of complex numbers the imaginary part is ignored.
    assert not reduced_truth(ANY, np.array([1j]), None, None, False, None)


def test_axes():
    assert static_axis(np.array([1, 0])) == (1, 0)
    assert static_axis(np.int64(1)) == 1
    assert static_axis([0, np.int8(2)]) == (0, 2)
    assert reduced_axes(None, 3) == (0, 1, 2)
    assert reduced_axes((-1, 0), 3) == (0, 2)
    with pytest.raises(ValueError, match="only once"):
        reduced_axes((0, -3), 3)
    with pytest.raises(TypeError, match="an integer, or a tuple of integers"):
        static_axis(1.5)


def test_dtypes_of_sums():
    assert sum_dtype(np.dtype(np.int8)) == np.int32
    assert sum_dtype(np.dtype(np.uint8)) == np.uint32
    assert sum_dtype(np.dtype(np.int8), promote=False) == np.int8
    assert sum_dtype(np.dtype(bool), promote=False) == np.int32
    assert sum_dtype(np.dtype(np.float16)) == np.float16
    assert carrier(np.dtype(np.float16)) == carrier(np.dtype(dtypes.bfloat16)) == np.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((MAX, X[:0], 0, None, False, None, None), "the max of no elements"),
        ((MIN, X, 0, None, False, None, X > 0), "`initial` must be passed with `where`"),
        ((SUM, X, 0, None, False, np.ones(3), None), "`initial` must be a scalar"),
        ((SUM, X, 0, None, False, None, X), "`where` must be boolean"),
    ],
)
def test_what_is_undefined(arguments, message):
    with pytest.raises(ValueError, match=message):
        reduced(*arguments)


def test_messages_name_the_function_that_was_called():
    with pytest.raises(ValueError, match=r"jnp\.minmax: the max of no elements"):
        reduced(MAX, X[:0], 0, None, False, None, None, name="minmax")


@pytest.mark.parametrize("values", [[1.0, 2.0], [1, 2]])
def test_results_for_64_bit_arrays_have_32_bits_where_x64_is_off(values):
    with jitney.enable_x64(True):
        x = jnp.array(values)
    for function in (jnp.sum, jnp.max, jnp.cumsum, jitney.nn.softmax, jitney.jit(jnp.sum)):
        assert function(x).dtype.itemsize == 4
