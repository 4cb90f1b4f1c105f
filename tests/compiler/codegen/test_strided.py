"""Loads and stores at constant strides, in both directions: the bits of the interpreter.

For all element types, numbers of lanes that are left over, and widths of vectors. Nothing else is read
or written.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest
from tests.compiler.running import TARGETS, code_for, run_program

import jitney
import jitney.numpy as jnp
from jitney import lax
from jitney.compiler import pipeline
from jitney.compiler.llvm import target as targets

DTYPES = (
    "bool", "int8", "uint16", "float16", "bfloat16", "float32", "int64", "complex64", "complex128",
)  # fmt: skip
STRIDES = (2, 3, 4, 5, 8, 9, -1, -2, -3, -4, -8)
SIZES = (1, 3, 16, 33, 64, 127)


def numbers(count: int, dtype: str) -> np.ndarray:
    """Whole numbers of any type."""
    x = np.random.default_rng(0).integers(-100, 100, (2, count))
    if dtype.startswith("complex"):
        return (x[0] + 1j * x[1]).astype(dtype)
    return x[0].astype(jnp.dtype(dtype))


def check_bits(f: Any, *args: np.ndarray) -> None:
    """Fails unless the compiled program of `f` has the interpreter's bits."""
    module = jitney.jit(f).lower(*args).compiler_ir()
    want = pipeline.interpret(module, list(args))
    got = run_program(pipeline.compile_module(module), list(args))
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        assert g.dtype == w.dtype
        assert g.tobytes() == w.tobytes(), f"result {i} of {len(want)}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_at_every_stride(target: str, dtype: str) -> None:
    def f(x: Any) -> list[Any]:
        found = []
        for stride in STRIDES:
            for n in SIZES:
                part = x[3 : 3 + abs(stride) * (n - 1) + 1 : abs(stride)]
                found.append(lax.rev(part, (0,)) if stride < 0 else part * 1)
        return found

    with jitney.enable_x64(True), code_for(target):
        check_bits(f, numbers(1100, dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "complex64"])
def test_rows_and_parts_at_strides(target: str, dtype: str) -> None:
    """Arithmetic of several places of one vector; reversed rows; sums; chosen rows."""

    def f(x: Any, i: Any) -> list[Any]:
        m = x.reshape(-1, 39)
        pixels = x[:390].reshape(-1, 3)
        fours = x[:400].reshape(-1, 4)
        return [
            m[::-1, ::-1] + m,
            m[::2, ::-3],
            pixels[:, 0] + pixels[:, 1] * pixels[:, 2],
            pixels[::-1, 2] - pixels[:, 0],
            fours[:, 1] + fours[:, 2],
            m[i] + m[i][:, ::-1],
            jnp.stack([m, m[:, ::-1]], 2),
            lax.pad(x[:50], x[0], [(1, 2, 2)]),
            jnp.concatenate([m[:, ::-1], m[:, ::4]], 1),
        ]

    with code_for(target):
        check_bits(f, numbers(39 * 12, dtype), np.array([3, 0, 7, 7, 2], np.int32))


@pytest.mark.parametrize("target", TARGETS)
def test_sums_of_reversed_and_strided_rows(target: str) -> None:
    def f(x: Any) -> list[Any]:
        return [(x[:, ::-1] * x).sum(1), x[:, ::2].sum(1), jnp.max(x[:, ::-3], 1)]

    x = np.random.default_rng(0).integers(-50, 50, (5, 333)).astype(np.float32)
    with code_for(target):  # whole numbers: exact in any order
        check_bits(f, x)


@pytest.mark.parametrize("target", TARGETS)
def test_updates_at_strides(target: str) -> None:
    """What lies between the places that are written stays."""

    def f(x: Any, y: Any) -> list[Any]:
        return [
            x.at[::2].set(y[:50]),
            x.at[1::3].set(y[:33]),
            x.at[::-1].set(y),
            x.at[90:10:-2].add(y[:40]),
        ]

    for dtype in ("int8", "float16", "float32", "complex64"):
        with code_for(target):
            check_bits(f, numbers(100, dtype), numbers(100, dtype)[::-1].copy())


class _Guarded:
    """Memory that ends at a page which cannot be read."""

    def __init__(self, nbytes: int) -> None:
        page = mmap.PAGESIZE
        self.whole = -(-nbytes // page) * page
        self.memory = mmap.mmap(-1, self.whole + 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for guard in (start, start + page + self.whole):
            assert protect(ctypes.c_void_p(guard), page, 0) == 0
        self.begin = np.frombuffer(self.memory, np.uint8, nbytes, page)
        self.end = np.frombuffer(self.memory, np.uint8, nbytes, page + self.whole - nbytes)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stride", [2, 3, 8, -1, -2, -7])
def test_nothing_outside_is_read(target: str, stride: int) -> None:
    for dtype, n in (("int8", 71), ("float32", 21), ("complex64", 13)):
        x = numbers(abs(stride) * (n - 1) + 1, dtype)
        module = jitney.jit(lambda x: x[::stride] * 1).lower(x).compiler_ir()
        with code_for(target):
            program = pipeline.compile_module(module)
            memory = _Guarded(x.nbytes)
            for place in (memory.begin, memory.end):
                operand = place.view(x.dtype)
                operand[...] = x
                (got,) = run_program(program, [operand])
                np.testing.assert_array_equal(got, x[::stride])


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex64"])
def test_no_lane_is_loaded_alone(dtype: str) -> None:
    x, i = jnp.zeros((50, 40), dtype), jnp.arange(49, -1, -7)
    functions: list[Any] = [
        lambda x: x[:, ::-1],
        lambda x: x[::3, ::2] * 2,
        lambda x: x[:, ::3] + 1,
        lambda x: x[::-1, ::-1] + x,
        lambda x: x[i],
    ]
    if dtype == "complex64" and targets.host().vector_bits < 512:
        del functions[2]  # parts six numbers apart span more than the vectors that are shuffled
    for f in functions:
        text = jitney.jit(f).lower(x).as_text("llvm")
        assert "gather" not in text
        assert "scatter" not in text
