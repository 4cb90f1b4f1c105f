"""Precisions are given by name, by member, for both operands or for each."""

import numpy as np
import pytest

import jitney
from jitney.primitives.linalg.precision import (
    DotAlgorithm,
    DotAlgorithmPreset,
    Precision,
    canonical_precision,
    computation_dtype,
)

HIGH, HIGHEST = Precision.HIGH, Precision.HIGHEST


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (None, None),
        ("high", (HIGH, HIGH)),
        ("float32", (HIGHEST, HIGHEST)),
        (HIGH, (HIGH, HIGH)),
        (("high", HIGHEST), (HIGH, HIGHEST)),
        ([HIGHEST, "default"], (HIGHEST, Precision.DEFAULT)),
        ("F16_F16_F32", DotAlgorithmPreset.F16_F16_F32),
    ],
)
def test_canonical_forms(given, want):
    assert canonical_precision(given) == want


@pytest.mark.parametrize("given", ["hi", 1, (HIGH,), (HIGH, HIGH, HIGH), ("high", None)])
def test_what_is_no_precision(given):
    with pytest.raises(ValueError, match=r"must be None, a lax.Precision or its name"):
        canonical_precision(given)


def test_the_setting_is_the_default():
    with jitney.default_matmul_precision("highest"):
        assert canonical_precision(None) == (HIGHEST, HIGHEST)
        assert canonical_precision("high") == (HIGH, HIGH)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("DEFAULT", None),
        ("F16_F16_F32", np.float32),
        ("BF16_BF16_F32_X6", np.float32),
        ("ANY_F8_ANY_F8_F32_FAST_ACCUM", np.float32),
        ("ANY_F8_ANY_F8_ANY", None),
        ("F64_F64_F64", np.float64),
    ],
)
def test_types_of_accumulation(name, want):
    assert DotAlgorithmPreset[name].accumulation_type is want


def test_dtypes_of_computation():
    half, single = np.dtype(np.float16), np.dtype(np.float32)
    assert computation_dtype(DotAlgorithmPreset.F16_F16_F16, single) == half
    assert computation_dtype(DotAlgorithmPreset.F16_F16_F16, np.dtype(np.int32)) == np.int32
    assert computation_dtype((HIGH, HIGH), half) == half
    for other in (DotAlgorithmPreset.TF32_TF32_F32, DotAlgorithm(half, half, single)):
        with pytest.raises(ValueError, match="not supported on CPUs"):
            computation_dtype(other, single)
