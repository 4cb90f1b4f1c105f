"""Products of matrices: small, batched, skinny, of narrow numbers, and what surrounds them in nets."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case


def _operands(side: Side, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [side.jnp.asarray(rng.normal(size=shape).astype(np.float32)) for shape in shapes]


def _product(side: Side, x: tuple[int, ...], y: tuple[int, ...], dtype: str = "float32") -> Call:
    operands = [v.astype(dtype) for v in _operands(side, x, y)]
    f = side.jax.jit(side.jnp.matmul)
    return lambda: f(*operands)


@case("matmul_8", "product of 8x8 matrices", 3.0)
def _matmul_8(side: Side) -> Call:
    return _product(side, (8, 8), (8, 8))


@case("matmul_16", "product of 16x16 matrices", 3.0)
def _matmul_16(side: Side) -> Call:
    return _product(side, (16, 16), (16, 16))


@case("matmul_32", "product of 32x32 matrices", 3.0)
def _matmul_32(side: Side) -> Call:
    return _product(side, (32, 32), (32, 32))


@case("matmul_64", "product of 64x64 matrices", 3.0)
def _matmul_64(side: Side) -> Call:
    return _product(side, (64, 64), (64, 64))


@case("matmul_odd", "product of 37x53 by 53x41", 3.0)
def _matmul_odd(side: Side) -> Call:
    return _product(side, (37, 53), (53, 41))


@case("matmul_batched", "512 products of 64x64 matrices", 3.0, rtol=1e-3, atol=1e-4)
def _matmul_batched(side: Side) -> Call:
    return _product(side, (512, 64, 64), (512, 64, 64))


@case("matmul_flat", "1024x8 by 8x1024", 1.2)
def _matmul_flat(side: Side) -> Call:
    return _product(side, (1024, 8), (8, 1024))


@case("matmul_tall", "4096x4096 by 4096x4", 1.2, rtol=1e-3, atol=1e-3)
def _matmul_tall(side: Side) -> Call:
    return _product(side, (4096, 4096), (4096, 4))


@case("matmul_float16", "float16, 1024^3", rtol=1e-2, atol=1e-1)
def _matmul_float16(side: Side) -> Call:
    return _product(side, (1024, 1024), (1024, 1024), "float16")


@case("matmul_int8", "int8 to int32, 1024^3", 2.0)
def _matmul_int8(side: Side) -> Call:
    rng = np.random.default_rng(0)
    x, y = [side.jnp.asarray(rng.integers(-128, 128, (1024, 1024), np.int8)) for _ in range(2)]
    f = side.jax.jit(lambda x, y: side.lax.dot(x, y, preferred_element_type=side.jnp.int32))
    return lambda: f(x, y)


@case("matmul_bfloat16", "bfloat16, 1024^3", 2.0, rtol=1e-2, atol=1e-1)
def _matmul_bfloat16(side: Side) -> Call:
    x, y = [v.astype(side.jnp.bfloat16) for v in _operands(side, (1024, 1024), (1024, 1024))]
    f = side.jax.jit(side.jnp.matmul)
    return lambda: f(x, y)


@case("matmul_1024", "product of 1024x1024 matrices", rtol=1e-3, atol=1e-3)
def _matmul_1024(side: Side) -> Call:
    return _product(side, (1024, 1024), (1024, 1024))


@case("dense_gelu", "gelu(x @ w + b), 1024^3", 1.1, rtol=1e-3, atol=1e-3)
def _dense_gelu(side: Side) -> Call:
    x, w, b = _operands(side, (1024, 1024), (1024, 1024), (1024,))
    f = side.jax.jit(lambda x, w, b: side.nn.gelu(x @ w + b))
    return lambda: f(x, w, b)


@case("attention", "attention, 8 heads of 512x64", 1.2, rtol=1e-3, atol=1e-3)
def _attention(side: Side) -> Call:
    q, k, v = _operands(side, *[(8, 512, 64)] * 3)

    def f(q: Any, k: Any, v: Any) -> Any:
        logits = side.jnp.einsum("hqd,hkd->hqk", q, k) / 8.0
        return side.jnp.einsum("hqk,hkd->hqd", side.nn.softmax(logits, axis=-1), v)

    g = side.jax.jit(f)
    return lambda: g(q, k, v)
