"""Complex tangents and `expm1` at zeros, infinities and NaN, part by part."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

INF, NAN = np.inf, np.nan
PARTS = [0.0, -0.0, 1.0, -2.0, 30.0, -1e30, INF, -INF, NAN]
# Operands and results by the standard of the array API, each as (real part, imaginary part).
SPECIAL = {
    "tanh": [
        ((0.0, INF), (0.0, NAN)), ((-0.0, NAN), (-0.0, NAN)), ((1.0, INF), (NAN, NAN)),
        ((30.0, INF), (NAN, NAN)), ((-1e30, NAN), (NAN, NAN)), ((INF, INF), (1.0, 0.0)),
        ((-INF, 2.0), (-1.0, -0.0)), ((INF, 2.0), (1.0, -0.0)), ((INF, 1.0), (1.0, 0.0)),
        ((NAN, 0.0), (NAN, 0.0)), ((NAN, -0.0), (NAN, -0.0)), ((NAN, 1.0), (NAN, NAN)),
    ],
    "tan": [
        ((INF, 0.0), (NAN, 0.0)), ((NAN, -0.0), (NAN, -0.0)), ((0.0, NAN), (0.0, NAN)),
        ((INF, 30.0), (NAN, NAN)), ((2.0, INF), (-0.0, 1.0)), ((1.0, -INF), (0.0, -1.0)),
    ],
    "expm1": [
        ((0.0, 0.0), (0.0, 0.0)), ((-0.0, 0.0), (0.0, 0.0)), ((-0.0, -0.0), (0.0, -0.0)),
        ((-INF, INF), (-1.0, 0.0)), ((-INF, NAN), (-1.0, 0.0)), ((INF, 0.0), (INF, 0.0)),
        ((NAN, 0.0), (NAN, 0.0)), ((-INF, 1.0), (-1.0, 0.0)),
    ],
}  # fmt: skip


def both_parts(z: Any) -> np.ndarray:
    return np.stack([np.asarray(z).real, np.asarray(z).imag])


def assert_alike(one: np.ndarray, other: np.ndarray) -> None:
    """Numbers agree up to rounding, and in the signs of zeros; NaN have none."""
    np.testing.assert_allclose(one, other, rtol=1e-6)
    given = ~np.isnan(one)
    np.testing.assert_array_equal(np.signbit(one[given]), np.signbit(other[given]))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", SPECIAL)
def test_parts(name: str, dtype: Any, compiled: bool):
    z = np.array([complex(*z) for z, _ in SPECIAL[name]], dtype)
    expected = np.array([parts for _, parts in SPECIAL[name]]).T
    with jitney.enable_x64(True):
        function = getattr(jnp, name)
        found = (jitney.jit(function) if compiled else function)(jnp.asarray(z))
    assert found.dtype == dtype
    assert_alike(both_parts(found).astype(float), expected)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["tanh", "tan"])
def test_compiled_and_eager_results_have_the_same_signs(name: str, dtype: Any):
    z = np.array([complex(x, y) for x, y in itertools.product(PARTS, PARTS)], dtype)
    with jitney.enable_x64(True):
        function = getattr(jnp, name)
        compiled = both_parts(jitney.jit(function)(z))
        single = [both_parts(function(jnp.asarray(v))) for v in z]
    assert_alike(np.stack(single, axis=1), compiled)
