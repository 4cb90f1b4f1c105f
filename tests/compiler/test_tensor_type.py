"""The text of a type is parsed to the same type, whatever its rank and dtype."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.tensor_type import TensorType, parse_dtype, parse_type


@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 0, 5), (1, 2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.complex128, ml_dtypes.bfloat16])
def test_types_are_read_back(shape, dtype):
    type_ = TensorType(shape, np.dtype(dtype))
    assert parse_type(str(type_)) == type_


@pytest.mark.parametrize(
    ("text", "rank", "size", "nbytes"),
    [("float32[]", 0, 1, 4), ("int16[3,5]", 2, 15, 30), ("complex64[4,0,2]", 3, 0, 0)],
)
def test_sizes_are_products_of_extents(text, rank, size, nbytes):
    type_ = parse_type(text)
    assert (type_.rank, type_.size, type_.nbytes) == (rank, size, nbytes)


def test_dtypes_of_ml_dtypes_are_known_by_name():
    assert parse_dtype("float8_e4m3fn") == ml_dtypes.float8_e4m3fn
    assert parse_dtype("uint64") == np.uint64
    with pytest.raises(TypeError):
        parse_dtype("float31")


@pytest.mark.parametrize("text", ["float32", "float32[2", "float32[2,x]"])
def test_other_texts_are_no_types(text):
    with pytest.raises(ValueError):
        parse_type(text)
