"""Loops are single kernels where their carries are few scalars, else steps around buffers."""

import numpy as np
from tests.compiler.plan.executed import built, checked, kinds

from jitney.compiler.cost import COSTS
from jitney.compiler.plan import ir

NATIVE = """%2 = constant 0 : int32[]
%3 = while %2, p0, p1 cond=(p0: int32[], p1: float32[N,N], p2: float32[3,N]) {
    %3 = constant 3 : int32[]
    %4 = lt p0, %3 : bool[]
    return %4
  } body=(p0: int32[], p1: float32[N,N], p2: float32[3,N]) {
    %3 = constant 1 : int32[]
    %4 = add p0, %3 : int32[]
    %5 = cumulative p1 fn=max dim=0 reverse=False : float32[N,N]
    %6 = reverse %5 dims=(1,) : float32[N,N]
    %7 = reduce %6 fn=add dims=(0,) : float32[N]
    %8 = reshape %7 : float32[1,N]
    %9 = constant 0 : int32[]
    %10 = dynamic_update_slice p2, %8, p0, %9 : float32[3,N]
    return %4, %6, %10
  } : (int32[], float32[N,N], float32[3,N])
%4 = project %3 index=1 : float32[N,N]
%5 = project %3 index=2 : float32[3,N]"""


def native(n, following="%6"):
    x = np.random.default_rng(0).integers(-9, 10, (n, n)).astype(np.float32)
    body = NATIVE.replace("N", str(n)).replace("return %4, %6", f"return %4, {following}")
    plan = checked(body, [x, np.zeros((3, n), np.float32)], "%4, %5")
    (loop,) = [step for step in plan.steps if isinstance(step, ir.Loop)]
    return plan, loop


def test_large_carries_swap_their_memory():
    small, large = [native(n, "%5")[1] for n in (4, 1 + int((COSTS.swap_above / 4) ** 0.5))]
    assert kinds(small.body)[-1] == "Copy" and kinds(large.body)[-1] == "SwapBuffers"


def test_trip_counts_are_known():
    assert native(4)[1].trips == 3


def test_arrays_that_iterations_fill_need_no_initial_values():
    plan, loop = native(40)
    (filled,) = loop.filled
    assert filled.nbytes == 3 * 40 * 4 and filled.place == "output"
    copied = [s.to for s in plan.steps if isinstance(s, ir.Copy)]
    assert filled not in copied and len(copied) == 2  # the counter and the other carry


def test_few_scalars_are_carried_in_registers():
    body = """%1 = while p0 cond=(p0: float32[]) {
    %1 = constant 100.0 : float32[]
    %2 = lt p0, %1 : bool[]
    return %2
  } body=(p0: float32[]) {
    %1 = mul p0, p0 : float32[]
    return %1
  } : (float32[])
%2 = project %1 index=0 : float32[]"""
    _, plan = built(body, ["float32[]"])
    (launch,) = plan.steps
    assert launch.kernel.loop is not None and launch.kernel.loop.trips is None
    assert [b.place for b in launch.buffers] == ["input", "output"]


def test_carries_that_stay_are_not_copied():
    body = NATIVE.replace("N", "4").replace("return %4, %6, %10", "return %4, p1, %10")
    plan = checked(body, [np.ones((4, 4), np.float32), np.zeros((3, 4), np.float32)], "%5")
    assert kinds(plan.steps) == ["Copy", "Loop"]
