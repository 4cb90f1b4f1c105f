"""Bits read as other dtypes, elements narrower than a byte among them, against real jax."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney import lax, numpy as jnp

PAIRS = [
    ("int4", "uint4", (16,)),
    ("uint4", "int4", (16,)),
    ("int4", "uint8", (5, 2)),
    ("int4", "float16", (3, 4)),
    ("uint4", "float32", (8,)),
    ("int2", "int4", (3, 2)),
    ("uint2", "int16", (2, 8)),
    ("int8", "int4", (4,)),
    ("float16", "uint4", (2, 3)),
    ("float32", "int4", ()),
    ("float32", "int2", (3,)),
    ("uint4", "int2", (16,)),
    ("int4", "int32", (0, 8)),
]


def values(dtype, shape):
    count = int(np.prod(shape))
    numbers = np.arange(count) * (1 if "int" in dtype else 1.37)
    return np.asarray(numbers).reshape(shape).astype(jnp.dtype(dtype))


@pytest.mark.parametrize("old, new, shape", PAIRS)
def test_same_bits(old, new, shape):
    x = values(old, shape)
    want = of_jax(lambda j: j.lax.bitcast_convert_type(j.numpy.asarray(x), new))
    by_call = lax.bitcast_convert_type(jnp.asarray(x), new)
    by_program = jitney.jit(lambda a: lax.bitcast_convert_type(a, new))(x)
    mapped = jitney.vmap(lambda a: lax.bitcast_convert_type(a, new))(np.stack([x, x]))
    for got in (by_call, by_program, mapped[1]):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_there_and_back():
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)

    def f(a):
        return lax.bitcast_convert_type(lax.bitcast_convert_type(a, jnp.uint4), jnp.float32)

    np.testing.assert_array_equal(jitney.jit(f)(x), x)
    np.testing.assert_array_equal(f(jnp.asarray(x)), x)


@pytest.mark.parametrize("x", [2**32, 2**32 + 7, -1, 2**40 - 1, 300])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int8, np.float32, bool])
def test_python_integers_wrap(x, dtype):
    assert outcome(jitney, x, dtype) == of_jax(outcome, x, dtype)


def outcome(j, x, dtype):
    try:
        found = j.lax.convert_element_type(x, dtype)
    except OverflowError:
        return "OverflowError"
    return found.item(), found.dtype


@pytest.mark.parametrize("left, right", [("float8_e4m3fn", "float8_e5m2"), ("float16", "bfloat16")])
def test_products_of_two_formats_of_one_width(left, right):
    """Neither format holds the numbers of the other."""
    rng = np.random.default_rng(1)
    x, y = (
        rng.standard_normal((4, 3)).astype(jnp.dtype(left)),
        rng.standard_normal((3, 5)).astype(jnp.dtype(right)),
    )
    want = x.astype(np.float32) @ y.astype(np.float32)

    def product(a, b):
        return lax.dot(a, b, preferred_element_type=np.float32)

    for f in (product, jitney.jit(product)):
        np.testing.assert_allclose(f(jnp.asarray(x), jnp.asarray(y)), want, rtol=1e-5)


def test_what_32_bits_cannot_count():
    """Places of more elements than that, which the largest few of are asked for."""
    x = jitney.ShapeDtypeStruct((2**31 + 1,), np.float32)
    with pytest.raises(ValueError, match="int32"):
        jitney.eval_shape(lambda a: lax.top_k(a, 2), x)
    pads = lax.padtype_to_pads(np.array([5, 5]), np.array([2, 2]), np.array([1, 2]), "SAME")
    assert all(type(n) is int for pair in pads for n in pair)
    with pytest.raises(TypeError, match="`init_values` must be scalars"):
        lax.reduce_window(np.ones(3), np.ones(1), lax.add, (1,), (1,), "VALID")


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_limits_of_narrow_integers(dtype, shape):
    x = jitney.numpy.ones(shape, dtype)
    for f in (jitney.lax.clamp, jitney.jit(jitney.lax.clamp)):
        out = f(x, x, x)
        assert np.asarray(out).dtype == out.dtype == x.dtype


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_powers_of_a_half_are_no_square_roots(dtype):
    x = np.array([-np.inf, -0.0, 0.0, 4.0, np.inf]).astype(jnp.dtype(dtype))
    for f in (lambda x: x**0.5, jitney.jit(lambda x: x**0.5)):
        out = np.asarray(f(jnp.asarray(x)), np.float64)
        np.testing.assert_array_equal(out, [np.inf, 0, 0, 2, np.inf])
        assert not np.signbit(out[1])
