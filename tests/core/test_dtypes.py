"""Names, categories, limits and promotion of dtypes."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from jitney.core.types import dtypes

STANDARD = [
    np.dtype(name)
    for name in "bool int8 int16 int32 uint8 uint16 uint32 float16 float32 complex64".split()
] + [np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize(
    "dtype, short, long, bits",
    [
        (np.bool_, "bool", "bool", 1),
        (np.uint16, "u16", "uint16", 16),
        (np.complex64, "c64", "complex64", 64),
        (ml_dtypes.bfloat16, "bf16", "bfloat16", 16),
        (ml_dtypes.int4, "i4", "int4", 4),
        (ml_dtypes.float8_e4m3fn, "f8_e4m3fn", "float8_e4m3fn", 8),
    ],
)
def test_names_and_numbers_of_bits(dtype, short, long, bits):
    dtype = np.dtype(dtype)
    assert dtypes.short_name(dtype) == short
    assert dtypes.long_name(dtype) == long
    assert dtypes.itemsize_bits(dtype) == bits


def test_promotion_is_commutative_and_idempotent_and_that_of_numpy_for_integers():
    for a, b in itertools.combinations_with_replacement(STANDARD, 2):
        joined = dtypes.promote_types(a, b)
        assert joined == dtypes.promote_types(b, a)
        assert dtypes.promote_types(joined, a) == joined
        if a.kind == b.kind and a.kind in "iu":
            assert joined == np.promote_types(a, b)
        assert dtypes.promote_types(a, a) == a


@pytest.mark.parametrize(
    "operands, dtype, weak",
    [
        ((np.int8, np.uint8), "int16", False),
        ((np.uint32, 1.0), "float32", True),
        ((np.float16, ml_dtypes.bfloat16), "float32", False),
        ((np.int8, 3), "int8", False),
        ((ml_dtypes.bfloat16, 2.0), "bfloat16", False),
        ((2.0, 1j), "complex64", True),
        ((True, False), "bool", False),
    ],
)
def test_result_types_and_weakness(operands, dtype, weak):
    assert dtypes.result_type(*operands, return_weak_type_flag=True) == (np.dtype(dtype), weak)


def test_narrow_floats_are_not_promoted_implicitly():
    with pytest.raises(dtypes.TypePromotionError, match="8-bit floats are never promoted"):
        dtypes.promote_types(ml_dtypes.float8_e5m2, np.float32)
    with pytest.raises(ValueError, match="at least one operand, but got none"):
        dtypes.result_type()


@pytest.mark.parametrize(
    "dtype, categories",
    [
        (np.int32, {np.integer, np.signedinteger}),
        (ml_dtypes.uint4, {np.integer, np.unsignedinteger}),
        (ml_dtypes.bfloat16, {np.inexact, np.floating}),
        (np.complex64, {np.inexact, np.complexfloating}),
        (np.bool_, set()),
    ],
)
def test_categories_of_dtypes(dtype, categories):
    every = {
        np.integer,
        np.signedinteger,
        np.unsignedinteger,
        np.inexact,
        np.floating,
        np.complexfloating,
    }
    assert {c for c in every if dtypes.issubdtype(dtype, c)} == categories


def test_canonical_dtypes_have_at_most_32_bits_for_each_part():
    for wide, narrow in [("int64", "int32"), ("float64", "float32"), ("complex128", "complex64")]:
        assert dtypes.canonicalize_dtype(wide) == np.dtype(narrow)
        assert dtypes.narrowed(np.dtype(narrow)) == np.dtype(narrow)
    assert dtypes.canonicalize_dtype(float) == np.float32


def test_objects_that_name_no_dtype_are_refused_with_a_suggestion():
    with pytest.raises(TypeError, match="is not a dtype\nInstead: 'float32'"):
        dtypes.canonicalize_dtype("flaot32")
    with pytest.raises(TypeError, match="and the sizes of a shape as one tuple"):
        dtypes.canonicalize_dtype(3)
    with pytest.raises(TypeError, match="byte order is not native"):
        dtypes.check_valid_dtype(np.dtype(np.int32).newbyteorder())
    with pytest.raises(TypeError, match="not strings or objects"):
        dtypes.check_valid_dtype(np.dtype("U3"))


def test_tangents_of_integers_carry_no_data():
    assert dtypes.tangent_dtype(np.dtype(np.int32)) == dtypes.float0
    assert dtypes.tangent_dtype(np.dtype(np.float16)) == np.float16
    assert dtypes.to_inexact_dtype(np.int16) == np.float32
    assert dtypes.to_numeric_dtype(bool) == np.int32
