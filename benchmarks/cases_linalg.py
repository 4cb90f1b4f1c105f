"""Products, contractions and factorisations of matrices, compiled and eager."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Side, case_each_way

Operands = tuple[Any, ...]  # a function, and what it is called with


def _normal(side: Side, *shape: int, dtype: Any = np.float32) -> Any:
    return side.jnp.asarray(np.random.default_rng(0).normal(size=shape).astype(np.float32), dtype)


def _regular(side: Side, *shape: int) -> Any:
    """Well-conditioned matrices."""
    n = shape[-1]
    return _normal(side, *shape) + 2 * np.sqrt(n).astype(np.float32) * side.jnp.eye(n)


def _positive(side: Side, *shape: int) -> Any:
    """Symmetric positive definite matrices."""
    x = _normal(side, *shape)
    return x @ side.jnp.swapaxes(x, -1, -2) + shape[-1] * side.jnp.eye(shape[-1])


_LOOSE = {"rtol": 1e-2, "atol": 1e-3}


@case_each_way("inv_64", "inv, 64x64", **_LOOSE)
def _inv(side: Side) -> Operands:
    return side.jnp.linalg.inv, _regular(side, 64, 64)


@case_each_way("solve_200", "solve, 200x200", **_LOOSE)
def _solve(side: Side) -> Operands:
    return side.jnp.linalg.solve, _regular(side, 200, 200), _normal(side, 200)


@case_each_way("triangular_solve_200", "triangular_solve, 200x200, 200 right sides", **_LOOSE)
def _triangular_solve(side: Side) -> Operands:
    solve = partial(side.lax.linalg.triangular_solve, left_side=True, lower=True)
    return solve, _regular(side, 200, 200), _normal(side, 200, 200)


@case_each_way("cholesky_500", "cholesky, 500x500", **_LOOSE)
def _cholesky(side: Side) -> Operands:
    return side.jnp.linalg.cholesky, _positive(side, 500, 500)


@case_each_way("solve_500", "solve, 500x500", **_LOOSE)
def _solve_large(side: Side) -> Operands:
    return side.jnp.linalg.solve, _regular(side, 500, 500), _normal(side, 500)


@case_each_way("solve_batch", "solve, 10,000 systems 3x3", **_LOOSE)
def _solve_batch(side: Side) -> Operands:
    return side.jnp.linalg.solve, _regular(side, 10_000, 3, 3), _normal(side, 10_000, 3, 1)


@case_each_way("inv_batch", "inv of 10,000 3x3", **_LOOSE)
def _inv_batch(side: Side) -> Operands:
    return side.jnp.linalg.inv, _regular(side, 10_000, 3, 3)


@case_each_way("qr_200", "qr, 200x200", check=lambda r: [abs(r[1])], **_LOOSE)
def _qr(side: Side) -> Operands:
    return side.jnp.linalg.qr, _regular(side, 200, 200)


@case_each_way("eigh_batch", "eigh of 1,000 8x8", check=lambda r: [r[0]], **_LOOSE)
def _eigh(side: Side) -> Operands:
    return side.jnp.linalg.eigh, _positive(side, 1000, 8, 8)


@case_each_way("eigh_200", "eigh, 200x200", check=lambda r: [r[0]], **_LOOSE)
def _eigh_large(side: Side) -> Operands:
    return side.jnp.linalg.eigh, _positive(side, 200, 200)


@case_each_way("svd_200", "svd, 200x200", check=lambda r: [r[1]], **_LOOSE)
def _svd_large(side: Side) -> Operands:
    return side.jnp.linalg.svd, _normal(side, 200, 200)


@case_each_way("svd_100", "svd, 100x100", check=lambda r: [r[1]], **_LOOSE)
def _svd(side: Side) -> Operands:
    return side.jnp.linalg.svd, _regular(side, 100, 100)


@case_each_way("slogdet_100", "slogdet, 100x100", **_LOOSE)
def _slogdet(side: Side) -> Operands:
    return side.jnp.linalg.slogdet, _regular(side, 100, 100)


@case_each_way("einsum_batch_last", 'einsum("ijk,ikl->jl"), 64x128x128', rtol=1e-2, atol=1e-2)
def _einsum_batch(side: Side) -> Operands:
    x, y = _normal(side, 64, 128, 128), _normal(side, 64, 128, 128)
    return lambda x, y: side.jnp.einsum("ijk,ikl->jl", x, y), x, y


@case_each_way("einsum_attention", 'einsum("bqhd,bkhd->bhqk"), 4x128x8x64', rtol=1e-2, atol=1e-2)
def _einsum_attention(side: Side) -> Operands:
    x, y = _normal(side, 4, 128, 8, 64), _normal(side, 4, 128, 8, 64)
    return lambda x, y: side.jnp.einsum("bqhd,bkhd->bhqk", x, y), x, y


@case_each_way("scan_products", "scan of 50 products 256x256", rtol=1e-2, atol=1e-2)
def _scan_products(side: Side) -> Operands:
    x, ws = _normal(side, 256, 256), _normal(side, 50, 256, 256) / 16
    return lambda x, ws: side.lax.scan(lambda c, w: (c @ w, None), x, ws)[0], x, ws


@case_each_way("product_bfloat16", "product of bfloat16, 1000x1000", rtol=2e-2, atol=1.0)
def _product_bfloat16(side: Side) -> Operands:
    x = _normal(side, 1000, 1000, dtype=side.jnp.bfloat16)
    return lambda x: (x @ x).astype(side.jnp.float32), x


@case_each_way("product_int8", "product of int8, 1000x1000")
def _product_int8(side: Side) -> Operands:
    x = side.jnp.asarray(np.random.default_rng(0).integers(-128, 128, (1000, 1000)).astype(np.int8))
    return lambda x: x @ x, x


@case_each_way("product_int32", "product of int32, 500x500")
def _product_int32(side: Side) -> Operands:
    x = side.jnp.asarray(np.random.default_rng(0).integers(-99, 99, (500, 500)).astype(np.int32))
    return lambda x: x @ x, x
