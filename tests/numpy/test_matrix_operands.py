"""Operands of linear algebra become inexact arrays of one dtype, and square where they must be."""

from __future__ import annotations

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.numpy.matrix_operands import check_square, inexact, of_dtype


def test_operands_share_an_inexact_dtype():
    a = inexact("inv", np.array([[1, 2]], np.int8))
    assert (a.dtype, a.shape) == (np.float32, (1, 2))
    a, b = inexact("solve", np.eye(2, dtype=np.float32), np.array([1j, 2]))
    assert a.dtype == b.dtype == np.complex64
    x = jnp.eye(2, dtype=np.float16)
    assert inexact("inv", x) is x
    with pytest.raises(TypeError, match=r"jnp\.linalg\.solve.*position 1"):
        inexact("solve", np.eye(2), [1, 2])


def test_square_matrices():
    check_square("det", jnp.zeros((5, 0, 0)))
    for shape in ((2,), (), (2, 2, 3)):
        with pytest.raises(ValueError, match="det: `a` must be square matrices"):
            check_square("det", jnp.zeros(shape))


def test_constants_adopt_the_dtype():
    value = of_dtype(0.5, jnp.zeros(1, np.float16))
    assert (value.dtype, value.shape) == (np.float16, ())
    assert of_dtype(1j, jnp.zeros(1, np.complex64)).dtype == np.complex64
