"""Loop invariance, counted loops and the independence of lanes, and what the verifier rejects."""

import numpy as np
import pytest

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine, Carried, Carry, While
from jitney.compiler.kernels.verify import KernelError, verify
from jitney.compiler.kernels.while_analysis import counter, dependent_lanes, loop_invariants
from jitney.core.util.record import replace

I32, BOOL = np.dtype(np.int32), np.dtype(bool)


def loop(condition, following, *statements, varies=True, outputs=()):
    """A loop kernel over lanes whose one carried scalar becomes the statement `following`."""
    body = (Carried(0, I32, varies), *statements)
    carry = Carry(0, 1, Affine(0, (int(varies),)), I32, varies)
    loop = While((carry,), condition, (following,))
    return ir.Kernel((4,), 0, (I32, I32), body, outputs, loop=loop)


TEN, ONE = ir.Const(np.int32(10).reshape(())), ir.Const(np.int32(1).reshape(()))
COUNTING = (TEN, ONE, ir.Call("lt", (0, 1), BOOL), ir.Call("add", (0, 2), I32))


def test_counted_loops_have_a_fixed_bound_and_a_constant_step():
    counted = loop(3, 4, *COUNTING, varies=False)
    assert counter(counted, counted.loop) == (0, 1)
    by_lane = loop(3, 4, *COUNTING)
    assert counter(by_lane, by_lane.loop) is None
    down = replace(counted, body=(*counted.body[:4], ir.Call("sub", (0, 2), I32)))
    assert counter(down, down.loop) is None
    moving = replace(
        counted, body=(*counted.body[:3], ir.Call("lt", (0, 0), BOOL), counted.body[4])
    )
    assert counter(moving, moving.loop) is None


def test_what_changes_between_iterations():
    load = ir.Load(1, Affine(0, (1,)), I32)
    fixed = loop(3, 4, *COUNTING, load)
    assert loop_invariants(fixed) == [False, True, True, False, False, True]
    written = replace(fixed, outputs=(ir.Store(1, Affine(0, (1,)), 0),))
    assert not loop_invariants(written)[5]


FROZEN = (*COUNTING, ir.Call("select", (3, 4, 0), I32))
STORE = ir.Store(1, Affine(0, (1,)), 4)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (loop(3, 5, *FROZEN), None),
        (loop(3, 4, *COUNTING), ("L2", "a lane changes after its loop has ended")),
        (loop(3, 5, *FROZEN, outputs=(STORE,)), ("L2", "lanes write after their loop has ended")),
        (
            loop(3, 5, *COUNTING, ir.Load(0, Affine(0, (1,)), I32), varies=False),
            ("L3", "a scalar shared by all lanes becomes per-lane"),
        ),
        (
            loop(3, 4, *COUNTING, varies=False, outputs=(replace(STORE, value=0),)),
            None,
        ),
        (
            loop(
                3, 4, *COUNTING, ir.IndexValue(Affine(0, (1,)), I32),
                varies=False, outputs=(ir.Store(1, Affine(0, (0,), ((5, 1),)), 0),),
            ),
            ("L6", "lanes write to data-dependent positions"),
        ),
    ],
)  # fmt: skip
def test_lanes_must_be_independent(kernel, why):
    assert dependent_lanes(kernel, kernel.loop) == why
    if why is None:
        verify(kernel)
    else:
        with pytest.raises(KernelError, match=why[0]):
            verify(kernel)


def test_a_lane_that_has_ended_keeps_its_own_carry():
    body = (
        Carried(0, I32, True), Carried(1, I32, True), ir.Call("lt", (0, 1), BOOL),
        ir.Call("add", (0, 1), I32), ir.Call("select", (2, 3, 0), I32),
        ir.Call("select", (2, 3, 1), I32),
    )  # fmt: skip
    lanes = Affine(0, (1,))
    slots = (Carry(0, 1, lanes, I32, True), Carry(2, 3, lanes, I32, True))
    kept = ir.Kernel((4,), 0, (I32,) * 4, body, (), loop=While(slots, 2, (4, 5)))
    assert dependent_lanes(kept, kept.loop) is None
    for following in ((4, 4), (5, 5)):
        changed = replace(kept, loop=replace(kept.loop, next_values=following))
        why = dependent_lanes(changed, changed.loop)
        assert why == ("L2", "a lane changes after its loop has ended")


def broken(change, **fields):
    kernel = loop(3, 5, *FROZEN)
    return replace(kernel, loop=replace(kernel.loop, **change), **fields)


@pytest.mark.parametrize(
    ("kernel", "constraint"),
    [
        (broken({"condition": 4}), "L1"),
        (broken({"next_values": ()}), "L1"),
        (broken({"next_values": (3,)}), "L1"),
        (broken({"condition": 44}), "L1"),
        (broken({"next_values": (44,)}), "L1"),
        (broken({}, outputs=(replace(STORE, value=44),)), "K1"),
        (broken({}, outputs=(replace(STORE, where=3),)), "L4"),
        (broken({}, outputs=(replace(STORE, index=Affine(0, (0,))),)), "L6"),
        (broken({"carries": (Carry(0, 1, Affine(0, (0,)), I32, True),)}), "L6"),
        (
            replace(loop(3, 5, *FROZEN, ir.Load(1, Affine(3, (-1,)), I32)), outputs=(STORE,)),
            "L6",
        ),
        (broken({"carries": (), "next_values": ()}), "L5"),
        (broken({"carries": (Carry(0, 1, Affine(0, (1,)), I32, False),)}), "L5"),
        (replace(loop(3, 5, *FROZEN), loop=None, outputs=(STORE,)), "L5"),
    ],
)
def test_the_verifier_names_the_constraint(kernel, constraint):
    with pytest.raises(KernelError, match=constraint):
        verify(kernel)
