"""Operands are checked and brought to one dtype and rank; what fits is returned as it is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jitney
from jitney.numpy import promotion

ROW = np.ones(3, np.float32)
MATRIX = jitney.numpy.ones((2, 3))


def test_operands_that_fit_are_returned_themselves():
    x, y = promotion.promote_args("add", ROW, ROW)
    assert x is ROW
    assert y is ROW
    assert promotion.as_type(ROW, np.dtype(np.float32), False) is ROW


@pytest.mark.parametrize(
    ("operands", "dtype", "inexact", "numeric"),
    [
        ((np.int8(1), 2), "int8", "float32", "int8"),
        ((np.int8(1), np.uint8(2)), "int16", "float32", "int16"),
        ((np.float16(1), 2.0), "float16", "float16", "float16"),
        ((np.int32(1), np.float16(2)), "float16", "float16", "float16"),
        ((True, np.bool_(False)), "bool", "float32", "int32"),
        ((1, 2j), "complex64", "complex64", "complex64"),
    ],
)
def test_common_dtypes(operands, dtype, inexact, numeric):
    def of(promote):
        return {str(promotion.dtype_of(x)) for x in promote(*operands)}

    assert of(promotion.promote_dtypes) == {dtype}
    assert of(promotion.promote_dtypes_inexact) == {inexact}
    assert of(promotion.promote_dtypes_numeric) == {numeric}


def test_python_scalars_stay_scalars():
    x, y = promotion.promote_args("add", MATRIX, 2)
    assert x is MATRIX
    assert np.shape(y) == ()
    assert promotion.type_of(y) == (np.float32, False)
    assert promotion.type_of(2.0) == (np.float32, True)
    assert promotion.scalar_like(np.int8(3), 7.0).dtype == np.int8


def test_ranks_are_aligned_by_leading_axes():
    x, y = promotion.promote_shapes("add", MATRIX, ROW)
    assert (x.shape, y.shape) == ((2, 3), (1, 3))
    assert [v.shape for v in promotion.stretched("add", ROW, MATRIX)] == [(2, 3)] * 2
    assert promotion.broadcast_arrays() == ()
    with pytest.raises(ValueError, match="add"):
        promotion.align_ranks("add", MATRIX, np.ones(4, np.float32))
    with pytest.raises(TypeError, match="add"):
        promotion.stretched("add", ROW, np.ones(4, np.float32))


def test_promotion_of_ranks_can_be_refused():
    with jitney.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match=r"same rank, .* shapes are \(2, 3\) \(3,\)"):
            promotion.promote_shapes("add", MATRIX, ROW)
        promotion.promote_shapes("add", MATRIX, 1.0)
        promotion.align_ranks("add", MATRIX, ROW)
    with jitney.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="differ in rank"):
        promotion.promote_shapes("add", MATRIX, ROW)
    with warnings.catch_warnings(action="error"):
        promotion.promote_shapes("add", MATRIX, ROW)


def test_what_is_no_operand():
    with pytest.raises(TypeError, match="position 1 is of <class 'list'>"):
        promotion.promote_args("add", ROW, [1, 2])
    with pytest.raises(TypeError, match="float32, key<fry> cannot be combined"):
        promotion.promote_args("add", ROW, jitney.random.key(0))
    with pytest.raises(NotImplementedError, match="`out` must be None"):
        promotion.check_no_out("sum", ROW)
