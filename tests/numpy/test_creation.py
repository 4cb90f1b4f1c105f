"""New arrays have the asked shape and dtype, and share no memory with what they are made from."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.creation import (
    array,
    asarray,
    copy,
    empty_like,
    frombuffer,
    fromstring,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)


def test_elements_are_copied():
    source = np.array([1.0, 2.0], np.float32)
    arrays = [array(source), asarray(source), copy(source)]
    source[:] = 9
    assert all(x.tolist() == [1, 2] for x in arrays)
    x = arrays[0]
    assert asarray(x) is x
    assert array(x) is not x
    assert array(x, copy=False) is x


def test_nested_sequences_and_ranks():
    x = array([[1, 2.5], [True, 4]], ndmin=3)
    assert (x.shape, x.dtype) == ((1, 2, 2), np.float32)
    assert array([array(1), 2], dtype=np.int8).dtype == np.int8
    masked = np.ma.array([1, 2], mask=[True, False])
    assert array(masked).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "complex64"])
def test_filled_arrays(dtype):
    for make, value in ((zeros, 0), (ones, 1)):
        x = make((2, 0, 3), dtype)
        assert (x.shape, x.dtype) == ((2, 0, 3), jitney.dtypes.canonicalize_dtype(dtype))
        np.testing.assert_array_equal(np.asarray(make(3, dtype), complex), [value] * 3)
    assert full((), -0.0).shape == ()
    assert np.signbit(full(2, -0.0)).all()  # -0.0 is not the zero of fresh memory
    assert full((3,), jitney.numpy.array(4)).tolist() == [4] * 3
    assert full((2, 2), np.array([7, 8])).tolist() == [[7, 8], [7, 8]]


def test_arrays_like_another():
    like = np.zeros((2, 3), np.int16)
    assert zeros_like(like).dtype == np.int16
    assert ones_like(like, shape=4).tolist() == [1] * 4
    assert full_like(like, 2.7).tolist() == [[2] * 3] * 2
    assert full_like(like, 2.5, np.float32)[0, 0] == 2.5
    struct = jitney.ShapeDtypeStruct((5,), np.complex64)
    assert (empty_like(struct).shape, empty_like(struct).dtype) == ((5,), np.complex64)


def test_scalars_are_weakly_typed_until_a_dtype_is_named():
    assert full(2, 1.0).weak_type
    assert not full(2, 1.0, np.float32).weak_type
    assert zeros_like(full(2, 1.0)).weak_type
    assert not full_like(full(2, 1.0), np.zeros(2)).weak_type


def test_memory_of_others():
    data = np.array([1, 2, 3], np.int16).tobytes()
    assert frombuffer(data, np.int16, count=2, offset=2).tolist() == [2, 3]
    assert fromstring("1, 2.5", np.float32, sep=",").tolist() == [1, 2.5]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: zeros(2, 3), TypeError, r"zeros\(\(2, 3\)\)"),
        (lambda: array([[1], [2, 3]]), ValueError, r"lengths 1, 2"),
        (lambda: array(None), ValueError, "None has no value"),
        (lambda: array(300, np.int8), OverflowError, "between -128 and 127"),
        (lambda: array([1], order="F"), NotImplementedError, "`order` must be 'K'"),
        (lambda: full(2, 1j, np.float32), TypeError, "complex"),
        (lambda: full((2, 2), np.zeros(3)), ValueError, "broadcast"),
        (lambda: array(["a"]), TypeError, "numeric or boolean"),
    ],
)
def test_what_is_no_array(make, error, message):
    with pytest.raises(error, match=message):
        make()
