"""Matrices with one NaN or infinity, and empty arrays, against JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import agree, of_jax

import jitney
import jitney.numpy as jtnp
import jitney.scipy.linalg

N = 7
FUNCTIONS = {
    "inv": lambda numpy, scipy, x, b: numpy.linalg.inv(x),
    "solve": lambda numpy, scipy, x, b: numpy.linalg.solve(x, b),
    "solve_triangular": lambda numpy, scipy, x, b: scipy.solve_triangular(x, b, lower=True),
    "cho_solve": lambda numpy, scipy, x, b: scipy.cho_solve((x, True), b),
    "slogdet": lambda numpy, scipy, x, b: numpy.linalg.slogdet(x)[1],
    "eigvalsh": lambda numpy, scipy, x, b: numpy.linalg.eigvalsh(x),
    "norm": lambda numpy, scipy, x, b: numpy.linalg.norm(x, 1, (-2, -1)),
    "matrix_power": lambda numpy, scipy, x, b: numpy.linalg.matrix_power(x, -2),
}


def systems(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Systems of which the first is finite, and each other has one bad element."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(2, N, N)) + 1j * rng.normal(size=(2, N, N))
    x, b = (parts if np.dtype(dtype).kind == "c" else parts.real).astype(dtype)
    bad = [np.nan, np.inf]
    if x.dtype.kind == "c":
        bad = [complex(np.nan, 1), complex(1, np.nan), complex(np.inf, 1), complex(1, -np.inf)]
    matrices, right = [x], [b]
    for place in ((0, 0), (0, N - 1), (N - 1, 0), (N - 1, N - 1), (3, 3)):
        for value in bad:
            for spoiled in (x.copy(), b.copy()):
                spoiled[place] = value
                is_matrix = len(matrices) % 2 == 1
                matrices.append(spoiled if is_matrix else x)
                right.append(b if is_matrix else spoiled)
    return np.stack(matrices), np.stack(right)


def agree_where_finite(one: Any, other: Any) -> bool:
    """Whether answers for `systems` agree; how far a NaN spreads, each kernel of BLAS decides."""
    return one.array.shape == other.array.shape and agree(one.array[0], other.array[0])


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_is_where_jax_has_it(name: str, dtype: Any):
    function = FUNCTIONS[name]
    x, b = systems(dtype)
    theirs = of_jax(
        lambda j: j.jit(lambda x, b: function(j.numpy, j.scipy.linalg, x, b))(x, b),
        agrees=agree_where_finite,
    ).array

    def ours(x: Any, b: Any) -> Any:
        return function(jtnp, jitney.scipy.linalg, x, b)

    for f in (ours, jitney.jit(ours)):
        found = np.asarray(f(jtnp.asarray(x), jtnp.asarray(b)))
        assert (found.shape, found.dtype) == (theirs.shape, theirs.dtype)
        assert not np.isfinite(found[~np.isfinite(theirs)]).any()
        assert np.isfinite(found[0]).all()
        alone = np.asarray(f(jtnp.asarray(x[5]), jtnp.asarray(b[5])))
        assert not np.isfinite(alone[~np.isfinite(theirs[5])]).any()


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
@pytest.mark.parametrize("period", [4, 2.5])
def test_empty_angles_have_the_dtype_of_others(dtype: Any, period: float):
    for shape in ((0,), (3, 0)):
        x = np.zeros(shape, dtype)
        found = jtnp.unwrap(x, period=period)
        assert found.dtype == of_jax(lambda j, x=x: j.numpy.unwrap(x, period=period).dtype)
        assert found.dtype == jtnp.unwrap(np.zeros((3,), dtype), period=period).dtype
