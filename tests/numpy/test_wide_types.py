"""64-bit types: what is computed from integers of one type beside another, and dtypes of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

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
    f = INDEXED[name]
    want = of_jax(lambda j: f(j, j.numpy.asarray(A), j.numpy.asarray(1, dtype)), x64=True)
    with jitney.enable_x64(True):
        x, k = jitney.numpy.asarray(A), jitney.numpy.asarray(1, dtype)
        got = np.asarray(jitney.jit(lambda x, k: f(jitney, x, k))(x, k))
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


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
    with jitney.enable_x64(wide):
        found = np.asarray(COUNTED[name](jitney))
    want = of_jax(COUNTED[name], x64=wide)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]

# (library, dtype) -> array
OF_INTEGERS: dict[str, Callable[[Any, str], Any]] = {
    "bincount": lambda j, d: j.numpy.bincount(j.numpy.asarray([0, 3, 6, 3], d)),
    "bincount of nothing": lambda j, d: j.numpy.bincount(j.numpy.asarray([], d)),
    "convolve": lambda j, d: j.numpy.convolve(
        j.numpy.ones(3, d), j.numpy.ones(2, f"uint{d[-2:]}" if d[0] == "i" and d != "int8" else d)
    ),
    "correlate": lambda j, d: j.numpy.correlate(j.numpy.ones(3, "int32"), j.numpy.ones(2, d)),
    "power": lambda j, d: j.numpy.power(j.numpy.asarray([2, 3], "int32"), j.numpy.asarray([3], d)),
    "sort_complex": lambda j, d: j.numpy.sort_complex(j.numpy.asarray([3, 1], d)),
    "diagflat": lambda j, d: j.numpy.diagflat(np.arange(3.0), j.numpy.asarray(1, d)),
    "tri": lambda j, d: j.numpy.tri(3, k=j.numpy.asarray(1, d)),
    "tri of a dtype": lambda j, d: j.numpy.tri(3, dtype=d),
    "tril_indices": lambda j, d: j.numpy.tril_indices(3, j.numpy.asarray(1, d))[0],
    "triu_indices": lambda j, d: j.numpy.triu_indices(3, np.asarray(1, d))[1],
    "bartlett": lambda j, d: j.numpy.bartlett(j.numpy.asarray(5, d)),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_arguments_of_any_integer_type(name: str, wide: bool) -> None:
    for dtype in INTEGERS if wide else [d for d in INTEGERS if not d.endswith("64")]:

        def result(j: Any, f: Any = OF_INTEGERS[name], dtype: str = dtype) -> Any:
            found = f(j, dtype)
            return np.dtype(found.dtype), found.weak_type, np.asarray(found).tolist()

        with jitney.enable_x64(wide):
            results = [result(jitney), of_jax(result, x64=wide)]
        if name == "bartlett":  # of other roundings
            results = [(*found[:2], np.round(found[2], 6).tolist()) for found in results]
        assert results[0] == results[1], dtype


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("size", [4.7, np.float32(3), True, np.array(True), np.array(2.5)])
def test_sizes_of_windows(name: str, size: Any) -> None:
    theirs = of_jax(lambda j: getattr(j.numpy, name)(size))
    np.testing.assert_allclose(getattr(jitney.numpy, name)(size), theirs, atol=1e-6)


OFFSETS = {
    "tri": lambda j, k: j.numpy.tri(3, k=k),
    "tril": lambda j, k: j.numpy.tril(np.ones((3, 3)), k),
    "triu": lambda j, k: j.numpy.triu(np.ones((3, 3)), k),
    "trace": lambda j, k: j.numpy.trace(np.ones((3, 3)), k),
    "eye": lambda j, k: j.numpy.eye(3, k=k),
    "diagflat": lambda j, k: j.numpy.diagflat(np.ones(3), k),
    "tril_indices": lambda j, k: j.numpy.tril_indices(3, k),
}


@pytest.mark.parametrize("name", OFFSETS)
@pytest.mark.parametrize("k", [1.5, np.float32(1), np.array(0.5), np.array([1]), "1"])
def test_offsets_of_diagonals_are_integers(name: str, k: Any) -> None:
    f = OFFSETS[name]
    theirs = of_jax(lambda j: f(j, k))
    assert theirs.is_a(TypeError) or theirs.is_a(ValueError)
    with pytest.raises((TypeError, ValueError)):
        f(jitney, k)
