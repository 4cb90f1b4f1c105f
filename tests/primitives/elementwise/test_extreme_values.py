"""Eager and compiled results agree for extreme integers, zeros of both signs, infinities and NaN."""

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp
from jitney import lax

FLOATS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


def same_bits(f, *xs):
    eager, compiled = np.asarray(f(*xs)), np.asarray(jitney.jit(f)(*xs))
    np.testing.assert_array_equal(compiled, eager)
    if eager.dtype.kind == "f":
        signs = [np.signbit(np.where(np.isnan(r), 0, r)) for r in (compiled, eager)]
        np.testing.assert_array_equal(*signs)
    return eager


@pytest.mark.parametrize("high", [1 + 1j, 0j, complex(1, np.nan), complex(np.nan, 1), np.inf + 0j])
@pytest.mark.parametrize("low", [0j, 1 + 1j, complex(np.nan, 0), complex(-np.inf, 1)])
def test_complex_numbers_are_clamped_by_their_real_parts(low, high):
    z = np.array([complex(a, b) for a in FLOATS for b in FLOATS], np.complex64)
    bounds = np.complex64(low), np.complex64(high)
    wanted = of_jax(lambda j: j.lax.clamp(bounds[0], z, bounds[1]))
    for f in (lax.clamp, jitney.jit(lax.clamp)):
        for part in (np.real, np.imag):
            np.testing.assert_array_equal(part(f(bounds[0], z, bounds[1])), part(wanted.array))


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_running_extremes(name, dtype):
    rng = np.random.default_rng(0)
    f = getattr(lax, name)
    for reverse in (False, True):
        x = rng.choice(np.array(FLOATS, dtype), (12, 40), p=[0.3, 0.3, 0.1, 0.1, 0.05, 0.1, 0.05])
        for axis in (0, 1):
            same_bits(lambda x, axis=axis, reverse=reverse: f(x, axis, reverse), x)


def test_zeros_in_order():
    zeros = np.float32([-0.0, 0.0, -0.0])
    same_bits(lambda x: lax.cumlogsumexp(x)[:1], zeros)
    assert np.signbit(same_bits(lax.cummax, zeros)).tolist() == [True, False, False]
    assert np.signbit(same_bits(lax.cummin, -zeros)).tolist() == [False, True, True]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16])
def test_divisors(dtype):
    info = np.iinfo(dtype)
    values = np.array([info.min, info.max, 0, 1, 12, 18, info.min + 1], dtype)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    want = np.gcd(x.astype(np.int64), y.astype(np.int64)).astype(dtype)
    np.testing.assert_array_equal(same_bits(jnp.gcd, x, y), want)
    same_bits(jnp.lcm, x, y)
