"""Conversions, compiled: saturated integers, wrapped integers, and 16-bit floats to nearest even."""

import ml_dtypes
import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.llvm.target import X86_SSE4, host
from jitney.compiler.scalar import convert

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
F16 = np.dtype(np.float16)
TARGETS = [None, X86_SSE4] if host().triple == X86_SSE4.triple else [None]


def converted(x, new):
    return apply(lambda e, v: convert.convert(e, v, x.dtype, np.dtype(new)), x, result=new)


@pytest.mark.parametrize("new", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("old", ["float32", "float64"])
def test_floats_are_truncated_and_clamped(old, new):
    info = np.iinfo(new)
    x = np.array([-2.7, 3.99, 0.5, -1e30, 1e30, np.inf, -np.inf, np.nan], old)
    low, high = int(info.min), int(info.max)
    wanted = [max(low, -2), 3, 0, low, high, high, low, 0]
    np.testing.assert_array_equal(converted(x, new), np.array(wanted, new))


def test_integers_wrap_and_widen():
    x = np.array([-1, 300, 70000, -40000], np.int32)
    for new in ("int8", "uint8", "uint16", "int64", "uint64", "float32", "float64", "bool"):
        np.testing.assert_array_equal(converted(x, new), x.astype(new))
    for old in ("uint8", "uint32", "uint64"):
        words = np.array([0, 1, np.iinfo(old).max], old)
        for new in ("int64", "float32", "float64", "bool"):
            np.testing.assert_array_equal(converted(words, new), words.astype(new))
    np.testing.assert_array_equal(
        converted(np.array([0.0, -0.0, 1e-300, np.nan]), bool), [0, 0, 1, 1]
    )


@pytest.mark.parametrize("target", TARGETS, ids=lambda x: "host" if x is None else x.cpu)
@pytest.mark.parametrize("half", [F16, BFLOAT16], ids=str)
def test_halves_are_widened_exactly_and_narrowed_to_nearest_even(half, target):
    kind = "f16" if half == F16 else "bf16"
    every = np.arange(0, 1 << 16, 7, dtype=np.uint16).view(half)
    wide = apply(convert.widen, every, result=np.float32, target=target)
    np.testing.assert_array_equal(wide, every.astype(np.float32))
    numbers = wide[np.isfinite(wide)]
    unit = np.spacing(numbers.astype(half).astype(half)).astype(np.float64)
    for old in (np.float32, np.float64):
        x = np.concatenate(
            [numbers, numbers + unit / 2, numbers + unit * 0.50001, [np.inf, np.nan, 7e4]]
        )
        x = x.astype(old)
        found = apply(lambda e, v: convert.narrow(e, v, kind), x, result=half, target=target)
        with np.errstate(over="ignore"):
            wanted = (
                x.astype(half)
                if half == F16 or old == np.float32
                else x.astype(np.float32).astype(half)
            )
        np.testing.assert_array_equal(found.astype(float), wanted.astype(float))


def test_rounding_to_halves_keeps_single_precision():
    x = np.array([1.00390625, 1.01171875, 3.14159, -65519.0, 1e-7], np.float32)
    wanted = x.astype(BFLOAT16).astype(np.float32)
    np.testing.assert_array_equal(apply(convert.round_to_bfloat16, x), wanted)
    wanted = x.astype(F16).astype(np.float32)
    np.testing.assert_array_equal(apply(convert.round_to_float16, x), wanted)


def test_closed_results_of_bfloat16_are_truncated_bits():
    x = np.array([1.5, -2.0, np.inf], BFLOAT16)
    rule = lambda e, v: convert.narrow_result(e, "closed", convert.widen(e, v), "bf16")  # noqa: E731
    np.testing.assert_array_equal(apply(rule, x).astype(float), x.astype(float))


def test_dtypes_without_native_code_are_left():
    assert convert.convert(None, None, np.dtype("float32"), np.dtype("complex64")) is None
