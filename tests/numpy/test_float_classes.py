"""Floats of every width are told apart as `math` and NumPy tell them; NaN has a sign bit."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.core.types import dtypes
from jitney.numpy.float_classes import (
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    nan_to_num,
    signbit,
)

VALUES = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45])
TESTS = {
    "isnan": isnan, "isfinite": isfinite, "isinf": isinf, "isposinf": isposinf,
    "isneginf": isneginf, "signbit": signbit,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", TESTS)
def test_floats(name, dtype):
    x = VALUES.astype(np.dtype(getattr(dtypes, dtype, dtype)))
    expected = getattr(np, name)(x.astype(np.float32))
    np.testing.assert_array_equal(TESTS[name](x), expected)


@pytest.mark.parametrize("name", TESTS)
def test_integers_are_finite(name):
    x = np.array([0, -1, 2**31 - 1], np.int32)
    expected = [False, name == "signbit", False] if name != "isfinite" else [True] * 3
    assert TESTS[name](x).tolist() == expected
    assert TESTS[name](np.array([True, False])).tolist() == [name == "isfinite"] * 2


def test_a_complex_number_has_two_parts():
    z = np.array([complex(np.nan, 1), complex(0, np.inf), complex(-np.inf, np.nan), 1j])
    z = z.astype(np.complex64)
    assert isnan(z).tolist() == [True, False, True, False]
    assert isinf(z).tolist() == [False, True, True, False]
    assert isfinite(z).tolist() == [False, False, False, True]
    for test in (isposinf, isneginf, signbit):
        with pytest.raises(ValueError, match="`x` must be"):
            test(z)


def test_replacements():
    x = np.array([np.nan, np.inf, -np.inf, 2.0], np.float32)
    big = np.finfo(np.float32).max
    assert nan_to_num(x).tolist() == [0, big, -big, 2]
    assert nan_to_num(x, nan=7, posinf=8, neginf=9).tolist() == [7, 8, 9, 2]
    # What NaN is replaced by may be infinite, and is then replaced, too.
    assert nan_to_num(x, nan=np.inf, posinf=5.0).tolist() == [5, 5, -big, 2]
    assert nan_to_num(np.array([complex(np.nan, -np.inf)])).tolist() == [complex(0, -big)]
    assert nan_to_num(np.array([3, -1])).tolist() == [3, -1]
