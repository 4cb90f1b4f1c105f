"""Dtypes of 64 bits that are given keep them, whether or not arrays have such."""

import itertools

import jax as peer
import jax.numpy as peer_numpy
import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

DTYPES = "bool int8 int32 int64 uint32 uint64 bfloat16 float32 float64 complex64 complex128".split()


def _promoted(library, numpy, a, b, mode):
    with library.numpy_dtype_promotion(mode):
        try:
            return str(np.dtype(numpy.promote_types(a, b)))
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("mode", ["standard", "strict"])
@pytest.mark.parametrize("x64", [False, True])
def test_promote_types(mode, x64):
    with jax.enable_x64(x64), peer.enable_x64(x64):
        for a, b in itertools.product([*DTYPES, int, float, complex], repeat=2):
            expected = _promoted(peer, peer_numpy, a, b, mode)
            assert _promoted(jax, jnp, a, b, mode) == expected, (a, b)


def test_derivatives_of_functions_that_compute_in_64_bits():
    def wide_sine(x):
        with jax.enable_x64():
            return jnp.sin(jnp.array(x, jnp.float64))

    with jax.enable_x64(False):
        first, second = jax.grad(wide_sine)(5.0), jax.grad(jax.grad(wide_sine))(5.0)
    assert first.dtype == second.dtype == np.float32
    np.testing.assert_allclose([first, second], [np.cos(5.0), -np.sin(5.0)], rtol=1e-6)


def test_second_derivatives_of_custom_rules_in_64_bits():
    @jax.custom_vjp
    def square(x):
        return x**2.0

    square.defvjp(lambda x: (square(x), jnp.sin(x)), lambda residual, ct: (residual * ct,))

    def wide_square(x):
        with jax.enable_x64():
            return square(jnp.array(x, jnp.float64))

    with jax.enable_x64(False):
        np.testing.assert_allclose(jax.grad(jax.grad(wide_square))(5.0), np.cos(5.0), rtol=1e-6)
