"""Unrolled kernels compute the same, with shared operands loaded once."""

import numpy as np
import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.interpret import run
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.unroll import divided, unroll, unroll_and_jam, write_out_short_axes

RNG = np.random.default_rng(0)


def product(m, n, k):
    """The kernel of an [m, k] times a [k, n]."""
    return parse_kernel(
        "kernel k(p0: float32, p1: float32, p2: float32) "
        f"for i < {m}, for j < {n}, reduce k < {k} {{\n"
        f"  %0 = load p0[i*{k} + k] : float32\n  %1 = load p1[j + k*{n}] : float32\n"
        f"  reduce add p2[i*{n} + j] <- %0 * %1\n}}"
    )


def result(kernel, m, n, k):
    x, y = (np.arange(m * k) % 7).astype(np.float32), (np.arange(k * n) % 5).astype(np.float32)
    out = np.full(m * n, -1, np.float32)
    run(kernel, [x, y, out])
    np.testing.assert_array_equal(out.reshape(m, n), x.reshape(m, k) @ y.reshape(k, n))


@pytest.mark.parametrize("axis", [0, 1])
def test_unrolled_axes(axis):
    kernel = unroll(product(3, 2, 5), axis)
    assert kernel.extents == ((2, 5), (3, 5))[axis]
    n = (3, 2)[axis]
    assert len(kernel.outputs) == n and len(kernel.body) == 1 + n  # one operand is shared
    result(kernel, 3, 2, 5)


def test_divided_axes():
    kernel = divided(product(3, 6, 4), 1, 2)
    assert kernel.extents == (3, 3, 2, 4)
    result(kernel, 3, 6, 4)


def test_indirect_loads_and_conditions_follow_their_statements():
    kernel = parse_kernel(
        "kernel k(p0: float32, p1: int32, p2: float32) for i < 4, for j < 3 {\n"
        "  %0 = load p1[i*3 + j] : int32\n  %1 = load p0[%0] : float32\n  %2 = float32 2.0\n"
        "  %3 = lt %1, %2 : bool\n  store p2[i*3 + j] <- %1 where %3\n}"
    )
    written = unroll(kernel, 1)
    assert len({o.where for o in written.outputs}) == 3
    x, at = RNG.normal(size=9).astype(np.float32) + 2, RNG.integers(0, 9, 12).astype(np.int32)
    outs = [np.zeros(12, np.float32) for _ in range(2)]
    for k, out in zip((kernel, written), outs, strict=True):
        run(k, [x, at, out])
    np.testing.assert_array_equal(*outs)


def test_short_axes_are_written_out():
    kernel = write_out_short_axes(product(64, 2, 512))
    assert kernel.extents == (64, 512) and len(kernel.outputs) == 2
    long = product(64, COSTS.short_axis + 1, 512)
    assert write_out_short_axes(long) is long
    body = "  %0 = float32 1.0\n  store p0[i*2 + j] <- %0"
    store = parse_kernel(f"kernel k(p0: float32) for i < 9, for j < 2 {{\n{body}\n}}")
    assert write_out_short_axes(store) is store


def test_large_reductions_are_jammed():
    n = COSTS.short_axis
    large = product(4 * n, 40, -(-COSTS.jam_above // (160 * n)) + 1)
    jammed = unroll_and_jam(large)
    assert jammed.points * n == large.points and len(jammed.outputs) == n
    assert sum(isinstance(s, ir.Load) for s in jammed.body) == n + 1
    assert unroll_and_jam(small := product(4, 4, 4)) is small
