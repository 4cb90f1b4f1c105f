"""Reductions of all proportions: few long rows, many short ones, parts that threads share."""

import numpy as np
import pytest
from tests.compiler.running import TARGETS, code_for

import jitney
import jitney.numpy as jnp

SHAPES = {
    "all of a vector": ((300_001,), 0),
    "few columns": ((50_003, 3), 0),
    "columns": ((20_000, 24), 0),
    "many columns": ((300, 1000), 0),
    "few rows": ((3, 100_007), 1),
    "short rows": ((30_000, 5), 1),
    "rows": ((3000, 100), 1),
    "outer of three": ((400, 60, 7), (0, 1)),
    "outer and inner of three": ((400, 9, 50), (0, 2)),
    "the middle of three": ((20, 900, 30), 1),
    "nothing": ((0, 24), 0),
    "of nothing": ((200_000, 0), 0),
}
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_sums(name, dtype):
    shape, axis = SHAPES[name]
    x = (RNG.normal(size=shape) * 10).astype(dtype)
    with jitney.enable_x64():
        found = np.asarray(jitney.jit(lambda x: (x + x).sum(axis, dtype=dtype))(x))
        if dtype == "int32":
            np.testing.assert_array_equal(found, (x + x).sum(axis))
            return
        exact = (x + x).astype(np.float64)
        # Each addition rounds once; halves are summed as f32, and rounded at the end.
        wide = np.float32 if dtype == "float16" else dtype
        bound = np.abs(exact).sum(axis) * np.finfo(wide).eps * 300 + 1e-300
        if dtype == "float16":
            bound = bound + np.abs(exact.sum(axis)) * np.finfo(dtype).eps
        assert found.dtype == np.dtype(dtype)
        assert np.all(np.abs(found - exact.sum(axis)) <= bound)


@pytest.mark.parametrize("name", [n for n in SHAPES if n != "nothing"])
def test_several_folds_at_once(name):
    shape, axis = SHAPES[name]
    x = RNG.normal(size=shape).astype(np.float32)

    def run(x):
        return x.max(axis), (x > 0.5).sum(axis), (x > 9).any(axis), x.min(axis)

    for a, b in zip(jitney.jit(run)(jnp.asarray(x)), run(x), strict=True):
        np.testing.assert_array_equal(a, b)


COLUMNS = [(1030, 600), (1041, 513), (3, 520, 515), (4096, 1024)]


@pytest.mark.parametrize("rows", [130, 500, 1000, 2000])
def test_rows_that_threads_share_are_not_divided(rows):
    """Four rows are summed at once; what counts is how many rows there are."""
    x = jnp.ones((rows, 4000))
    for f in (lambda x: x.sum(1), lambda x: x @ x[0]):
        text = jitney.jit(f).lower(x).as_text("kernels")
        assert ("arena 0 bytes" in text) == (rows > 512), text


@pytest.mark.parametrize("shape", COLUMNS)
def test_columns_are_summed_in_order(shape):
    """However many rows the columns go down together."""
    x = RNG.normal(size=shape).astype(np.float32)
    plain, scaled, most = jitney.jit(lambda x: (x.sum(-2), (x * 3).sum(-2), x.max(-2)))(x)
    want = np.zeros((2, *plain.shape), np.float32)
    for row in np.moveaxis(x, -2, 0):
        want += np.stack([row, row * 3])
    np.testing.assert_array_equal(plain, want[0])
    np.testing.assert_array_equal(scaled, want[1])
    np.testing.assert_array_equal(most, x.max(-2))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bfloat16", "bool"])
def test_columns_of_every_width(dtype, target):
    with code_for(target), jitney.enable_x64():
        x = jnp.asarray(RNG.integers(-9, 9, size=(1100, 1040)), dtype)
        most, least = jitney.jit(lambda x: (x.max(0), x.min(0)))(x)
    np.testing.assert_array_equal(most, np.asarray(x).max(0))
    np.testing.assert_array_equal(least, np.asarray(x).min(0))


def test_sums_do_not_depend_on_the_number_of_threads(tmp_path):
    """Parts are the same whatever the number of threads."""
    import os
    import subprocess
    import sys

    code = (
        "import numpy as np, jitney\n"
        "x = np.random.default_rng(1).normal(size=(50003, 20)).astype(np.float32)\n"
        "print([jitney.jit(lambda x: x.sum(a))(x).tolist() for a in (0, None)])"
    )
    results = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "JITNEY_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    ]
    assert results[0] == results[1]
    assert len(results[0]) > 100
