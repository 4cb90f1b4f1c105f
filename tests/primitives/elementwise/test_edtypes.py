"""Dtypes with tangents of another dtype: elements keep their bits, tangents are converted."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.elementwise.edtypes import primal_tangent_dtype

DTYPE = primal_tangent_dtype("int8", "bfloat16")
X = np.array([1, -2, 3], np.int8)
CONVERSIONS = {
    "lax": jitney.lax.convert_element_type,
    "astype": lambda x, dtype: jnp.asarray(x).astype(dtype),
    "function": jnp.astype,
    "asarray": jnp.asarray,
    "array": jnp.array,
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_elements_keep_their_bits_there_and_back(convert):
    there = convert(jnp.asarray(X), DTYPE)
    assert there.dtype == DTYPE
    assert there.astype(DTYPE) is there
    np.testing.assert_array_equal(convert(there, np.dtype(np.int8)), X)
    np.testing.assert_array_equal(jnp.int8(there), X)
    mapped = jitney.vmap(lambda x: convert(convert(x, DTYPE), np.dtype(np.int8)))
    np.testing.assert_array_equal(jitney.jit(mapped)(X), X)


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_only_the_primal_dtype_is_converted(convert):
    with pytest.raises(ValueError, match="only int8, its physical dtype, can be converted to"):
        convert(jnp.zeros(2), DTYPE)
    with pytest.raises(ValueError, match="can be converted only to int8, its physical dtype"):
        convert(jnp.asarray(X).astype(DTYPE), np.dtype(np.float32))


def test_residuals_of_a_branch():
    @jitney.custom_vjp
    def product(q, x):
        return q.astype(jnp.int8).astype(jnp.float32) * x

    product.defvjp(
        lambda q, x: (product(q, x), (q, x)),
        lambda kept, ct: ((ct * kept[1]).astype(jnp.bfloat16), ct * jnp.int8(kept[0])),
    )

    @jitney.jit
    def gradient(x, taken):
        q = jnp.asarray(X).astype(DTYPE)
        return jitney.grad(
            lambda x: jitney.lax.cond(taken, lambda: product(q, x).sum(), lambda: 0.0)
        )(x)

    np.testing.assert_array_equal(gradient(jnp.ones(3), True), X)
    np.testing.assert_array_equal(gradient(jnp.ones(3), False), np.zeros(3))


def test_tangents_have_the_dtype_of_tangents():
    floats = primal_tangent_dtype("float32", "bfloat16", name="narrow")
    assert repr(floats) == "narrow"
    assert repr(DTYPE) == "PrimalTangentDType{i8/bf16}"
    x = np.array([1, 2], np.float32)
    _, tangent = jitney.jvp(lambda x: jnp.asarray(x).astype(floats), (x,), (x,))
    assert tangent.dtype == jnp.bfloat16
    np.testing.assert_array_equal(tangent.astype(np.float32), x)
