"""`sinc`: accuracy against mpmath, special values and derivatives against real JAX."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
import jitney.numpy as jnp
from jitney.core.types import dtypes

SPECIAL = [
    0.0, -0.0, 0.25, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, 3.0, 1e-20, -1e-8, 1000.0, 4097.5, 1e8, 1e30,
    np.inf, -np.inf, np.nan,
]  # fmt: skip
COMPLEX = [
    0, 1, 2 + 1j, 0.5 - 0.25j, 1e-9j, 30j, -3.75, complex(np.inf, 1), complex(-np.inf, 0),
    complex(np.inf, np.inf), complex(np.nan, 1), complex(0, np.inf),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_accuracy(dtype):
    rng = np.random.default_rng(0)
    whole = rng.integers(-5, 5, 100)
    x = np.concatenate([
        rng.uniform(-0.5, 0.5, 200), rng.uniform(-5, 5, 400), rng.uniform(-1e5, 1e5, 200),
        whole + rng.uniform(-1, 1, 100) * 1e-6,
    ]).astype(dtype)  # fmt: skip
    with jitney.enable_x64(True), mpmath.workdps(40):
        exact = [mpmath.sincpi(float(v)) for v in x]
        for f in (jnp.sinc, jitney.jit(jnp.sinc)):
            for v, e in zip(f(x), exact, strict=True):
                # Zeros are exact: the error is relative everywhere.
                assert abs(mpmath.mpf(float(v)) - e) <= 2 * np.finfo(dtype).eps * abs(e)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_special_values(dtype):
    with np.errstate(over="ignore"):
        x = np.array(SPECIAL).astype(dtypes.bfloat16 if dtype == "bfloat16" else dtype)

    def values_and_slopes(jax, x):
        slopes = jax.vmap(jax.grad(jax.numpy.sinc))(x)
        return jax.numpy.sinc(x), slopes

    with jitney.enable_x64(True):
        ours = values_and_slopes(jitney, x)
    for i, (got, wanted) in enumerate(
        zip(ours, of_jax(values_and_slopes, x, x64=True), strict=True)
    ):
        assert got.dtype == wanted.dtype
        # Slopes next to extrema are small differences.
        atol = 1e-6 * i if dtype in ("float32", "float64") else 1e-2 * i
        rtol = {"float64": 1e-14, "float32": 1e-6}.get(dtype, 1e-2)
        np.testing.assert_allclose(
            np.asarray(got, np.float64), np.asarray(wanted, np.float64), rtol=rtol, atol=atol
        )


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers(dtype):
    z = np.array(COMPLEX, dtype)
    with jitney.enable_x64(True):
        ours = np.asarray(jnp.sinc(z))
    wanted = np.asarray(of_jax(lambda jax, z: jax.numpy.sinc(z), z, x64=True))
    assert ours.dtype == wanted.dtype
    rtol = 8 * np.finfo(dtype).eps
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isfinite(ours), finite)
    np.testing.assert_allclose(ours[finite], wanted[finite], rtol=rtol, atol=rtol)


def test_whole_numbers_keep_their_slopes():
    x = jnp.array([1.0, 2.0, -3.0])
    np.testing.assert_array_equal(jnp.sinc(x), [0.0, 0.0, 0.0])
    slopes = jitney.jit(jitney.vmap(jitney.grad(jnp.sinc)))(x)
    np.testing.assert_allclose(slopes, [-1.0, 0.5, 1 / 3], rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit])
def test_numbers_give_weak_types(wrap):
    for x, is_weak in ((0.5, True), (2, True), (np.float32(0.5), False)):
        assert wrap(jnp.sinc)(x).weak_type == is_weak
        assert wrap(jnp.sinc)(x).dtype == np.float32
