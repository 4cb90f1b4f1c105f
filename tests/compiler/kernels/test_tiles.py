"""Contractions in register tiles: their text, their values, and that tiles change no bits."""

import numpy as np
import pytest
from tests.compiler.running import TARGETS, code_for

import jitney
import jitney.numpy as jnp
from jitney.compiler.codegen.kernel_costs import lanes_hint
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import interpret
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.schedule import collapse, schedule
from jitney.compiler.kernels.text import print_kernel
from jitney.compiler.kernels.tiles import tiled
from jitney.compiler.kernels.verify import verify

RNG = np.random.default_rng(0)


def contraction(batch, m, n, k):
    """The kernel of `batch` products of an [m, k] with a [k, n]."""
    return parse_kernel(
        "kernel k(p0: float32, p1: float32, p2: float32) "
        f"for i < {batch}, for j < {m}, for k < {n}, reduce l < {k} {{\n"
        f"  %0 = load p0[i*{m * k} + j*{k} + l] : float32\n"
        f"  %1 = load p1[i*{k * n} + k + l*{n}] : float32\n"
        f"  reduce add p2[i*{m * n} + j*{n} + k] <- %0 * %1\n"
        "}"
    )


def test_text():
    (kernel,) = tiled(contraction(2, 8, 64, 64))
    text = """\
kernel k(p0: float32, p1: float32, p2: float32) for i < 4, for j < 64, reduce k < 64 {
  %0 = index i : int64
  %1 = int64 2
  %2 = div %0, %1 : int64
  %3 = load p0[i*256 + k] : float32
  %4 = load p1[j + k*64 + %2*4096] : float32
  %5 = load p0[i*256 + k + 64] : float32
  %6 = load p0[i*256 + k + 128] : float32
  %7 = load p0[i*256 + k + 192] : float32
  reduce add p2[i*256 + j] <- %3 * %4
  reduce add p2[i*256 + j + 64] <- %5 * %4
  reduce add p2[i*256 + j + 128] <- %6 * %4
  reduce add p2[i*256 + j + 192] <- %7 * %4
}"""
    assert print_kernel(collapse(kernel), "k") == text


@pytest.mark.parametrize(
    "sizes", [(1, 64, 64, 64), (3, 41, 70, 33), (5, 16, 48, 100), (2, 3, 64, 999)]
)
def test_parts_are_the_whole(sizes):
    batch, m, n, k = sizes
    kernel = contraction(*sizes)
    x, y = RNG.normal(size=(2, batch * max(m, n) * k)).astype(np.float32)
    want, found = np.zeros((2, batch * m * n), np.float32)
    interpret.run(kernel, [x, y, want])
    parts = tiled(kernel)
    assert parts
    for part in parts:
        verify(part)
        assert parse_kernel(print_kernel(part)).extents == part.extents
        interpret.run(part, [x, y, found])
    np.testing.assert_array_equal(found, want)


def test_what_has_no_rows_to_share_is_left():
    assert tiled(contraction(1, 4, 4, 4)) == []  # too little work
    kernel = parse_kernel(
        "kernel k(p0: float32, p1: float32) for i < 512, reduce j < 512 {\n"
        "  %0 = load p0[i*512 + j] : float32\n"
        "  reduce add p1[i] <- %0 * %0\n"
        "}"
    )
    assert tiled(kernel) == []


EINSUMS = {
    "ij,jk->ik": ((130, 140), (140, 150)),
    "ij,kj->ik": ((130, 140), (150, 140)),  # transposed first
    "bij,bjk->bik": ((9, 70, 66), (9, 66, 75)),
    "hqd,hkd->hqk": ((4, 100, 64), (4, 90, 64)),
    "ij,jk->ik by rows": ((3000, 400), (400, 3)),
    "ij,kj->ik by rows": ((3000, 400), (2, 400)),
    "ij,jk->ik flat": ((515, 9), (9, 700)),
    "bji,bjk->bik": ((3, 130, 140), (3, 130, 150)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EINSUMS)
def test_products(name, dtype, target):
    equation = name.split()[0]
    with jitney.enable_x64(), code_for(target):
        x, y = (RNG.normal(size=shape).astype(dtype) for shape in EINSUMS[name])
        found = np.asarray(jitney.jit(lambda x, y: jnp.einsum(equation, x, y))(x, y))
        exact = np.einsum(equation, x.astype(np.float64), y.astype(np.float64))
        size = np.einsum(equation, np.abs(x), np.abs(y)).astype(np.float64)
        assert found.dtype == dtype
        assert np.all(np.abs(found - exact) <= 40 * np.finfo(dtype).eps * size)


def test_special_values_stay_in_their_rows_and_columns():
    x, y = RNG.normal(size=(2, 130, 130)).astype(np.float32)
    x[7, 3], y[5, 99] = np.nan, np.inf
    found = np.asarray(jitney.jit(jnp.matmul)(x, y))
    assert np.isnan(found[7]).all()
    assert not np.isfinite(found[:, 99]).any()
    rest = np.delete(np.delete(found, 7, 0), 99, 1)
    assert np.isfinite(rest).all()


@pytest.mark.parametrize("sizes", [(1, 64, 64, 64), (2, 8, 4096, 64), (1, 4096, 32, 64)])
def test_sums_of_a_tile_are_few(sizes):
    """So they stay in registers: more rows have fewer vectors each."""
    for kernel in tiled(contraction(*sizes)):
        vectors = lanes_hint(kernel, schedule(kernel))
        assert vectors & (vectors - 1) == 0
        assert len(kernel.outputs) * vectors <= max(COSTS.tile_sums, len(kernel.outputs))
