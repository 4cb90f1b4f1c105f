"""Transposed arrays, whose lanes are loaded from transposed blocks: the bits of the interpreter."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest
from tests.compiler.codegen.test_strided import DTYPES, check_bits, numbers
from tests.compiler.running import TARGETS, code_for

import jitney
import jitney.numpy as jnp
from jitney.runtime.native import _native

SHAPES = [(64, 64), (65, 127), (100, 33), (300, 17), (16, 257)]


def _views(x: Any) -> list[Any]:
    found = [x.T, x.T | x.T if x.dtype == bool else x.T + x.dtype.type(1)]
    found += [jnp.rot90(x), jnp.rot90(x, 3), x[::-1].T, x[:, ::-1].T]
    return found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_views(target: str, dtype: str) -> None:
    with jitney.enable_x64(True), code_for(target):
        for shape in SHAPES:
            check_bits(_views, numbers(shape[0] * shape[1], dtype).reshape(shape))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "complex64"])
def test_within_other_code(target: str, dtype: str) -> None:
    """Batches, several transposed operands, rows beside columns, conversions, parts of arrays."""

    def f(x: Any) -> list[Any]:
        y = x.reshape(3, 40, 70)
        z = x[: 70 * 70].reshape(70, 70)
        return [
            y.transpose(0, 2, 1) * y[:, :, :1].transpose(0, 2, 1)[:, :1],
            y.transpose(2, 1, 0),
            y.transpose(1, 2, 0) + y.transpose(1, 2, 0),
            z.T + z,
            z.T - z[::-1].T,
            (z.T).real.astype(jnp.float32),
            jnp.concatenate([z[:35].T, z[35:].T + 1], 1),
            jnp.where(z.T.real > z.real, z, z.T),
            z[2:60, 3:].T[5:],
        ]

    with code_for(target):
        check_bits(f, numbers(3 * 40 * 70, dtype))


def test_loads_are_made_from_blocks() -> None:
    """By the estimates: where extents are large, and neither where lanes lie side by side anyway."""
    for dtype in ("int8", "float16", "float32", "complex64"):
        x = jnp.zeros((100, 200), dtype)
        text = jitney.jit(lambda x: x.T + 1).lower(x).as_text("llvm")
        assert "@jitney.transpose_" in text
        assert "gather" not in text
        text = jitney.jit(lambda x: x + x).lower(x).as_text("llvm")
        assert "@jitney.transpose_" not in text
    text = jitney.jit(lambda x: x.T + 1).lower(jnp.zeros((5, 7))).as_text("llvm")
    assert "@jitney.transpose_" not in text


def test_threads_divide_them() -> None:
    x = np.arange(1500 * 1100, dtype=np.int32).reshape(1500, 1100)
    np.testing.assert_array_equal(jitney.jit(lambda x: x.T * 3 + 1)(x), x.T * 3 + 1)
    z = x[:900].astype(np.complex64)
    np.testing.assert_array_equal(jitney.jit(lambda z: jnp.rot90(z) * 2)(z), np.rot90(z) * 2)


@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128])
def test_the_function_that_transposes(bits: int) -> None:
    """All rests of rows and columns, either direction; nothing beside the block is written."""
    size = bits // 8
    call = ctypes.CFUNCTYPE(
        None,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_int64,
    )(_native.transpose_addresses()[bits])
    source = np.random.default_rng(0).integers(0, 256, (40, 50, size), np.uint8)
    for rows in (1, 2, 3, 15, 16, 17, 33):
        for columns in (1, 4, 7, 16, 31):
            for is_reversed in (False, True):
                target = np.full((50, 40, size), 7, np.uint8)
                wanted = target.copy()
                block = source[:rows, :columns].transpose(1, 0, 2)
                wanted[3 : 3 + columns, 2 : 2 + rows] = block[::-1] if is_reversed else block
                step = -40 * size if is_reversed else 40 * size
                first = 3 + columns - 1 if is_reversed else 3
                at = target.ctypes.data + (first * 40 + 2) * size
                call(at, step, source.ctypes.data, 50 * size, rows, columns)
                np.testing.assert_array_equal(target, wanted)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64"])
def test_threads_take_whole_blocks(dtype: str) -> None:
    text = jitney.jit(lambda x: x.T + 1).lower(jnp.zeros((1000, 1500), dtype)).as_text("llvm")
    (grain,) = re.findall(r"@jitney.parallel_for\(.*i64 1500, i64 (\d+)\)", text)
    assert int(grain) % 32 == 0
