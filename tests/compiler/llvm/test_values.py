"""Constants are written such that LLVM reads exactly their bits."""

import struct

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.llvm.values import (
    Value,
    constant,
    constant_vector,
    is_constant,
    is_signed,
    kind_of,
    mangled,
    memory_bytes,
    register_kind,
    spread,
    type_text,
)

NUMBERS = [0.0, -0.0, 1.5, 0.1, -65504.0, 65519.0, 65520.0, 1e-7, 1e39, float("inf"), float("nan")]


def bits(text):
    """The double that a hexadecimal constant of LLVM stands for."""
    return struct.unpack("<d", int(text, 16).to_bytes(8, "little"))[0]


@pytest.mark.parametrize("number", NUMBERS)
def test_floats_are_rounded_to_their_kind(number):
    with np.errstate(over="ignore"):
        for kind, dtype in (("f64", np.float64), ("f32", np.float32)):
            np.testing.assert_equal(bits(constant(number, kind).text), float(dtype(number)))
        for kind, dtype in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
            expected = np.asarray(number, np.float32).astype(dtype).view(np.int16)
            assert int(constant(number, kind).text) == int(expected)
    assert np.signbit(bits(constant(-0.0, "f32").text))


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [(255, "i8", "-1"), (-129, "i8", "127"), (2**31, "i32", "-2147483648"), (2**64 - 1, "i64", "-1"),
     (True, "i1", "true"), (0, "i1", "false"), (0, "ptr", "null"), (2**127, "i128", str(-(2**127)))],
)  # fmt: skip
def test_integers_wrap(value, kind, text):
    assert constant(value, kind).text == text


def test_vectors_of_constants():
    assert repr(constant(3, "i16", 8)) == "<8 x i16> splat (i16 3)"
    assert repr(constant_vector((1, 2), "i64")) == "<2 x i64> <i64 1, i64 2>"
    same = spread(constant(1.0, "f32"), 4)
    assert same.text == constant(1.0, "f32", 4).text and same.lanes == 4
    with pytest.raises(AssertionError, match="null"):
        constant(8, "ptr")


def test_types_and_names():
    assert [type_text(k) for k in ("f32", "bf16", "i1", "ptr")] == ["float", "i16", "i1", "ptr"]
    assert type_text("f64", 4) == "<4 x double>"
    assert [mangled("f32"), mangled("bf16", 8), mangled("ptr", 2)] == ["f32", "v8i16", "v2p0"]
    assert [memory_bytes(k) for k in ("i1", "f16", "ptr", "i128")] == [1, 2, 8, 16]


def test_registers_are_no_constants():
    assert is_constant(constant(1, "i8")) and is_constant(constant(1, "i8", 4))
    assert not is_constant(Value("%x", "i8"))


def test_kinds_have_no_sign():
    assert register_kind(np.dtype(np.int16)) == register_kind(np.dtype(np.uint16)) == "i16"
    assert kind_of(np.dtype(bool)) == "i1" and kind_of(np.dtype(ml_dtypes.bfloat16)) == "bf16"
    assert kind_of(np.dtype(np.complex64)) is kind_of(np.dtype(ml_dtypes.int4)) is None
    assert is_signed(np.dtype(np.int8)) and not is_signed(np.dtype(bool))
    with pytest.raises(AssertionError):
        register_kind(np.dtype(np.complex64))
