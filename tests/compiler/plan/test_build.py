"""There is a way to compute every node, and later stages keep what a plan computes."""

import numpy as np
import pytest
from tests.compiler.plan.executed import built, checked, kinds, results

from jitney.compiler.hlo.interpret import run
from jitney.compiler.plan import ir
from jitney.compiler.plan.build import assign_buffers, schedule, strip_mine

RNG = np.random.default_rng(0)
M = RNG.integers(-9, 10, (6, 8)).astype(np.float32)
V = RNG.integers(-9, 10, 8).astype(np.float32)


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        ("%2 = mul p0, p0 : float32[6,8]\n%3 = neg %2 : float32[6,8]", ["Launch"]),
        ("%2 = reduce p0 fn=max dims=(1,) : float32[6]", ["Launch"]),
        ("%2 = dot p0, p1 contract=((1,),(0,)) batch=((),()) : float32[6]", ["Launch"]),
        ("%2 = transpose p0 perm=(1,0) : float32[8,6]", ["Launch"]),
        ("%2 = reshape p0 : float32[48]", ["Copy"]),
        ("%2 = sort p1 dim=0 num_keys=1 stable=True : (float32[8])\n"
         "%3 = project %2 index=0 : float32[8]", ["LibraryCall"]),
        ("%2 = cumulative p0 fn=add dim=1 reverse=False : float32[6,8]", ["LibraryCall"]),
        ("%2 = optimization_barrier p0 : (float32[6,8])\n%3 = project %2 index=0 : float32[6,8]",
         ["Copy"]),
    ],
)  # fmt: skip
def test_steps_of_nodes(body, steps):
    assert kinds(checked(body, [M, V]).steps) == steps


def test_operands_of_calls_are_computed_before():
    body = (
        "%1 = abs p0 : float32[6,8]\n%2 = cumulative %1 fn=add dim=0 reverse=True : float32[6,8]\n"
        "%3 = mul %2, %1 : float32[6,8]"
    )
    plan = checked(body, [M])
    assert kinds(plan.steps) == ["Launch", "LibraryCall", "Launch"]
    assert all(step.nodes for step in plan.steps)


def test_types_names_and_levels_are_kept():
    module, plan = built("%1 = neg p0 : float32[4]", ["float32[4]"], "p0, %1, p0")
    assert (plan.name, plan.arena_bytes) == ("f", -1)
    assert [t.shape for t in (*plan.inputs, *plan.outputs)] == [(4,)] * 4
    assert plan.optimization_level == module.optimization_level
    x = np.float32([1, 2, 3, 4])
    np.testing.assert_array_equal(results(plan, [x]), [x, -x, x])


def test_later_stages_keep_the_results():
    body = (
        "%1 = exp p0 : float32[6,8]\n%2 = cumulative %1 fn=max dim=0 reverse=False : float32[6,8]\n"
        "%3 = add %1, %2 : float32[6,8]"
    )
    module, plan = built(body, ["float32[6,8]"])
    for stage in (strip_mine, schedule, assign_buffers):
        plan = stage(plan)
        np.testing.assert_array_equal(results(plan, [M])[0], run(module, [M])[0])
    assert plan.arena_bytes >= M.nbytes
    arena = [b for step in plan.steps for b in ir.touched(step) if b.place == "arena"]
    assert arena and all(0 <= b.index <= plan.arena_bytes - b.nbytes for b in arena)
