"""Contractions with scales: values, types and programs are JAX's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 4, 16)).astype(ml_dtypes.float8_e4m3fn)
Y = RNG.normal(size=(2, 16, 3)).astype(ml_dtypes.float8_e4m3fn)
X_SCALE = 2.0 ** RNG.integers(-3, 4, (2, 4, 4))
Y_SCALE = 2.0 ** RNG.integers(-3, 4, (2, 2, 3))
SCALES = {
    "lhs_scale": X_SCALE.astype(ml_dtypes.float8_e8m0fnu),
    "rhs_scale": Y_SCALE.astype(ml_dtypes.float8_e8m0fnu),
}


def test_the_meaning():
    exact = (X.astype(np.float32) * np.repeat(X_SCALE, 4, 2)) @ (
        Y.astype(np.float32) * np.repeat(Y_SCALE, 8, 1)
    )
    for f in (jitney.lax.scaled_dot, jitney.jit(jitney.lax.scaled_dot)):
        # Products of four bits and a power of two are exact in bfloat16.
        np.testing.assert_allclose(f(X, Y, **SCALES), exact, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("preferred", [None, np.float32])
@pytest.mark.parametrize("scales", [{}, {"rhs_scale": SCALES["rhs_scale"]}, SCALES])
def test_values_types_and_programs(scales, preferred):
    def call(module):
        def f(x, y, scales):
            return module.lax.scaled_dot(x, y, **scales, preferred_element_type=preferred)

        return f(X, Y, scales), str(module.make_jaxpr(f)(X, Y, scales))

    (got, our_program), (want, their_program) = call(jitney), of_jax(call)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(
        np.asarray(got, np.float32), np.asarray(want, np.float32), rtol=1e-2, atol=1e-2
    )
    assert our_program == their_program


def test_batches():
    def f(x, y, scale):
        return jitney.lax.scaled_dot(x, y, lhs_scale=scale, preferred_element_type=np.float32)

    want = f(X, Y, SCALES["lhs_scale"])
    np.testing.assert_array_equal(jitney.vmap(f)(X, Y, SCALES["lhs_scale"]), want)
    got = jitney.vmap(f, (None, 0, None))(X[0], Y, SCALES["lhs_scale"][0])
    np.testing.assert_array_equal(got[1], f(X[0], Y[1], SCALES["lhs_scale"][0]))


@pytest.mark.parametrize(("x", "y", "scales"), [
    (X, Y[0], {}),
    (X[0, 0], Y[0, :, 0], {}),
    (X[:, :, :8], Y, {}),
    (X, Y, {"lhs_scale": np.ones((2, 4, 3))}),
    (X, Y, {"lhs_scale": np.ones((2, 4, 16))}),
    (X, Y, {"lhs_scale": np.ones((2, 1, 4))}),
    (X, Y, {"rhs_scale": np.ones((2, 3))}),
])  # fmt: skip
def test_errors(x, y, scales):
    assert of_jax(lambda j: j.lax.scaled_dot(x, y, **scales)).is_a(TypeError)
    with pytest.raises(TypeError):
        jitney.lax.scaled_dot(x, y, **scales)
