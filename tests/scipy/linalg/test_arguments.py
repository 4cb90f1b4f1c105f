"""Operands of linear algebra are of one inexact dtype; matrices are checked to be square."""

import numpy as np
import pytest

import jitney
from jitney.scipy.linalg.arguments import arrays, check_square, complex_dtype, inexact


def test_operands_promote_together():
    found = inexact(np.eye(2, dtype=int), np.ones(2, np.complex64))
    assert [x.dtype for x in found] == ["complex64", "complex64"]
    assert inexact(np.eye(2, dtype=np.float16))[0].dtype == "float16"
    with jitney.enable_x64(True):
        assert inexact(np.eye(2, dtype=int))[0].dtype == "float64"


def test_only_one_of_them_takes_lists():
    np.testing.assert_array_equal(arrays([[1, 2], [3, 4]], (5, 6))[1], [5, 6])
    with pytest.raises(TypeError, match="list"):
        inexact([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [("float16", "complex64"), ("float32", "complex64"), ("float64", "complex128"),
     ("complex64", "complex64"), ("complex128", "complex128")],
)  # fmt: skip
def test_complex_dtype_of_the_same_precision(dtype, wanted):
    assert complex_dtype(np.dtype(dtype)) == wanted


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3), ()])
def test_what_is_not_square_is_refused(shape):
    check_square("f", inexact(np.zeros((5, 2, 2)))[0])
    with pytest.raises(ValueError, match="f: `a` must be square"):
        check_square("f", inexact(np.zeros(shape))[0])
