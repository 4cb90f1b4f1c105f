"""Casts by bits keep every bit, and are refused between dtypes of different width."""

import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX2
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar import casts


@pytest.mark.parametrize(
    ("old", "new"), [("float32", "int32"), ("int64", "float64"), ("uint16", "float16")]
)
def test_bits_are_kept(old, new):
    x = np.array([0, 1, 0x7E01, 0xFFFF], f"uint{8 * np.dtype(old).itemsize}").view(old)
    found = apply(
        lambda e, v: casts.bitcast.cast(e, v, np.dtype(old), np.dtype(new)), x, result=new
    )
    assert found.tobytes() == x.tobytes()


@pytest.mark.parametrize("new", ["float64", "int8", "complex64"])
def test_other_widths_are_refused(new):
    e, x = Emitter(X86_AVX2), Value("%x", "f32", 8)
    assert casts.bitcast.cast(e, x, np.dtype("float32"), np.dtype(new)) is None


def test_values_are_converted_by_value():
    x = np.array([1.75, -2.5, np.nan], np.float32)
    found = apply(
        lambda e, v: casts.convert.cast(e, v, x.dtype, np.dtype("int32")), x, result="int32"
    )
    np.testing.assert_array_equal(found, [1, -2, 0])


def test_precision_of_halves_without_their_storage():
    x = np.array([1 + 2**-9, 1 + 2**-12, 1e-8], np.float32)
    found = apply(casts.round_to_bfloat16.floats, x)
    np.testing.assert_allclose(found, [1, 1, 1e-8], rtol=2**-8)
    np.testing.assert_array_equal(apply(casts.round_to_float16.floats, x), x.astype(np.float16))
