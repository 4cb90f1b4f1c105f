"""Steps know the buffers that they touch, and the steps within them."""

import numpy as np
import pytest
from tests.compiler.plan.executed import kinds

from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.plan import ir

A, B, C, D = [ir.Buffer("arena", 4 * (k + 1)) for k in range(4)]
KERNEL = parse_kernel(
    "kernel k(p0: float32, p1: float32) for i < 1 {\n  %0 = load p0[i] : float32\n"
    "  store p1[i] <- %0\n}"
)


def launch(x, y):
    return ir.Launch(KERNEL, (x, y))


@pytest.fixture
def nested():
    """A loop whose body has a branch."""
    branch = ir.Branch(B, [[launch(A, C)], [ir.Copy(C, A)]])
    return ir.Loop([launch(A, D)], D, [branch, ir.SwapBuffers(A, C)], filled=(B,))


def test_buffers_of_a_step_itself(nested):
    assert ir.touched(nested) == [D, B, C]
    assert ir.touched(nested.body[0]) == [B]
    assert ir.touched(ir.SwapBuffers(A, B)) == [A, B]
    assert ir.touched(ir.Clock(np.zeros(3, np.int64), 0)) == []
    call = ir.HostCall("f", lambda: None, ((A, None),), ((B, None),))
    assert ir.touched(ir.Wait(call)) == ir.touched(call) == [A, B]


def test_strips_of_the_stack_are_no_buffers():
    strip = ir.Buffer("strip", 8)
    rows = ir.RowStrips(10, 4, (launch(A, strip), launch(strip, B), launch(A, C)))
    assert ir.touched(rows) == [A, B, C]
    assert rows.count == 3 and ir.RowStrips(8, 4, ()).count == 2


def test_nested_steps_follow_their_step(nested):
    found = kinds(ir.all_steps([nested, ir.Copy(A, B)]))
    assert found == ["Loop", "Launch", "Branch", "Launch", "Copy", "SwapBuffers", "Copy"]
    assert set(ir.all_touched(nested)) == {A, B, C, D}
    assert nested.swapped == [nested.body[1]]


def test_blocks_are_changed_in_a_copy(nested):
    empty = ir.with_inner(nested, lambda block: [])
    assert ir.inner(empty) == [[], []] and len(ir.inner(nested)[1]) == 2
    assert empty.filled == nested.filled
    branch = nested.body[0]
    assert [len(x) for x in ir.inner(ir.with_inner(branch, lambda b: b * 2))] == [2, 2]
    copy = ir.Copy(A, B)
    assert ir.with_inner(copy, lambda block: []) is copy


def test_buffers_are_named_by_place():
    named = [str(ir.Buffer("input", 8, 2)), str(ir.Buffer("constant", 8))]
    assert named == ["input2", "constant[8]"]
