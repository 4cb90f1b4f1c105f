"""Meanings of order that take short ways: the few largest of many, bisection."""

from __future__ import annotations

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler import tile_products
from jitney.compiler.reference import order


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8", "uint16"])
def test_the_few_largest_of_many_are_those_of_sorting(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = (rng.normal(size=20_003) * 100).astype(dtype)  # many equal ones if narrow
    if x.dtype.kind == "f":
        x[[5, 17_000]] = np.nan
        x[[7, 19_999]] = np.inf
        x[[3, 20_002]] = -0.0
    for k in (1, 4):
        values, places = order.top_k(x, k, 0)
        some = x.reshape(1, -1)  # another way through the same meaning
        want_values, want_places = order.top_k(some, k, 1)
        np.testing.assert_array_equal(places, want_places[0])
        np.testing.assert_array_equal(values, want_values[0])


def test_the_few_largest_where_all_are_equal() -> None:
    values, places = order.top_k(np.zeros(10_000, np.float32), 2, 0)
    np.testing.assert_array_equal(places, [0, 1])
    np.testing.assert_array_equal(values, [0, 0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_bisection_finds_what_numpy_finds(dtype: str, side: str) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 4, 7, 8, 9, 31, 100):
        a = np.sort((rng.normal(size=n) * 3).astype(dtype))
        v = (rng.normal(size=200) * 3).astype(dtype)
        v[: min(n, 50)] = a[:50]
        if a.dtype.kind == "f":
            v[-4:] = [np.nan, np.inf, -np.inf, -0.0]
            a[-1:] = np.nan
        found = jax.jit(lambda a, v: jnp.searchsorted(a, v, side=side))(a, v)
        np.testing.assert_array_equal(found, np.searchsorted(a, v, side))


def test_a_gather_by_several_indices_is_one_kernel() -> None:
    m, i = jnp.zeros((30, 40)), jnp.zeros(100, jnp.int32)
    text = jax.jit(lambda m, i, j: m[i, j]).lower(m, i, i).as_text("kernels")
    assert text.count("launch") == 1
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 40)).astype(np.float32)
    rows, columns = rng.integers(-35, 35, 500), rng.integers(-50, 50, 500)
    found = jax.jit(lambda m, i, j: m.at[i, j].get(mode="fill", fill_value=7.0))(x, rows, columns)
    inside = (rows >= -30) & (rows < 30) & (columns >= -40) & (columns < 40)
    want = np.where(inside, x[rows % 30, columns % 40], 7.0)
    np.testing.assert_array_equal(found, want.astype(np.float32))


def test_bisection_is_one_kernel_over_what_is_sought() -> None:
    a, v = jnp.arange(1000.0), jnp.zeros(5000)
    text = jax.jit(jnp.searchsorted).lower(a, v).as_text("kernels")
    assert text.count("for i < 5000") == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_large_products_of_half_precision_are_carried_in_float32(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x, y = (jnp.asarray(rng.normal(size=(3, 40, 50)), dtype) for _ in range(2))
    f = jax.jit(lambda x, y: jnp.einsum("bij,bkj->bki", x, y))
    text = f.lower(x, y).as_text("kernels")
    if tile_products.is_native(x.dtype, y.dtype):  # by instructions whose sums are float32
        assert "tiles.product" in text and "kernel k1(p0: float32, p1: bfloat16)" in text
    else:
        assert "gemm.float32" in text
    exact = np.einsum("bij,bkj->bki", np.asarray(x, np.float64), np.asarray(y, np.float64))
    found = f(x, y)
    assert found.dtype == dtype
    unit = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(np.asarray(found, np.float64), exact, rtol=unit, atol=1e-4)


def test_chains_of_two_results_keep_what_only_their_kernel_reads_in_registers() -> None:
    def f(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        for k in range(20):
            x = x + y
            y = (y * (k + 3)) ^ x
        return x, y

    x = jnp.arange(1000)
    text = jax.jit(f).lower(x, x).as_text("kernels")
    assert text.count("  store ") <= 2 * text.count("  launch ") <= 12
    for found, want in zip(jax.jit(f)(x, x), f(np.asarray(x), np.asarray(x)), strict=True):
        np.testing.assert_array_equal(found, want)


def test_large_eager_arrays_have_the_results_of_small_ones() -> None:
    n = 120_000
    rng = np.random.default_rng(0)
    x = rng.integers(-5, 6, n).astype(np.int32)
    small = jnp.concatenate(
        [jnp.asarray(part) ** jnp.asarray(abs(part)) for part in np.split(x, 4)]
    )
    np.testing.assert_array_equal(jnp.asarray(x) ** jnp.asarray(abs(x)), small)
    v, a = rng.normal(size=n).astype(np.float32), jnp.linspace(-2, 2, 50)
    np.testing.assert_array_equal(jnp.searchsorted(a, v), np.searchsorted(np.asarray(a), v))
    counts, edges = jnp.histogram(v, bins=20)
    np.testing.assert_array_equal(counts, np.histogram(v, np.asarray(edges))[0])
    key = jax.random.key(3)
    bits = jax.random.bits(key, (n,))
    np.testing.assert_array_equal(
        bits[:100], jax.jit(lambda k: jax.random.bits(k, (n,)))(key)[:100]
    )
    np.testing.assert_array_equal(bits[:100], jax.random.bits(key, (100,)))
    parts = np.concatenate([jax.lax.bessel_i1e(part) for part in np.split(v, 4)])
    np.testing.assert_allclose(jax.lax.bessel_i1e(v), parts, rtol=1e-5)


def test_neighbouring_booleans_are_read_as_pairs() -> None:
    x = np.random.default_rng(0).integers(0, 2, 2002).astype(bool)
    found = jax.jit(lambda x: (~x[::2], x[::2] & ~x[1::2]))(x)
    np.testing.assert_array_equal(np.asarray(found[0]).view(np.uint8), ~x[::2])
    np.testing.assert_array_equal(found[1], x[::2] & ~x[1::2])
