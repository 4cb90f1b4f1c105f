"""Dtypes with tangents of another dtype: elements keep their bits, tangents are converted."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.elementwise.edtypes import converted, primal_tangent_dtype

DTYPE = primal_tangent_dtype("int8", "bfloat16")
X = np.array([1, -2, 3], np.int8)


def test_elements_keep_their_bits_there_and_back():
    there = converted(jnp.asarray(X), DTYPE)
    assert there.dtype == DTYPE
    assert converted(there, DTYPE) is there
    np.testing.assert_array_equal(converted(there, np.dtype(np.int8)), X)
    mapped = jitney.vmap(lambda x: converted(converted(x, DTYPE), np.dtype(np.int8)))
    np.testing.assert_array_equal(jitney.jit(mapped)(X), X)


def test_other_conversions_are_left_to_others():
    assert converted(jnp.asarray(X), np.dtype(np.int16)) is None
    assert converted(jnp.asarray(X), np.dtype(np.int8)) is None


def test_only_the_primal_dtype_is_converted():
    with pytest.raises(ValueError, match="is converted only from int8, its physical dtype"):
        converted(jnp.zeros(2), DTYPE)
    with pytest.raises(ValueError, match="are converted only to int8, their physical dtype"):
        converted(converted(jnp.asarray(X), DTYPE), np.dtype(np.float32))


def test_tangents_have_the_dtype_of_tangents():
    floats = primal_tangent_dtype("float32", "bfloat16", name="narrow")
    assert repr(floats) == "narrow"
    assert repr(DTYPE) == "PrimalTangentDType{i8/bf16}"
    x = np.array([1, 2], np.float32)
    _, tangent = jitney.jvp(lambda x: converted(jnp.asarray(x), floats), (x,), (x,))
    assert tangent.dtype == jnp.bfloat16
    np.testing.assert_array_equal(tangent.astype(np.float32), x)
