"""Contractions: values, dtypes and errors are JAX's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.helpers.oracle import of_jax
from tests.primitives.side_by_side import DTYPES, check, sample

import jitney
from jitney import lax

CONTRACTIONS = [
    ((3, 4), (4, 2), (((1,), (0,)), ((), ()))),
    ((4,), (4,), (((0,), (0,)), ((), ()))),
    ((2, 3, 4), (4, 3, 2), (((1, 2), (1, 0)), ((0,), (2,)))),
    ((3, 0), (0, 2), (((1,), (0,)), ((), ()))),
    ((3, 2), (4,), (((), ()), ((), ()))),
    ((2, 3), (4, 5), (((1,), (0,)), ((), ()))),
    ((2, 3), (3, 5), (((2,), (0,)), ((), ()))),
    ((2, 3), (2, 3), (((1,), (1,)), ((0,), ()))),
    ((2, 2), (2, 2), (((1, 1), (0, 1)), ((), ()))),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dot_general(dtype):
    for left, right, numbers in CONTRACTIONS:
        x, y = sample(dtype, left), sample(dtype, right)
        check(lambda m, x, y, n=numbers: m.dot_general(x, y, n), x, y, exact=False)


@pytest.mark.parametrize("preferred", [np.float32, np.float16, np.int32, np.int8, np.complex64])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8, np.int32, np.bool_])
def test_preferred_element_type(dtype, preferred):
    x, y = sample(dtype, (3, 4)), sample(dtype, (4, 2))
    check(lambda m, x, y: m.dot(x, y, preferred_element_type=preferred), x, y, exact=False)


@pytest.mark.parametrize("other", [np.float16, np.int32, np.bool_, np.complex64])
def test_mixed_products(other):
    x, y = sample(ml_dtypes.bfloat16, (3, 4)), sample(other, (4, 2))
    found = jitney.eval_shape(lax.dot, x, y).dtype
    assert found == of_jax(lambda j: j.eval_shape(j.lax.dot, x, y).dtype)


MIXED = "bool int8 uint8 int32 uint32 float16 bfloat16 float8_e5m2 float32 complex64".split()


def wrapped(x, dtype):
    """Elements as `dtype`; those that no integer of it holds wrap, as on all processors."""
    is_integer = np.dtype(dtype).kind in "iu"
    return x.astype(np.int64 if is_integer else np.float32).astype(dtype)


@pytest.mark.parametrize("preferred", [None, *MIXED[1:5], "float16", "bfloat16", *MIXED[-2:]])
@pytest.mark.parametrize("dtype", MIXED)
def test_operands_of_mixed_products_keep_signs_and_digits(dtype, preferred):
    """Each is converted to the result's dtype at once, not by way of the other's."""
    x, y = np.array([-1.5, 2.25, -3.25, 0.5]), np.array([-2.5, 4.75, 200.0, 3.0])
    for other in [d for d in MIXED if d != dtype]:
        pair = wrapped(x, dtype), wrapped(y, other)
        check(lambda m, x, y: m.dot(x, y, preferred_element_type=preferred), *pair, exact=False)


@pytest.mark.parametrize("scalar", [1 + 2j, 2.0, 3, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_products_with_scalars_of_python_keep_the_dtype(dtype, scalar):
    with jitney.enable_x64(True):
        x = jitney.numpy.asarray(np.array([1.5, -2.0]).astype(dtype))
        got = jitney.numpy.dot(x, scalar)
        assert got.dtype == (x * scalar).dtype
        np.testing.assert_array_equal(got, x * scalar)


@pytest.mark.parametrize(
    "precision", [None, "highest", ("high", "default"), "BF16_BF16_F32", "TF32_TF32_F32", "no", 3]
)
def test_precision(precision):
    x, y = sample(np.float32, (3, 4)), sample(np.float32, (4, 2))
    check(lambda m, x, y: m.dot(x, y, precision=precision), x, y, exact=False)


def test_batches_of_matrices_have_one_rank():
    x, y = np.ones((2, 3, 4), np.float32), np.ones((1, 2, 4, 5), np.float32)
    with pytest.raises(ValueError, match="batch_matmul: the operands must have the same rank"):
        lax.batch_matmul(x, y)
    with pytest.raises(
        ValueError, match="batch_matmul: the ranks of the operands must be at least 2"
    ):
        lax.batch_matmul(x, y[0, 0, 0])
    np.testing.assert_array_equal(lax.batch_matmul(x[:1], y[0, :1]), np.full((1, 3, 5), 4))
