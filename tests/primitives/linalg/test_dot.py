"""Contractions: values, dtypes and errors are JAX's."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax as oracle
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
    found, wanted = (jitney.eval_shape(lax.dot, x, y), jax.eval_shape(oracle.dot, x, y))
    assert found.dtype == wanted.dtype


@pytest.mark.parametrize(
    "precision", [None, "highest", ("high", "default"), "BF16_BF16_F32", "TF32_TF32_F32", "no", 3]
)
def test_precision(precision):
    x, y = sample(np.float32, (3, 4)), sample(np.float32, (4, 2))
    check(lambda m, x, y: m.dot(x, y, precision=precision), x, y, exact=False)
