"""64-bit types: what is computed from integers of one type beside another, and dtypes of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.scipy.stats
import numpy as np
import pytest

import jitney
import jitney.scipy.stats

A = np.arange(12.0).reshape(3, 4)
SQUARE = A[:, :3] @ A[:, :3].T + 5 * np.eye(3)

# (library, array, index) -> array
INDEXED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "roll": lambda j, x, k: j.numpy.roll(x, k, axis=0),
    "roll of two axes": lambda j, x, k: j.numpy.roll(x, (k, 1), axis=(0, 1)),
    "roll of all": lambda j, x, k: j.numpy.roll(x, k),
    "dynamic_slice": lambda j, x, k: j.lax.dynamic_slice(x, (k, k), (2, 2)),
    "dynamic_slice_in_dim": lambda j, x, k: j.lax.dynamic_slice_in_dim(x, k, 2, 1),
    "dynamic_index_in_dim": lambda j, x, k: j.lax.dynamic_index_in_dim(x, k, 1),
    "row": lambda j, x, k: x[k],
    "element": lambda j, x, k: x[0, k],
    "two indices": lambda j, x, k: x[j.numpy.array([0, 1], np.int32), k],
    "set": lambda j, x, k: x.at[k, 0].set(1),
    "take": lambda j, x, k: j.numpy.take(x, k, axis=0),
    "insert": lambda j, x, k: j.numpy.insert(x, k, 1.0, axis=0),
    "switch": lambda j, x, k: j.lax.switch(k, [lambda: x, lambda: x + 1]),
}


@pytest.mark.parametrize("name", INDEXED)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
def test_traced_indices_of_any_type(name: str, dtype: str) -> None:
    results = []
    for j in (jitney, jax):
        with j.enable_x64(True):
            x, k = j.numpy.asarray(A), j.numpy.asarray(1, dtype)
            results.append(np.asarray(INDEXED[name](j, x, k) if j is jax else j.jit(
                lambda x, k, j=j: INDEXED[name](j, x, k))(x, k)))  # fmt: skip
    assert results[0].dtype == results[1].dtype
    np.testing.assert_array_equal(*results)


COUNTED: dict[str, Callable[[Any], Any]] = {
    "matrix_rank": lambda j: j.numpy.linalg.matrix_rank(SQUARE),
    "matrix_rank of a batch": lambda j: j.numpy.linalg.matrix_rank(np.stack([SQUARE, SQUARE])),
    "matrix_rank of a vector": lambda j: j.numpy.linalg.matrix_rank(SQUARE[0]),
    "matrix_rank of float32": lambda j: j.numpy.linalg.matrix_rank(SQUARE.astype("float32")),
    "lstsq": lambda j: j.numpy.linalg.lstsq(SQUARE, SQUARE)[2],
    "mode": lambda j: j.scipy.stats.mode(j.numpy.arange(5.0)).count,
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("wide", [False, True])
def test_counts_are_of_the_default_integer(name: str, wide: bool) -> None:
    found = []
    for j in (jitney, jax):
        with j.enable_x64(wide):
            found.append(np.asarray(COUNTED[name](j)))
    assert found[0].dtype == found[1].dtype
    np.testing.assert_array_equal(*found)
