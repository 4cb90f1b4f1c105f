"""Texts of arrays have the elements as NumPy prints them, and always the dtype."""

import ml_dtypes
import numpy as np
import pytest

from jitney.core.types.avals import ShapedArray
from jitney.runtime.arrays.array_text import array_repr, array_str


def text(value, weak_type=False):
    return array_repr(value, ShapedArray(value.shape, value.dtype, weak_type))


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.float32([1, 2.5]), "Array([1. , 2.5], dtype=float32)"),
        (np.array(True), "Array(True, dtype=bool)"),
        (np.zeros((0, 3), np.int8), "Array([], shape=(0, 3), dtype=int8)"),
        (np.float32([np.nan, -np.inf]), "Array([ nan, -inf], dtype=float32)"),
        (np.array([1], ml_dtypes.bfloat16), "Array([1], dtype=bfloat16)"),
        (np.int32([[1], [2]]), "Array([[1],\n       [2]], dtype=int32)"),
    ],
)
def test_elements_and_dtype(value, expected):
    assert text(value) == expected


def test_weak_types():
    assert text(np.array(2.0), weak_type=True) == "Array(2., dtype=float64, weak_type=True)"


@pytest.mark.parametrize("width", [40, 60, 75])
def test_lines_are_no_longer_than_those_of_numpy(width):
    for n in range(1, 40):
        with np.printoptions(linewidth=width):
            lines = text(np.arange(n, dtype=np.int16)).splitlines()
        assert all([len(line) <= width for line in lines[:-1]])
        numbers = "".join(lines).partition("[")[2].partition("]")[0]
        assert [int(x) for x in numbers.split(",")] == list(range(n))


def test_a_dtype_without_room_is_set_off_by_spaces():
    value = np.int16([1, 2])
    for width, gap in ((21, " "), (20, " " * len("Array("))):
        with np.printoptions(linewidth=width):
            assert text(value) == f"Array([1, 2],{gap}dtype=int16)"


def test_str_has_the_elements_alone():
    assert array_str(np.float32([1, 2])) == "[1. 2.]"
    assert array_str(np.array(-0.0, np.float32)) == "-0.0"
