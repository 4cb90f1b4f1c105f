"""The code of arithmetic has rules for each kind of numbers; predicates are added by "or"."""

import ml_dtypes
import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.scalar import arithmetic, table

BOTH = [
    np.array(v) for v in zip(*[(a, b) for a in (False, True) for b in (False, True)], strict=True)
]


def emitted(name, *arrays):
    dtype = arrays[-1].dtype
    return apply(lambda e, *xs: table.emit(e, name, dtype, list(xs), dtype), *arrays)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("add", np.logical_or), ("sub", np.logical_xor), ("mul", np.logical_and),
     ("maximum", np.logical_or), ("minimum", np.logical_and)],
)  # fmt: skip
def test_predicates(name, wanted):
    found = apply(getattr(arithmetic, name).booleans, *BOTH)
    np.testing.assert_array_equal(found, wanted(*BOTH))


@pytest.mark.parametrize(("dtype", "signed"), [("int8", True), ("uint8", False)])
def test_bytes_are_ordered_by_their_signs(dtype, signed):
    x, y = (
        np.array([0, 127, 128, 255], np.uint8).view(dtype),
        np.array([1, 128, 1, 3], np.uint8).view(dtype),
    )
    for name, wanted in (("maximum", np.maximum), ("minimum", np.minimum)):
        rule = getattr(arithmetic, name).by_sign
        found = apply(lambda e, a, b, rule=rule: rule(e, a, b, signed), x, y)
        np.testing.assert_array_equal(found, wanted(x, y))
    found = apply(lambda e, a: arithmetic.absolute.by_sign(e, a, signed), x)
    np.testing.assert_array_equal(found, np.abs(x))


def test_integers_wrap():
    x = np.array([-128, 100, -3], np.int8)
    np.testing.assert_array_equal(apply(arithmetic.neg.integers, x), -x)
    np.testing.assert_array_equal(apply(arithmetic.square.integers, x), x * x)


@pytest.mark.parametrize("dtype", ["int32", "float32", ml_dtypes.bfloat16], ids=str)
def test_clamp_is_the_least_of_the_most(dtype):
    low, x, high = (np.array(v).astype(dtype) for v in ([0, 0, 0, 5], [-1, 3, 9, 7], [4, 4, 4, 2]))
    np.testing.assert_array_equal(emitted("clamp", low, x, high).astype(float), [0, 3, 4, 2])


def test_choices_of_halves_keep_their_bits():
    mask = np.array([True, False])
    x, y = np.array([[0x7E01, 1], [2, 0xFE03]], np.uint16).view(np.float16)
    found = apply(arithmetic.select.halves, mask, x, y)
    np.testing.assert_array_equal(found.view(np.uint16), [0x7E01, 0xFE03])
