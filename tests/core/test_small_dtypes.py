"""Integers of one bit and floats of six: names, limits, promotion, conversion and arithmetic."""

import ml_dtypes
import numpy as np
import pytest
from tests.helpers.oracle import answer, jnp as real

import jitney as jax
import jitney.numpy as jnp

FLOATS = ("float6_e2m3fn", "float6_e3m2fn")
INTEGERS = tuple(name for name in ("int1", "uint1") if hasattr(ml_dtypes, name))


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_names_kinds_and_promotion(name):
    kinds = (np.floating, np.integer, np.signedinteger, np.unsignedinteger)
    promoted = (
        (bool, int, np.dtype(name)) if name in INTEGERS else (bool, int, float, np.dtype(name))
    )
    others = [
        other for other in ("int8", "float32", "bfloat16") if name[0] != "f" or other[0] != "i"
    ]

    def facts(numpy):
        own = getattr(numpy, name)
        is_a = [numpy.issubdtype(own, kind) for kind in kinds]
        return own.dtype, is_a, [str(numpy.promote_types(own, other)) for other in promoted]

    assert facts(jnp) == answer(lambda: facts(real))
    assert getattr(jnp, name).dtype == np.dtype(name)
    for other in others:
        with pytest.raises(jax.dtypes.TypePromotionError, match=f"{name}.* have no common dtype"):
            jnp.promote_types(getattr(jnp, name), other)
        refused = answer(lambda other=other: real.promote_types(getattr(real, name), other))
        assert "ValueError" in refused.names


@pytest.mark.parametrize("name", FLOATS)
def test_six_bit_floats(name):
    x = np.array([0, -0.0, 1, -1.3, 0.3, 7.4, 28, -1000], np.float32)
    expected = x.astype(name)
    for convert in (lambda x: x.astype(name), jax.jit(lambda x: x.astype(name))):
        np.testing.assert_array_equal(
            np.asarray(convert(jnp.asarray(x))).view(np.uint8), expected.view(np.uint8)
        )
    y = jnp.asarray(expected)
    total = jax.jit(lambda y: y + y)(y)
    assert total.dtype == name
    np.testing.assert_array_equal(np.asarray(total), expected + expected)
    assert jnp.finfo(y.dtype).max == answer(lambda: float(real.finfo(name).max))


@pytest.mark.skipif(not INTEGERS, reason="ml_dtypes has them since 0.6")
def test_one_bit_integers():
    x = np.arange(-3, 4, dtype=np.int32)
    for name in INTEGERS:
        for convert in (lambda x, n=name: x.astype(n), jax.jit(lambda x, n=name: x.astype(n))):
            np.testing.assert_array_equal(np.asarray(convert(jnp.asarray(x))), x.astype(name))
    assert str(jax.make_jaxpr(lambda x: x.astype("uint1"))(1)).count("u1[]") == 1
    assert (jnp.iinfo("int1").min, jnp.iinfo("uint1").max) == (-1, 1)
