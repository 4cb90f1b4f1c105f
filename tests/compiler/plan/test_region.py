"""Values are written where they are needed: to outputs, in place, and in as few steps as possible."""

import numpy as np
from tests.compiler.plan.executed import built, checked, kinds

from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.pipeline import run
from jitney.compiler.plan import ir
from jitney.compiler.plan.region import Planner

RNG = np.random.default_rng(0)
M = RNG.integers(-9, 10, (6, 8)).astype(np.float32)
V = RNG.integers(-9, 10, 8).astype(np.float32)


def arena(plan):
    return {b for s in plan.steps for b in ir.touched(s) if b.place == "arena"}


def test_equal_kernels_are_one_object():
    body = (
        "%1 = cumulative p0 fn=add dim=0 reverse=False : float32[8]\n%2 = sin %1 : float32[8]\n"
        "%3 = cumulative %2 fn=add dim=0 reverse=False : float32[8]\n%4 = sin %3 : float32[8]"
    )
    plan = checked(body, [V])
    first, second = [step.kernel for step in plan.steps if isinstance(step, ir.Launch)]
    assert first is second


def test_results_are_computed_into_their_outputs():
    body = "%1 = reverse p0 dims=(0,) : float32[8]\n%2 = reshape %1 : float32[2,4]"
    plan = checked(body, [V], "%2, %1")
    assert kinds(plan.steps) == ["Launch", "Copy"] and not arena(plan)


def test_parts_of_concatenations_are_kernels_of_their_own():
    body = (
        "%1 = neg p0 : float32[8]\n%2 = concatenate %1, p0, %1 dim=0 : float32[24]\n"
        "%3 = exp %2 : float32[24]"
    )
    plan = checked(body, [V])
    assert kinds(plan.steps) == ["Launch"] * 3
    assert sorted(s.kernel.extents for s in plan.steps) == [(8,)] * 3 and not arena(plan)


def test_what_no_kernel_reads_through_is_stored():
    body = (
        "%1 = concatenate p0, p0 dim=1 : float32[6,16]\n%2 = reshape %1 : float32[96]\n"
        "%3 = abs %2 : float32[96]"
    )
    plan = checked(body, [M])
    assert len(arena(plan)) == 1 and kinds(plan.steps) == ["Launch"] * 3
    assert [what for _, what in plan.stored.values()].count(None) == 1  # only one is a result


def test_spent_operands_of_updates_are_updated_in_place():
    body = (
        "%2 = sin p0 : float32[8]\n%3 = dynamic_update_slice %2, p1, %4 : float32[8]"
        "\n%5 = cumulative %3 fn=add dim=0 reverse=False : float32[8]"
    )
    body = "%4 = constant 3 : int32[]\n" + body
    plan = checked(body, [V, V[:2]])
    assert kinds(plan.steps) == ["Launch", "Launch", "LibraryCall"] and len(arena(plan)) == 1
    again = body + "\n%6 = add %2, %5 : float32[8]"
    plan = checked(again, [V, V[:2]])
    assert "Copy" in kinds(plan.steps) and len(arena(plan)) > 1


def test_kernels_without_points_are_left_out():
    body = "%2 = concatenate p0, p1 dim=0 : float32[6,8]\n%3 = abs %2 : float32[6,8]"
    assert kinds(checked(body, [M, M[:0]]).steps) == ["Launch"]


def test_sums_of_several_shapes_are_separate():
    body = (
        "%1 = reduce p0 fn=add dims=(0,) : float32[8]\n%2 = reduce p0 fn=max dims=(0,) : float32[8]\n"
        "%3 = reduce p0 fn=add dims=(1,) : float32[6]"
    )
    plan = checked(body, [M], "%1, %2, %3")
    assert sorted(len(s.kernel.outputs) for s in plan.steps) == [1, 2]


def test_unsupported_functions_are_called_by_reference():
    planner = Planner(lambda fn, operands, result: fn != "sin", {})
    module, _ = built("%1 = sin p0 : float32[8]", ["float32[8]"])
    inputs = [ir.Buffer("input", 32, 0)]
    steps = planner.region(module.region, inputs, [ir.Buffer("output", 32, 0)])
    assert kinds(steps) == ["LibraryCall"] and steps[0].call.name == "reference.sin"
    assert not planner.is_native(module.region.results[0])
    assert not planner.is_reduction(module.region.results[0])


def test_users_functions_are_called():
    b = Builder()
    x = b.parameter(0, TensorType((8,), np.dtype(np.float32)))
    out = b.host_call("f", lambda v: (v + 1,), [b.apply("neg", x)], [x.type])
    plan = run(b.module("f", [x], out), first="build_kernels", last="build_kernels")
    assert kinds(plan.steps) == ["Launch", "HostCall"] and plan.steps[1].name == "f"
