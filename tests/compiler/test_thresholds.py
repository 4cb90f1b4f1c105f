"""Both sides of the sizes at which the compiler and the runtime take other ways.

With low thresholds small programs take them all (`at_small_thresholds.py`, in processes of their own);
some programs are of the true sizes.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from tests.helpers.oracle import oracle

import jitney
import jitney.numpy as jnp
from jitney.core.util import thresholds

ROOT = pathlib.Path(__file__).parents[2]
PARTS = (
    "test_operations",
    "test_contractions",
    "not test_operations and not test_contractions",
)


@pytest.mark.slow  # runs a file of tests in a process, a third in each
@pytest.mark.parametrize("part", PARTS)
def test_small_programs_by_the_ways_of_large_ones(part):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-k",
        part,
        *(["--record-oracle"] if oracle.recording else []),
    ]
    # Ways of the planner and of the runtime are looked at, not machine code: at level O0, too.
    environment = {**os.environ, thresholds.VARIABLE: "1", "JITNEY_OPTIMIZATION_LEVEL": "O0"}
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    told = subprocess.run(
        [*command, "-o", "addopts=", "tests/compiler/at_small_thresholds.py"],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout[-6000:] + told.stderr[-2000:]


def values(n, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(-1000, 1000, n)
    return (x + 1j * x[::-1] if np.dtype(dtype).kind == "c" else x).astype(dtype)


def around(size):
    return [size - 1, size, size + 1]


def both_ways(f, *xs):
    """Returns what `f` gives compiled and eagerly."""
    return jitney.jit(f)(*xs), f(*map(jnp.asarray, xs))


# Runs by insertion, merged runs, digits, parts, parts that threads share: `sort.h` and the cost model.
SORTED = [
    *around(16),
    *around(160),
    *around(2048),
    *around(1 << 15),
    *around(1 << 16),
    *around(1 << 17),
]


@pytest.mark.parametrize("dtype", ["float32", "int16", "float64", "complex64"])
@pytest.mark.parametrize("n", SORTED)
def test_sorts_of_true_sizes(n, dtype):
    with jitney.enable_x64(True):
        x = values(n, dtype)
        want = np.sort(x), np.argsort(x, stable=True), np.sort(x)[: n // 2]
        for got in both_ways(lambda x: (jnp.sort(x), jnp.argsort(x), jnp.sort(x)[: n // 2]), x):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_array_equal(a, b)
        if dtype != "complex64":
            for top, where in both_ways(lambda x: jitney.lax.top_k(x, 5), x):
                np.testing.assert_array_equal(top, np.sort(x)[::-1][:5])
                np.testing.assert_array_equal(where, np.argsort(-x.astype(float), stable=True)[:5])


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(
    "n", [*around(1 << 15), *around(1 << 17), (1 << 19) - 1, 1 << 19, (1 << 19) + 2]
)
def test_vectors_of_true_sizes(n, dtype):
    x = values(n, dtype)
    wide = x.astype(np.complex128 if dtype == "complex64" else np.float64)

    def f(x):
        return (
            x + 1.0,
            x * x,
            jnp.where(x.real > 0, x, -x),
            jnp.sum(x),
            jnp.cumsum(x)[-1],
            jnp.flip(x)[::2],
        )

    want = (
        wide + 1,
        wide * wide,
        np.where(wide.real > 0, wide, -wide),
        wide.sum(),
        wide.sum(),
        wide[::-1][::2],
    )
    for got in both_ways(f, x):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-5 * n)


@pytest.mark.parametrize("n", [(1 << 15) - 1, 1 << 15, 1 << 19, (1 << 19) + 6])
def test_transforms_of_true_sizes(n):
    x = values(n, "complex64")
    for got in both_ways(jnp.fft.fft, x):
        want = np.fft.fft(x.astype(complex))
        assert np.abs(got - want).max() < 1e-6 * np.abs(want).max()


MATRICES = [
    (2, 1 << 16),
    (1 << 16, 2),
    (255, 1030),
    (1030, 255),
    (511, 513),
    (1, 1 << 18),
    (1 << 18, 1),
]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("shape", MATRICES, ids=str)
def test_matrices_of_true_sizes(shape, dtype):
    x = values(shape, dtype) % 7

    def f(x):
        return (
            x.sum(0), x.sum(1), x.max(), jnp.argmax(x, 1), x - x.sum(1, keepdims=True), x.T + 1,
            x[jnp.arange(x.shape[0])[::-1]], jnp.zeros_like(x).at[jnp.arange(x.shape[0]) // 2].add(x),
        )  # fmt: skip

    added = np.zeros_like(x)
    np.add.at(added, np.arange(shape[0]) // 2, x)
    want = (
        x.sum(0),
        x.sum(1),
        x.max(),
        np.argmax(x, 1),
        x - x.sum(1, keepdims=True),
        x.T + 1,
        x[::-1],
        added,
    )
    for got in both_ways(f, x):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("window", [(3, 3), (5, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("channels", [1, 16, 40])
def test_convolutions_of_true_sizes(channels, window):
    """Rows longer than those of native panels, and filters larger than what it keeps at a time."""
    x, w = values((1, channels, 37, 140)) % 5, values((33, channels, *window), seed=1) % 5
    padded = np.pad(x, [(0, 0), (0, 0), *[(n // 2, n // 2) for n in window]]).astype(float)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window, (2, 3))
    want = np.einsum("bcijuv,fcuv->bfij", windows, w.astype(float), optimize=True)
    for got in both_ways(lambda x, w: jitney.lax.conv(x, w, (1, 1), "SAME"), x, w):
        np.testing.assert_array_equal(got, want.astype(np.float32))
