"""Axes are coalesced where all indices permit, and lanes run where elements lie side by side."""

import numpy as np
import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.interpret import run
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.schedule import (
    Schedule,
    collapse,
    estimate,
    indices,
    is_independent,
    loop_order,
    map_indices,
    ordered_axes,
    outer_extent,
    outermost,
    schedule,
)
from jitney.core.util.record import replace

COPY = "kernel k(p0: float32, p1: float32) {} {{\n  %0 = load p0[{}] : float32\n  {}\n}}"


def copying(axes, source, target):
    return parse_kernel(COPY.format(axes, source, f"store p1[{target}] <- %0"))


@pytest.mark.parametrize(
    ("axes", "source", "target", "extents"),
    [
        ("for i < 3, for j < 4", "i*4 + j", "i*4 + j", (12,)),
        ("for i < 3, for j < 4", "i*4 + j + 9", "i*8 + j*2", (12,)),
        ("for i < 3, for j < 4", "i*5 + j", "i*4 + j", (3, 4)),
        ("for i < 3, for j < 4", "i + j*3", "i*4 + j", (3, 4)),
        ("for i < 3, for j < 1, for k < 4", "i*4 + j*7 + k", "i*4 + k", (12,)),
        ("for i < 2, for j < 3, for k < 4", "i*12 + j*4 + k", "i + j*8 + k*2", (2, 12)),
        ("for i < 1", "i", "i", ()),
    ],
)
def test_axes_are_coalesced(axes, source, target, extents):
    kernel = copying(axes, source, target)
    collapsed = collapse(kernel)
    assert collapsed.extents == extents
    x, outs = np.arange(64, dtype=np.float32), np.zeros((2, 64), np.float32)
    for k, out in zip((kernel, collapsed), outs, strict=True):
        run(k, [x, out])
    np.testing.assert_array_equal(*outs)


def test_reduced_axes_are_not_joined_with_others():
    kernel = parse_kernel(
        "kernel k(p0: float32, p1: float32) for i < 3, reduce j < 4, reduce k < 5 {\n"
        "  %0 = load p0[i*20 + j*5 + k] : float32\n  reduce add p1[i] <- %0\n}"
    )
    collapsed = collapse(kernel)
    assert (collapsed.extents, collapsed.reduced) == ((3, 20), 1)
    empty = copying("for i < 0, for j < 4", "i*4 + j", "i*4 + j")
    assert collapse(empty) is empty


def test_lanes_run_along_contiguous_elements():
    n = 64
    row = copying(f"for i < {n}, for j < {n}", f"i*{n + 1} + j", f"i*{n} + j")
    column = copying(f"for i < {n}, for j < {n}", f"i + j*{n + 1}", f"i + j*{n}")
    assert schedule(row) == Schedule((0,), 1, (), False)
    assert schedule(column) == Schedule((1,), 0, (), False)
    assert estimate(row, 1) < estimate(row, 0)
    assert schedule(copying("", "0", "0")) == Schedule((), None, (), False)


def reduction(by, order=""):
    return parse_kernel(
        f"kernel k(p0: float32, p1: float32) for i < 40, reduce j < 400{order} {{\n"
        f"  %0 = load p0[{by}] : float32\n  reduce add p1[i] <- %0\n}}"
    )


def test_reductions_of_rows_reduce_the_lanes():
    rows, columns = schedule(reduction("i*400 + j")), schedule(reduction("i + j*40"))
    assert rows == Schedule((0,), 1, (), True) and loop_order(rows) == (0, 1)
    assert columns == Schedule((), 0, (1,), False) and loop_order(columns) == (0, 1)
    assert (outermost(rows), outermost(columns)) == (0, 0)
    assert outer_extent(reduction("i*400 + j")) == 40
    assert schedule(reduction("i*400 + j", " in order")).vector == 0


def test_long_columns_are_reduced_in_strips():
    n, m = COSTS.column_lanes, 1 + COSTS.column_bytes // (4 * COSTS.column_lanes)
    row = max(n, COSTS.column_row)
    kernel = parse_kernel(
        f"kernel k(p0: float32, p1: float32) for i < {n}, reduce j < {m} {{\n"
        f"  %0 = load p0[i + j*{row}] : float32\n  reduce add p1[i] <- %0\n}}"
    )
    assert schedule(kernel).strip == COSTS.reduced_strip
    assert schedule(reduction("i + j*40")).strip == 0


def scattering(index):
    return parse_kernel(
        "kernel k(p0: int32, p1: float32, p2: float32) for i < 5, for j < 3 {\n"
        "  %0 = load p0[i*3 + j] : int32\n  %1 = convert %0 : int64\n  %2 = int64 0\n"
        "  %3 = max %1, %2 : int64\n  %4 = int64 9\n  %5 = min %3, %4 : int64\n"
        f"  %6 = load p1[i*3 + j] : float32\n  store p2[{index}] <- %6\n}}"
    )


@pytest.mark.parametrize(
    ("index", "ordered", "independent"),
    [
        ("i*3 + j", set(), {0, 1}),
        ("i", {1}, {0}),
        ("i + j*4 + %5", {0, 1}, set()),
        ("i*12 + j + %5", {0, 1}, {0}),  # at most 11 within a step of 12
        ("i*11 + j + %5", {0, 1}, set()),
    ],
)
def test_axes_along_which_points_may_write_again(index, ordered, independent):
    kernel = scattering(index)
    assert ordered_axes(kernel) == ordered
    assert {k for k in (0, 1) if is_independent(kernel, k)} == independent


def test_changed_indices():
    kernel = scattering("i*3 + j")
    moved = map_indices(kernel, lambda index: replace(index, offset=index.offset + 2))
    assert [i.offset for i in indices(moved)] == [i.offset + 2 for i in indices(kernel)]
