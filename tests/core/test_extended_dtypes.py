"""Dtypes beyond NumPy's compare by what defines them, and are stored as NumPy's."""

import types

import numpy as np
import pytest

from jitney.core.types.extended_dtypes import (
    KeyDType,
    PrimalTangentDType,
    is_extended,
    physical_dtype,
    words_of_key,
)


class Impl(types.SimpleNamespace):
    def __hash__(self):
        return hash(self.tag)


@pytest.mark.parametrize(
    "packed, physical, n_words", [(True, np.dtype(np.uint64), 0), (False, np.dtype("V16"), 4)]
)
def test_keys_are_stored_as_integers_or_bytes(packed, physical, n_words):
    dtype = KeyDType(Impl(tag="test", key_shape=(2, 2), packed=packed))
    assert dtype.physical == physical_dtype(dtype) == physical
    assert dtype.n_words == words_of_key(dtype) == n_words
    assert dtype.itemsize == physical.itemsize
    assert str(dtype) == dtype.name == "key<test>"


def test_equal_dtypes_of_keys_have_equal_implementations():
    first, same = (KeyDType(Impl(tag="a", key_shape=(2,), packed=True)) for _ in range(2))
    other = KeyDType(Impl(tag="b", key_shape=(2,), packed=True))
    assert first == same != other
    assert hash(first) == hash(same)
    assert first != np.dtype(np.uint64)


def test_dtypes_with_other_tangents():
    f32, f16 = np.dtype(np.float32), np.dtype(np.float16)
    dtype = PrimalTangentDType(f32, f16, "mixed")
    assert dtype == PrimalTangentDType(f32, f16, "mixed")
    assert hash(dtype) == hash(PrimalTangentDType(f32, f16, "mixed"))
    assert dtype != PrimalTangentDType(f16, f32, "mixed")
    assert (dtype.itemsize, dtype.tangent, repr(dtype)) == (4, f16, "mixed")


def test_dtypes_of_numpy_are_not_extended():
    f32 = np.dtype(np.float32)
    assert not is_extended(f32)
    assert physical_dtype(f32) is f32
    assert words_of_key(f32) == 0
