"""Results outside of a function's domain: the same NaN compiled as evaluated at once."""

from __future__ import annotations

import operator
import platform

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

FUNCTIONS = {
    "log": [-2.0, -np.inf], "log2": [-2.0], "log10": [-2.0], "log1p": [-2.0, -np.inf],
    "arccosh": [-2.0, 0.5], "arctanh": [-2.0, 1.5], "arcsin": [2.0, -2.0, np.inf],
    "arccos": [2.0, -2.0, np.inf], "sqrt": [-2.0, -np.inf], "sin": [np.inf, -np.inf],
    "cos": [np.inf, -np.inf], "tan": [np.inf, -np.inf], "lax.erf_inv": [2.0, -2.0, -np.inf],
    "lax.rsqrt": [-2.0, -np.inf], "lax.digamma": [-2.0, -np.inf],
}  # fmt: skip


@pytest.mark.skipif(platform.machine() != "x86_64", reason="signs of NaN are the processor's")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signs_of_nan(name: str, dtype: type) -> None:
    """`top_k` puts NaN first or last, by its sign."""
    with jitney.enable_x64(dtype is np.float64):
        x = jnp.asarray(np.array([*FUNCTIONS[name], 1.25, 1.0], dtype))
        f = operator.attrgetter(name)(jnp if "." not in name else jitney)
        at_once, compiled = np.asarray(f(x)), np.asarray(jitney.jit(f)(x))
        assert np.isnan(compiled[: len(FUNCTIONS[name])]).all()
        np.testing.assert_array_equal(np.signbit(compiled), np.signbit(at_once))
        k = len(x)
        order = jitney.jit(lambda x: jitney.lax.top_k(f(x), k)[1])(x)
        np.testing.assert_array_equal(order, jitney.lax.top_k(f(x), k)[1])
