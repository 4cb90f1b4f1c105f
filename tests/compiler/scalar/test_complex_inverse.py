"""Inverse functions of complex numbers: as NumPy's, part by part, also at cuts and at infinity."""

import itertools

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

FUNCTIONS = ["arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"]
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 1e-300, 1e300, np.inf, -np.inf, np.nan, 1e-160, 1e20,
    1 + 1e-10, 1 - 1e-10,
]  # fmt: skip


def parts(z):
    return np.stack([np.asarray(z).real, np.asarray(z).imag])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_parts(name):
    rng = np.random.default_rng(0)

    def around(centre, low, high, n):
        size = 10.0 ** rng.uniform(low, high, n)
        return centre + (rng.normal(size=n) + 1j * rng.normal(size=n)) * size

    z = np.concatenate([around(0, -8, 8, 5000), *[around(c, -12, 0, 1000) for c in (1, -1, 1j)]])
    expected = getattr(np, name)(z)
    with jitney.enable_x64(True):
        compiled = jitney.jit(getattr(jnp, name))
        assert "_call " not in compiled.lower(z).as_text("kernels")
        found, narrow = compiled(z), compiled(z.astype(np.complex64))
    np.testing.assert_allclose(parts(found), parts(expected), rtol=2e-15)
    exact = getattr(np, name)(z.astype(np.complex64).astype(np.complex128))
    assert narrow.dtype == np.complex64
    np.testing.assert_allclose(parts(narrow), parts(exact), rtol=1e-7, atol=1e-45)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_cuts_zeros_infinities_and_nan(name):
    z = np.array([complex(a, b) for a, b in itertools.product(SPECIAL, SPECIAL)])
    expected = parts(getattr(np, name)(z))
    with jitney.enable_x64(True):
        found = parts(jitney.jit(getattr(jnp, name))(z))
    given = ~np.isnan(z)
    np.testing.assert_allclose(found[:, given], expected[:, given], rtol=1e-14)
    # Of NaN, C's standard leaves signs and some parts open: libraries differ in them.
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))
    both = np.isfinite(found) & np.isfinite(expected)
    np.testing.assert_allclose(found[both], expected[both], rtol=1e-14)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))
