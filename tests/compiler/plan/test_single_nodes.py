"""Nodes that are steps of their own write each element of their results once."""

import numpy as np
import pytest
from tests.compiler.plan.executed import checked, kinds

from jitney.compiler.cost import COSTS
from jitney.compiler.plan import ir

RNG = np.random.default_rng(0)
M = RNG.integers(-9, 10, (5, 6)).astype(np.float32)


@pytest.mark.parametrize(
    ("low", "high", "interior"),
    [((1, 0), (2, 3), (0, 0)), ((-1, 2), (0, -3), (0, 0)), ((0, 1), (-2, 0), (1, 2)),
     ((-3, -2), (1, 1), (2, 1)), ((-5, 0), (2, 0), (0, 0))],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_paddings(low, high, interior, dtype):
    shape = [
        lo + hi + n + (n - 1) * k for n, lo, hi, k in zip(M.shape, low, high, interior, strict=True)
    ]
    body = (
        f"%2 = pad p0, p1 low=({low[0]},{low[1]}) high=({high[0]},{high[1]}) "
        f"interior=({interior[0]},{interior[1]}) : {dtype}[{shape[0]},{shape[1]}]"
    )
    checked(body, [M.astype(dtype), np.asarray(7, dtype)])


def test_borders_of_large_operands_are_filled_alone():
    n = 1 + int((COSTS.filled_border / 4) ** 0.5)
    x = np.arange(n * n, dtype=np.float32).reshape(n, n)
    body = f"%2 = pad p0, p1 low=(1,0) high=(1,2) interior=(0,0) : float32[{n + 2},{n + 2}]"
    plan = checked(body, [x, np.float32(5)])
    assert kinds(plan.steps) == ["Launch"] * 4  # above, below, to the right; the operand
    body = "%2 = pad p0, p1 low=(1,0) high=(1,2) interior=(0,0) : float32[7,8]"
    assert kinds(checked(body, [M, np.float32(5)]).steps) == ["Launch"] * 2


@pytest.mark.parametrize("starts", [(1, 2), (-4, 0), (9, 9)])
def test_updates_of_slices_are_clamped(starts):
    body = "%4 = dynamic_update_slice p0, p1, p2, p3 : float32[5,6]"
    inputs = [M, M[:2, :3] * 10, *[np.int32(s) for s in starts]]
    plan = checked(body, inputs)
    assert kinds(plan.steps) == ["Copy", "Launch"]


@pytest.mark.parametrize("combine", ["", "combine=add ", "combine=max "])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_scatters_to_the_same_element_in_order(combine, mode):
    body = (
        "%3 = scatter p0, p1, p2 update_window_dims=(1,) inserted_window_dims=(0,) "
        f"scatter_dims_to_operand_dims=(0,) {combine}mode={mode} unique=False : float32[5,6]"
    )
    places = np.int32([[4], [1], [4], [-1], [7]])
    checked(body, [M, places, RNG.integers(-9, 10, (5, 6)).astype(np.float32)])


@pytest.mark.parametrize("index", [-1, 0, 1, 2])
def test_branches(index):
    body = """%2 = cond p0, p1 case0=(p0: float32[5,6]) {
    %1 = neg p0 : float32[5,6]
    return %1
  } case1=(p0: float32[5,6]) {
    return p0
  } : (float32[5,6])
%3 = project %2 index=0 : float32[5,6]"""
    plan = checked(body, [np.int32(index), M])
    (branch,) = plan.steps
    assert [kinds(case) for case in branch.cases] == [["Launch"], ["Copy"]]


def test_large_products_are_calls_of_blas():
    x, y = [RNG.integers(-2, 3, s).astype(np.float32) for s in ((3, 70, 80), (3, 90, 80))]
    body = "%2 = dot p0, p1 contract=((2,),(2,)) batch=((0,),(0,)) : float32[3,70,90]"
    (step,) = checked(body, [x, y]).steps
    assert isinstance(step, ir.Gemm) and (step.trans_x, step.trans_y) == (False, True)
    assert (step.batch, step.m, step.n, step.k) == (3, 70, 90, 80)
